package identity

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync"

	"github.com/pkg/errors"
)

// maxAnswer is how much of an answer of a token endpoint is read, in bytes: it may be the endpoint of a tenant.
const maxAnswer = 1 << 20

// An Exchange is one attempt to get a token over HTTP, by whatever library. It remembers how its last request failed,
// as libraries say so in words that hold whole answers.
type Exchange struct {
	transport http.RoundTripper

	mu     sync.Mutex
	err    error  // of the transport
	status int    // of a refusal
	code   string // of OAuth, in the refusal
}

// transportKey is the key of a context's transport.
type transportKey struct{}

// WithTransport returns a context whose exchanges use a transport. Without it they use that of package http.
func WithTransport(ctx context.Context, t http.RoundTripper) context.Context {
	return context.WithValue(ctx, transportKey{}, t)
}

// NewExchange returns an Exchange that uses the transport of a context.
func NewExchange(ctx context.Context) *Exchange {
	if t, ok := ctx.Value(transportKey{}).(http.RoundTripper); ok {
		return &Exchange{transport: t}
	}
	return &Exchange{transport: http.DefaultTransport}
}

// Client returns a client whose requests belong to the exchange. It follows no redirect, which could lead to an address
// of nobody's choice.
func (e *Exchange) Client() *http.Client {
	return &http.Client{
		Transport: e, Timeout: Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Ask sends a request, and decodes the answer, which is JSON.
func (e *Exchange) Ask(req *http.Request, answer any) error {
	res, err := e.Client().Do(req) //nolint:gosec // The dialer checks whose addresses a tenant may name.
	if err != nil {
		return errors.Wrap(err, "cannot send request")
	}
	defer res.Body.Close() //nolint:errcheck // It was only read.
	if res.StatusCode != http.StatusOK {
		return errors.New("the token endpoint refuses")
	}
	return errors.Wrap(json.NewDecoder(res.Body).Decode(answer), "cannot decode answer")
}

// RoundTrip sends a request.
func (e *Exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := e.transport.RoundTrip(req)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err, e.status, e.code = err, 0, ""
	if err != nil {
		return nil, errors.Wrap(err, "cannot send the request to the token endpoint")
	}
	answer := io.LimitReader(res.Body, maxAnswer)
	if res.StatusCode < http.StatusMultipleChoices {
		res.Body = struct {
			io.Reader
			io.Closer
		}{answer, res.Body}
		return res, nil
	}
	content, err := io.ReadAll(answer)
	_ = res.Body.Close() // All of it that counts is read.
	e.err, e.status, e.code = err, res.StatusCode, oauthCode(content)
	res.Body = io.NopCloser(bytes.NewReader(content))
	return res, nil
}

// Reason returns why the last request failed, without what differs from one attempt to the next. It is unknown if none
// did.
func (e *Exchange) Reason(unknown string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.err != nil:
		return Unreachable(e.err, "cannot reach the token endpoint")
	case e.status == 0:
		return unknown
	}
	answers := fmt.Sprintf("the token endpoint responds with %d %s", e.status, http.StatusText(e.status))
	if e.code != "" {
		answers += ", " + e.code
	}
	return answers
}

// Unreachable returns why a token endpoint could not be asked. It is unknown if the error is none of the network.
func Unreachable(err error, unknown string) string {
	var dns *net.DNSError
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &dns):
		return "cannot resolve " + strconv.Quote(dns.Name)
	case errors.As(err, &cert):
		return "cannot trust the certificate of the token endpoint"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "the token endpoint does not respond"
	case errors.As(err, &op):
		return "cannot reach the token endpoint: " + op.Err.Error()
	}
	return unknown
}

// oauthForm is what an error code of OAuth is made of: words of letters, joined by underscores. The longest one is
// shorter than that.
var oauthForm = regexp.MustCompile(`^[a-z_]{0,40}$`)

// oauthCode returns the error code in a refusal, empty if there is none.
func oauthCode(content []byte) string {
	var refusal struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(content, &refusal) != nil || !oauthForm.MatchString(refusal.Error) {
		return ""
	}
	return refusal.Error
}
