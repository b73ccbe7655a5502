package informer

// A history is how far a stream has come in the history of its server, by what the stream itself has told. The zero
// value is at no place.
//
// Resource versions of one history are compared, those of two never are: a server that is restored from a backup gives
// the same versions to other states. What tells that it has been is a list from the server that is older than what its
// stream has told before.
type history struct{ version string }

// advance records that the stream has come to a resource version.
func (h *history) advance(version string) {
	if h.version == "" || newer(version, h.version) {
		h.version = version
	}
}

// begin records that the stream begins anew with a list, and reports whether the server has gone back in its history
// since.
func (h *history) begin(version string) (wentBack bool) {
	wentBack = newer(h.version, version)
	h.version = version
	return wentBack
}

// past reports whether the stream is known to have told all up to a resource version.
func (h *history) past(version string) bool { return older(version, h.version) }
