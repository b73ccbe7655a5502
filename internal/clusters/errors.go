package clusters

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

// ErrUnreachable is the cause of each error that comes from a target which does not answer.
var ErrUnreachable = errors.New("target is unreachable")

// errSlow is the cause of errors from a target that answers probes but not what it is asked, or too late. It names
// neither the request nor a limit: several of them are met in turn, and a condition that changes is a write.
var errSlow = errors.New("it responds too slowly")

// IsUnreachable reports whether an error means that the target does not answer.
func IsUnreachable(err error) bool { return errors.Is(err, ErrUnreachable) }

// UnreachableMessage returns what an error that satisfies IsUnreachable says of the target, without what was tried. It
// is empty for others.
func UnreachableMessage(err error) string {
	if u := (unreachableError{}); errors.As(err, &u) {
		return u.Error()
	}
	return ""
}

// unreachableError is ErrUnreachable with what the last attempt died of.
type unreachableError struct {
	cause error
	since time.Time // since when the target does not answer; zero if that is not known
}

// Error names the cause, as stable returns it.
func (e unreachableError) Error() string {
	return fmt.Sprintf("%v: %s", ErrUnreachable, errorText(e.cause))
}

// failure returns the error for what a connection died of, and since when the target does not answer: an address that
// is not allowed is a fault of the credentials.
func failure(cause error, since time.Time) error {
	var denied addressError
	if errors.As(cause, &denied) {
		return invalidConnectionError{errors.Wrap(denied, "cannot connect to the server of the kubeconfig")}
	}
	return unreachableError{cause: cause, since: since}
}

// IsBrief reports whether an error means that the target does not answer, but has not done so for long: it may be back
// before anybody has to know. Owners are woken if it is not.
func IsBrief(err error) bool {
	var u unreachableError
	return errors.As(err, &u) && !u.since.IsZero() && time.Since(u.since) < outagePatience
}

// Is makes the error an ErrUnreachable.
func (e unreachableError) Is(err error) bool { return err == ErrUnreachable }

// errConnecting is the error while the first probe is under way. crossplane-runtime requeues conflicts silently.
var errConnecting = apierrors.NewConflict(schema.GroupResource{Resource: "targets"}, "",
	errors.New("waiting for the first response of the target"))

// noKindError means that the target does not serve a kind.
type noKindError struct{ gvk schema.GroupVersionKind }

// Error names the kind.
func (e noKindError) Error() string {
	return fmt.Sprintf("target does not serve kind %s of %s", e.gvk.Kind, e.gvk.GroupVersion())
}

// IsNoKind reports whether an error means that the target does not serve a kind.
func IsNoKind(err error) bool { return errors.As(err, &noKindError{}) }

// invalidConnectionError means that credentials are missing or unusable.
type invalidConnectionError struct{ error }

// Unwrap returns the cause.
func (e invalidConnectionError) Unwrap() error { return e.error }

// IsInvalidConnection reports whether an error means that a ProviderConfig's credentials are missing or unusable.
func IsInvalidConnection(err error) bool {
	return errors.As(err, &invalidConnectionError{}) || identity.IsFailed(err)
}

// An addressError says why an address may not be dialled for a tenant. It does not tell which address that is.
type addressError string

// Error names the rule.
func (e addressError) Error() string {
	return "its address " + string(e) + ", so a namespaced ProviderConfig may not use it: use another server"
}

// A foreignError is an answer that is not what a Kubernetes API server says about an object. Nothing follows from it.
type foreignError struct {
	code    int    // zero if it does not matter
	message string // in our words or of a Status, empty if the code says all
}

// errRedirect is the error of a request that is redirected: the kubeconfig says where to send it, not the server.
var errRedirect = foreignError{
	message: "server responds with a redirect, which the provider does not follow: set the final address in the " +
		"kubeconfig",
}

// Error names the code, and repeats nothing but a Status.
func (e foreignError) Error() string {
	if e.message != "" {
		return e.message
	}
	behind := ""
	if e.code == http.StatusServiceUnavailable {
		behind = ", or the APIService of an aggregated API behind it"
	}
	return fmt.Sprintf("server responds with %d %s, but not like a Kubernetes API server: "+
		"check the server of the kubeconfig, and the proxies before it%s", e.code, http.StatusText(e.code), behind)
}

// Unserved reports whether the answer is that of a server which does not serve what was asked for, or of one that is
// not asked rightly.
func (e foreignError) Unserved() bool { return e.code == http.StatusNotFound }

// IsUnserved reports whether an error may mean that a server does not serve a kind. Only discovery can tell.
func IsUnserved(err error) bool {
	var e foreignError
	return errors.As(err, &e) && e.Unserved() ||
		apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// Beginnings of errors of net/http. What follows quotes the server.
const (
	errNoHTTP = "net/http: HTTP/1.x transport connection broken"
	errGoAway = "http2: server sent GOAWAY and closed the connection"
	errStream = "stream error: stream ID "
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
		return "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: it is valid from " +
			cert.Cert.NotBefore.UTC().Format(time.RFC3339) + " to " + cert.Cert.NotAfter.UTC().Format(time.RFC3339)
	case errors.As(err, &op) && errors.Is(err, syscall.ECONNRESET) && op.Addr != nil: // It may come at any moment.
		return fmt.Sprintf("connection to %s: %v", op.Addr, syscall.ECONNRESET)
	case errors.As(err, &op):
		o := *op
		o.Source = nil
		return o.Error()
	}
	text := err.Error()
	switch { // net/http has no types for these.
	case strings.HasPrefix(text, errNoHTTP):
		return "server sends a response that is not HTTP, or closes the connection before the response is complete"
	case strings.HasPrefix(text, errGoAway):
		return errGoAway
	case strings.HasPrefix(text, errStream):
		// Its number, its code, and a cause.
		if _, rest, ok := strings.Cut(text, "; "); ok {
			code, _, _ := strings.Cut(rest, "; ")
			return "server ends the request with " + code
		}
	}
	return text
}
