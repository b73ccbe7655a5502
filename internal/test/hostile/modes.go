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
	// HTTP1 reports whether the Server must speak HTTP/1.1 only.
	HTTP1 bool

	conn   *connFault       // set if it is a mode of connections
	mutes  bool             // it ends what streams say, and nothing else
	answer func(e exchange) // how it answers, nil if it is one of the others
}

// Find returns the mode of a name.
func Find(tb testing.TB, name string) Mode {
	tb.Helper()
	all := modes()
	i := slices.IndexFunc(all, func(m Mode) bool { return m.Name == name })
	if i < 0 {
		tb.Fatalf("there is no mode %q", name)
	}
	return all[i]
}

func modes() []Mode {
	cert := func(get func(certificateSet) *tls.Certificate) *connFault {
		return &connFault{cert: func() *tls.Certificate { return get(certificates()) }}
	}
	return []Mode{
		{Name: "ResetAccept", conn: &connFault{reset: true}},
		{Name: "CertificateExpired", conn: cert(func(c certificateSet) *tls.Certificate { return c.expired })},
		{Name: "CertificateOfAnother", conn: cert(func(c certificateSet) *tls.Certificate { return c.another })},
		{Name: "AuthorityRotated", conn: cert(func(c certificateSet) *tls.Certificate { return c.foreign })},

		{Name: "StallAnswer", answer: exchange.hold},
		{Name: "StallBody", answer: stallBody},
		{Name: "StallGroups", answer: stallGroups},
		{Name: "Slow", answer: drip},
		{Name: "Mute", mutes: true},
		{Name: "ResetBody", answer: resetBody},

		{Name: "Status404", answer: func(e exchange) { e.refuse(http.StatusNotFound, text(e.server.canary)) }},
		{Name: "ForeignKind", answer: func(e exchange) { e.refuse(http.StatusOK, foreign(e.server.canary)) }},
		{Name: "ForeignProtocol", HTTP1: true, answer: func(e exchange) {
			e.raw("SSH-2.0-" + e.server.canary + "\r\n\r\n")
		}},
		{Name: "ForeignHeader", HTTP1: true, answer: func(e exchange) {
			e.raw("HTTP/1.1 200 OK\r\nSecretAccessKey " + e.server.canary + "\r\n\r\n")
		}},
		{Name: "Redirect302", answer: func(e exchange) { e.redirect(http.StatusFound) }},
		{Name: "Redirect307", answer: func(e exchange) { e.redirect(http.StatusTemporaryRedirect) }},
		{Name: "BombGzip", answer: gzipped},
		{Name: "BombHeaders", HTTP1: true, answer: hugeHeaders},
	}
}
