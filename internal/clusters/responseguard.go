package clusters

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
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
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// maxRefusal is how long an error's answer may be, in bytes.
	maxRefusal = 1 << 20
	// maxRetryAfter is how many seconds a server may ask a request to wait. client-go waits in the worker.
	maxRetryAfter = 1
	// answerOfTLS is what net/http answers to a request without TLS on a port with TLS.
	answerOfTLS = "Client sent an HTTP request to an HTTPS server"

	protobufPrefix = "k8s\x00"
)

// errNoTLS is the error of a request without TLS to a server with TLS.
var errNoTLS = errors.New("the server requires TLS: write https:// instead of http:// in the kubeconfig")

// responseGuard returns a transport that stands between a cluster's breaker and its connections. What passes is an
// answer of a Kubernetes API server, of bounded size: anything else becomes an error that holds nothing of it. An
// answer is read before it passes, unless it is that of a watch.
func (r route) responseGuard(p paths, next http.RoundTripper) http.RoundTripper {
	if r.large == nil {
		r.large = make(chan struct{}, largeBodies)
	}
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		res, err := next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		return r.check(p.call(req), req, res)
	})
}

// check reads and checks an answer.
func (r route) check(c call, req *http.Request, res *http.Response) (*http.Response, error) {
	media := mediaOf(res)
	m := &meter{
		ReadCloser: res.Body, responseFilter: newResponseFilter(c, maxLevels, r.maxObject),
		ctx: req.Context(), large: r.large, list: informer.ListSizeIn(req.Context()),
		maxList: r.maxList, max: r.maxPage, skip: r.skip, watch: c.watch, json: media == runtime.ContentTypeJSON,
	}
	if c.watch || c.one {
		m.max = r.maxObject + largeBody // Room for what is around the resource.
	}
	switch {
	case res.StatusCode >= http.StatusBadRequest:
		return refusal(c, req, res)
	case res.StatusCode >= http.StatusMultipleChoices:
		_ = res.Body.Close() // Nothing of it counts.
		return nil, errRedirect
	case !c.document && !m.json && media != runtime.ContentTypeProtobuf:
		_ = res.Body.Close() // Nothing of it counts.
		return nil, foreignError{code: res.StatusCode}
	case c.watch:
		res.Body = m
		return res, nil
	}
	content, err := io.ReadAll(m)
	_ = m.Close() // All of it that counts is read.
	if err != nil {
		return nil, err
	}
	if !c.isAnswer(media, content) {
		return nil, foreignError{code: res.StatusCode}
	}
	return withContent(res, content), nil
}

// Sifted returns a configuration for the control plane. What connects by it gets what is left of resources that cannot
// be read, and all else as it comes.
func Sifted(cfg *rest.Config) (*rest.Config, error) {
	host, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot parse the server of the control plane")
	}
	p, cfg := paths{base: host.Path}, rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			res, err := next.RoundTrip(req)
			if err != nil || res.StatusCode >= http.StatusMultipleChoices || mediaOf(res) != runtime.ContentTypeJSON {
				return res, err
			}
			c := p.call(req)
			res.ContentLength = -1 // It may be less.
			res.Body = &meter{
				ReadCloser: res.Body, responseFilter: newResponseFilter(c, 2*maxLevels, maxObject), watch: c.watch,
				json: true, max: math.MaxInt64, skip: 1,
			}
			return res, nil
		})
	})
	return cfg, nil
}

func mediaOf(res *http.Response) string {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return media
}

// isAnswer reports whether the content of a success is what an API server answers to the call. The error of a decoder
// would repeat anything else.
func (c call) isAnswer(media string, content []byte) bool {
	meta := metav1.TypeMeta{}
	switch {
	case c.document:
		return true
	case media == runtime.ContentTypeProtobuf:
		return len(content) > len(protobufPrefix) && bytes.HasPrefix(content, []byte(protobufPrefix))
	}
	return utiljson.Unmarshal(content, &meta) == nil && meta.Kind != "" && (meta.APIVersion != "" || !c.resource)
}

func withContent(res *http.Response, content []byte) *http.Response {
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
	return res
}

// refusal returns an error's answer if it is that of an API server, and one of our own words for codes that any proxy
// may give. What is left is an error: that something does not exist is only for an API server to say.
func refusal(c call, req *http.Request, res *http.Response) (*http.Response, error) {
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
	case ok && (res.StatusCode != http.StatusNotFound || c.isMissing(status)):
	case ok:
		return nil, foreignError{code: res.StatusCode, message: status.Message}
	case slices.Contains(genericStatusCodes, res.StatusCode):
		content = genericStatus(req.Method, res.StatusCode)
		res.Header.Set("Content-Type", runtime.ContentTypeJSON)
	case bytes.Contains(content, []byte(answerOfTLS)):
		return nil, errNoTLS
	default:
		return nil, foreignError{code: res.StatusCode}
	}
	return withContent(res, content), nil
}

// genericStatusCodes are the codes that mean what they say, no matter who answers with them. None of them says that
// something does not exist.
var genericStatusCodes = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge,
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
	http.StatusGatewayTimeout,
}

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

// genericStatus returns the Status of a code.
func genericStatus(method string, code int) []byte {
	refused := apierrors.NewGenericServerResponse(code, strings.ToLower(method), schema.GroupResource{}, "", "", 0,
		false)
	s := refused.ErrStatus
	s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	s.Message, s.Details = foreignError{code: code}.Error(), nil
	content, _ := json.Marshal(&s) //nolint:errchkjson // Nothing in it can fail.
	return content
}

// isMissing reports whether a Status of 404 says that the object of a call does not exist, or its namespace. Of a write
// it may also be something that the object refers to. Just after a start kcp says it of the workspace instead.
func (c call) isMissing(s *metav1.Status) bool {
	d := s.Details
	workspace := d != nil && slices.Contains([]string{"workspaces", "logicalclusters"}, d.Kind) &&
		(d.Kind != c.plural || d.Name != c.name)
	return !workspace && (c.write || s.Reason == metav1.StatusReasonNotFound && d != nil && d.Name != "" &&
		slices.Contains([]string{c.namespace, c.name}, d.Name))
}
