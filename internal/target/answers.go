package target

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// maxRefusal is how long an error's answer may be, in bytes.
	maxRefusal = 1 << 20
	// maxRetryAfter is how many seconds a server may ask a request to wait. client-go waits in the worker.
	maxRetryAfter = 1
)

// answers stands between a cluster's clients and its breaker. What passes is an answer of a Kubernetes API server, of
// bounded size: anything else becomes an error that holds nothing of it.
type answers struct {
	next      http.RoundTripper
	base      string // what comes before the API in the path
	wildcard  bool   // a logical cluster comes next in the path
	maxObject int64
	maxPage   int64 // of a list, or of a list that has no pages
	maxList   int64
	large     chan struct{} // bounds how many large bodies are read at a time
	rest      *largeRest    // nil if large bodies never rest
}

// RoundTrip sends a request and checks the answer.
func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := a.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	c := callOf(req, a.base, a.wildcard)
	switch {
	case res.StatusCode >= http.StatusBadRequest:
		return a.refusal(c, req, res)
	case res.StatusCode >= http.StatusMultipleChoices:
		_ = res.Body.Close() // Nothing of it counts.
		return nil, errRedirect
	}
	form := formOf(c, res)
	if form == formNone {
		_ = res.Body.Close() // Nothing of it counts.
		return nil, foreignError{code: res.StatusCode}
	}
	// Its reads fail if it is too large or not of that form.
	b := &answer{
		ReadCloser: res.Body, ctx: req.Context(), large: a.large, rest: a.rest, code: res.StatusCode, watch: c.watch,
		form: form, max: a.maxObject,
	}
	if b.list, b.maxList = informer.ListSizeIn(req.Context()), a.maxList; !c.watch && !c.one(req) {
		b.max = a.maxPage
	}
	res.Body = b
	return res, nil
}

// formOf returns the form that the answer to a call must have, by its type.
func formOf(c call, res *http.Response) form {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case c.document:
		return formAny
	case media == runtime.ContentTypeJSON && c.resource:
		return formObject
	case media == runtime.ContentTypeJSON:
		return formDiscovery
	case media == runtime.ContentTypeProtobuf:
		return formProtobuf
	}
	return formNone
}

// refusal returns an error's answer if it is that of an API server, and one of our own words for codes that any proxy
// may give. What is left is an error: that something does not exist is only for an API server to say.
func (a *answers) refusal(c call, req *http.Request, res *http.Response) (*http.Response, error) {
	content, err := io.ReadAll(io.LimitReader(res.Body, maxRefusal+1))
	_ = res.Body.Close() // All of it that counts is read.
	if err != nil {
		return nil, err
	}
	if after, aerr := strconv.Atoi(res.Header.Get("Retry-After")); aerr != nil || after > maxRetryAfter {
		res.Header.Del("Retry-After")
	}
	status, ok := statusIn(content)
	switch {
	case ok && res.StatusCode != http.StatusNotFound:
	case ok && !c.lacksWorkspace(status.Details) && (isWrite(req.Method) ||
		status.Reason == metav1.StatusReasonNotFound && status.Details != nil && c.names(status.Details.Name)):
	case ok:
		return nil, foreignError{code: res.StatusCode, message: status.Message}
	case slices.Contains(anybodys, res.StatusCode):
		content = inOurWords(req.Method, res.StatusCode)
		res.Header.Set("Content-Type", runtime.ContentTypeJSON)
	default:
		return nil, foreignError{code: res.StatusCode}
	}
	res.Body = io.NopCloser(bytes.NewReader(content))
	res.ContentLength = int64(len(content))
	return res, nil
}

// anybodys are the codes that mean what they say, no matter who answers with them. None of them says that something
// does not exist.
var anybodys = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge,
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
	http.StatusGatewayTimeout,
}

// isWrite reports whether a method creates or changes. That what it refers to does not exist is no answer about its own
// object.
func isWrite(method string) bool { return method != http.MethodGet && method != http.MethodDelete }

// statusIn returns the Status that an answer holds, and whether it holds one.
func statusIn(content []byte) (*metav1.Status, bool) {
	status := &metav1.Status{}
	if len(content) > maxRefusal {
		return nil, false
	}
	if encoded, ok := bytes.CutPrefix(content, []byte(protobufPrefix)); ok {
		envelope := &runtime.Unknown{}
		if envelope.Unmarshal(encoded) != nil || envelope.Kind != "Status" {
			return nil, false
		}
		return status, status.Unmarshal(envelope.Raw) == nil
	}
	err := json.Unmarshal(content, status)
	return status, err == nil && status.Kind == "Status" && status.APIVersion == "v1"
}

// inOurWords returns the Status of a code.
func inOurWords(method string, code int) []byte {
	refused := apierrors.NewGenericServerResponse(code, strings.ToLower(method), schema.GroupResource{}, "", "", 0,
		false)
	s := refused.ErrStatus
	s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	s.Message, s.Details = foreignError{code: code}.Error(), nil
	content, err := json.Marshal(&s)
	if err != nil {
		return nil // An empty answer is one without a Status.
	}
	return content
}

// A foreignError is an answer that is not what a Kubernetes API server says about an object. Nothing follows from it.
type foreignError struct {
	code    int
	message string // of a Status, empty if the answer is none
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
	return fmt.Sprintf("server answers %d %s, but not as a Kubernetes API server does: "+
		"check the server of the kubeconfig and proxies before it%s", e.code, http.StatusText(e.code), behind)
}

// Unserved reports whether the answer is that of a server which does not serve what was asked for, or of one that is
// not asked rightly.
func (e foreignError) Unserved() bool { return e.code == http.StatusNotFound }

// errRedirect is the error of a request that is redirected: the kubeconfig says where to send it, not the server.
var errRedirect = errors.New(
	"server answers with a redirect, which is not followed: name its final address in the kubeconfig")

// IsBareNotFound reports whether a server has answered 404 without a Status. A virtual workspace of kcp does for each
// workspace that is not bound; of any other server nothing follows from it.
func IsBareNotFound(err error) bool {
	var e foreignError
	return errors.As(err, &e) && e.Unserved() && e.message == ""
}

// IsUnserved reports whether an error may mean that a server does not serve a kind. Only discovery can tell.
func IsUnserved(err error) bool {
	var e foreignError
	return errors.As(err, &e) && e.Unserved() ||
		apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
