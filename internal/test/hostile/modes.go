package hostile

import (
	"crypto/tls"
	"net/http"
	"slices"
	"testing"
)

// A Mode is one way to harm a client.
type Mode struct {
	// Name of the mode, unique among all.
	Name string
	// Verbs are the verbs it is made for. All if empty.
	Verbs []Verb
	// HTTP1 reports whether the Server must speak HTTP/1.1 only.
	HTTP1 bool

	conn   *connFault       // set if it is a mode of connections
	mutes  bool             // it ends what streams say, and nothing else
	answer func(e exchange) // how it answers, nil if it is one of the others
}

// Connection reports whether the mode is one of whole connections, so that it has no verbs.
func (m Mode) Connection() bool { return m.conn != nil }

// For reports whether the mode is made for a verb.
func (m Mode) For(v Verb) bool {
	return m.conn == nil && (len(m.Verbs) == 0 || slices.Contains(m.Verbs, v))
}

// Find returns the mode of a name.
func Find(tb testing.TB, name string) Mode {
	tb.Helper()
	all := Modes()
	i := slices.IndexFunc(all, func(m Mode) bool { return m.Name == name })
	if i < 0 {
		tb.Fatalf("there is no mode %q", name)
	}
	return all[i]
}

// Modes returns all modes.
func Modes() []Mode {
	return slices.Concat(connections(), stalls(), refusals(), foreigners(), redirects(), bombs(), honest())
}

// connections returns the modes of whole connections.
func connections() []Mode {
	of := func(name string, f connFault) Mode { return Mode{Name: name, conn: &f} }
	cert := func(get func(certificateSet) *tls.Certificate) connFault {
		return connFault{cert: func() *tls.Certificate { return get(certificates()) }}
	}
	return []Mode{
		of("StallAccept", connFault{noRead: true}),
		of("StallTLS", connFault{noWrite: true}),
		of("ResetAccept", connFault{reset: true}),
		of("CertificateExpired", cert(func(c certificateSet) *tls.Certificate { return c.expired })),
		of("CertificateOfAnother", cert(func(c certificateSet) *tls.Certificate { return c.another })),
		of("AuthorityRotated", cert(func(c certificateSet) *tls.Certificate { return c.foreign })),
	}
}

// stalls returns the modes that keep a client waiting, or leave it in the middle.
func stalls() []Mode {
	return []Mode{
		{Name: "StallAnswer", answer: exchange.hold},
		{Name: "StallHeaders", HTTP1: true, answer: stallHeaders},
		{Name: "StallBody", answer: stallBody},
		{Name: "Slow", answer: drip},
		{Name: "Late", answer: late},
		{Name: "EverySecond", answer: everySecond},
		{Name: "ResetBody", answer: resetBody},
		{Name: "StallGroups", Verbs: []Verb{Discovery}, answer: stallGroups},
		{Name: "StallWatch", Verbs: []Verb{Watch}, answer: stallWatch},
		{Name: "Mute", Verbs: []Verb{Watch}, mutes: true},
	}
}

// refusals returns the modes that answer with a status and a body that is no metav1.Status.
func refusals() []Mode {
	of := func(name string, code int, body func(canary string) string, headers ...string) Mode {
		return Mode{Name: name, answer: func(e exchange) { e.refuse(code, body(e.server.canary), headers...) }}
	}
	return []Mode{
		of("Status401", http.StatusUnauthorized, foreign, "WWW-Authenticate", "Basic"),
		of("Status403", http.StatusForbidden, page),
		of("Status404", http.StatusNotFound, text),
		of("Status409", http.StatusConflict, foreign),
		of("Status410", http.StatusGone, page),
		of("Status429", http.StatusTooManyRequests, foreign),
		of("Status429RetryAfter", http.StatusTooManyRequests, page, "Retry-After", "3600"),
		of("Status500", http.StatusInternalServerError, foreign),
		of("Status502", http.StatusBadGateway, page),
		of("Status503", http.StatusServiceUnavailable, text),
		of("Status503RetryAfter", http.StatusServiceUnavailable, page, "Retry-After", "3600"),
	}
}

// foreigners returns the modes that answer with success what is no answer, or what is no HTTP.
func foreigners() []Mode {
	return []Mode{
		{Name: "ForeignPage", answer: func(e exchange) { e.refuse(http.StatusOK, page(e.server.canary)) }},
		{Name: "Truncated", answer: func(e exchange) { e.refuse(http.StatusOK, beginning+e.server.canary) }},
		{Name: "ForeignKind", answer: func(e exchange) { e.refuse(http.StatusOK, foreign(e.server.canary)) }},
		{
			Name: "ForeignProtocol", HTTP1: true,
			answer: func(e exchange) { e.raw("SSH-2.0-" + e.server.canary + "\r\n\r\n") },
		},
		{Name: "ForeignHeader", HTTP1: true, answer: func(e exchange) {
			e.raw("HTTP/1.1 200 OK\r\nSecretAccessKey " + e.server.canary + "\r\n\r\n")
		}},
	}
}

// redirects returns the modes that lead elsewhere.
func redirects() []Mode {
	of := func(name string, code int) Mode {
		return Mode{Name: name, answer: func(e exchange) {
			e.refuse(code, page(e.server.canary), "Location", e.server.redirect.server.URL+e.request.URL.Path)
		}}
	}
	return []Mode{
		of("Redirect301", http.StatusMovedPermanently),
		of("Redirect302", http.StatusFound),
		of("Redirect307", http.StatusTemporaryRedirect),
		of("Redirect308", http.StatusPermanentRedirect),
	}
}

// bombs returns the modes that fill a client's memory.
func bombs() []Mode {
	return []Mode{
		{Name: "BombEndless", answer: endless},
		{Name: "BombGzip", answer: gzipped},
		{Name: "BombHeaders", HTTP1: true, answer: hugeHeaders},
		{Name: "Interim", HTTP1: true, answer: interim},
		{Name: "BombStatus", answer: hugeStatus},
		{Name: "BombEvent", Verbs: []Verb{List, Watch}, answer: hugeEvent},
		{Name: "Flood", Verbs: []Verb{List}, answer: flood},
	}
}

// honest returns the modes of a server that restricts its clients as an API server may.
func honest() []Mode {
	return []Mode{
		{Name: "Forbidden", answer: func(e exchange) {
			e.refuse(http.StatusForbidden,
				status(http.StatusForbidden, "Forbidden"))
		}},
		{Name: "NoStreamedLists", Verbs: []Verb{List}, answer: plainLists},
	}
}
