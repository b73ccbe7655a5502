package target

import (
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/pkg/errors"
)

// Beginnings of errors of net/http, which has no types for them. What follows quotes the server.
const (
	errNoHTTP      = "net/http: HTTP/1.x transport connection broken"
	errGoAway      = "http2: server sent GOAWAY and closed the connection"
	errStream      = "stream error: stream ID "
	partsOfAStream = 3 // its number, its code, and a cause
)

// errorText returns the text of what a connection died of. It leaves out what differs between attempts, such as our own
// port and the time, because conditions must not flap. It leaves out what the server has sent, because that may be
// anybody's secret.
func errorText(err error) string {
	var (
		dns  *net.DNSError
		cert x509.CertificateInvalidError
		op   *net.OpError
	)
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("cannot resolve %q", dns.Name)
	case errors.As(err, &cert) && cert.Reason == x509.Expired:
		return fmt.Sprintf("tls: failed to verify certificate: x509: certificate has expired or is not yet valid: "+
			"it is valid from %s to %s",
			cert.Cert.NotBefore.UTC().Format(time.RFC3339), cert.Cert.NotAfter.UTC().Format(time.RFC3339))
	case errors.As(err, &op) && errors.Is(err, syscall.ECONNRESET) && op.Addr != nil: // It may come at any moment.
		return fmt.Sprintf("connection to %s: %v", op.Addr, syscall.ECONNRESET)
	case errors.As(err, &op):
		o := *op
		o.Source = nil
		return o.Error()
	}
	return withoutQuotes(err.Error())
}

// withoutQuotes returns the text of an error of net/http without what it quotes of the server, and without the number
// of a stream.
func withoutQuotes(text string) string {
	switch {
	case strings.HasPrefix(text, errNoHTTP):
		return "server sends what is no HTTP, or ends the connection within an answer"
	case strings.HasPrefix(text, errGoAway):
		return errGoAway
	case strings.HasPrefix(text, errStream):
		if parts := strings.SplitN(text, "; ", partsOfAStream); len(parts) > 1 {
			return "server ends the request with " + parts[1]
		}
	}
	return text
}
