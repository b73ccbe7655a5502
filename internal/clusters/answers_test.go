package clusters

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

// foreign is what a server has that is none of Kubernetes, and that nobody may see.
const foreign = `{"SecretAccessKey":"node-role-secret-123"}`

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// clusterAt connects to a server, as a tenant does or as an operator.
func clusterAt(t *testing.T, url string, by identity.Writer, a Addresses) *Cluster {
	t.Helper()
	c, err := newCluster(access{config: &rest.Config{Host: url}, route: newRoutes(a, nil)[by]}, &Registry{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// serve connects to a server that answers probes, and everything else by a function.
func serve(t *testing.T, answer http.HandlerFunc) *Cluster {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			_, _ = io.WriteString(w, "{}")
			return
		}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	c := clusterAt(t, s.URL, identity.WriterTenant, Addresses{})
	awaitUp(t, c)
	return c
}

func awaitUp(t *testing.T, c *Cluster) {
	t.Helper()
	eventually(t, "the first probe", func() bool { return c.Ready(t.Context()) == nil })
}

// requests are what callers ask of a resource.
func requests() map[string]func(context.Context, *Cluster) error {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "n", "name": "c"},
	}}
	return map[string]func(context.Context, *Cluster) error{
		"Get": func(ctx context.Context, c *Cluster) error {
			_, err := c.Resource(configMaps, "n").Get(ctx, "c", metav1.GetOptions{})
			return err
		},
		"List": func(ctx context.Context, c *Cluster) error {
			_, err := c.Resource(configMaps, "n").List(ctx, metav1.ListOptions{})
			return err
		},
		"Apply": func(ctx context.Context, c *Cluster) error {
			_, err := c.Resource(configMaps, "n").Apply(ctx, "c", u, metav1.ApplyOptions{FieldManager: "m"})
			return err
		},
		"Create": func(ctx context.Context, c *Cluster) error {
			_, err := c.Resource(configMaps, "n").Create(ctx, u, metav1.CreateOptions{})
			return err
		},
		"Delete": func(ctx context.Context, c *Cluster) error {
			return c.Resource(configMaps, "n").Delete(ctx, "c", metav1.DeleteOptions{})
		},
		"Discovery": func(ctx context.Context, c *Cluster) error {
			_, err := c.Mapping(ctx, configMaps.GroupVersion().WithKind("ConfigMap"))
			return err
		},
		"Find": func(ctx context.Context, c *Cluster) error {
			_, _, err := c.Find(ctx, schema.GroupKind{Kind: "ConfigMap"})
			return err
		},
	}
}

// TestForeignAnswers shows that an answer that is none of a Kubernetes API server is an error for each request, that
// nothing of it is repeated, and that nothing is taken for absent by it.
func TestForeignAnswers(t *testing.T) {
	const html = "<html>node-role-secret-123</html>"
	const asJSON, asHTML, text = "application/json", "text/html", "text/plain"
	for name, tc := range map[string]struct {
		code              int
		contentType, body string
	}{
		"JSON":         {http.StatusOK, asJSON, foreign},
		"JSONWithKind": {http.StatusOK, asJSON, `{"kind":"","SecretAccessKey":"node-role-secret-123"}`},
		"JSONList":     {http.StatusOK, asJSON, `["node-role-secret-123"]`},
		"HTML":         {http.StatusOK, asHTML, html},
		"HTMLAsJSON":   {http.StatusOK, asJSON, html},
		"YAML":         {http.StatusOK, "application/yaml", "kind: node-role-secret-123"},
		"Protobuf":     {http.StatusOK, "application/vnd.kubernetes.protobuf", "node-role-secret-123"},
		"Empty":        {http.StatusOK, "", ""},
		"EmptyJSON":    {http.StatusOK, asJSON, ""},
		"HalfAnObject": {http.StatusOK, asJSON, `{"kind":"Secret","apiVersion":"v1","a":"node-role-secret-123"`},
		"NotFound":     {http.StatusNotFound, text, "404 node-role-secret-123"},
		"NotFoundJSON": {http.StatusNotFound, asJSON, foreign},
		"Gone":         {http.StatusGone, text, html},
		"Conflict":     {http.StatusConflict, text, html},
		"Forbidden":    {http.StatusForbidden, asHTML, html},
		"Unauthorized": {http.StatusUnauthorized, asJSON, foreign},
		"TooMany":      {http.StatusTooManyRequests, asHTML, html},
		"Internal":     {http.StatusInternalServerError, asJSON, foreign},
		"BadGateway":   {http.StatusBadGateway, asHTML, html},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.contentType)
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(tc.code)
				_, _ = io.WriteString(w, tc.body)
			})
			for verb, ask := range requests() {
				err := ask(t.Context(), c)
				if err == nil {
					t.Errorf("%s: it is taken for a success", verb)
					continue
				}
				if strings.Contains(fmt.Sprintf("%+v", err), "secret-123") {
					t.Errorf("%s: the error repeats it: %v", verb, err)
				}
				read := verb != "Apply" && verb != "Create"
				if (read || tc.contentType != "application/json") && apierrors.IsNotFound(err) || IsNoKind(err) ||
					apierrors.IsConflict(err) {
					t.Errorf("%s: it is taken for an answer about the object: %v", verb, err)
				}
			}
		})
	}
}

// TestUnknownWorkspace shows that a 404 for the workspace is not taken for one about the object, even if both have the
// same name.
func TestUnknownWorkspace(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","reason":"NotFound","code":404,`+
			`"message":"workspaces.tenancy.kcp.io \"c\" not found","details":{"name":"c","kind":"workspaces"}}`)
	})
	for verb, ask := range requests() {
		err := ask(t.Context(), c)
		if err == nil || apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `"c" not found`) {
			t.Errorf("%s: want an error about the workspace that is no NotFound, got %v", verb, err)
		}
	}
}

// TestRealAnswersPass shows that answers of API servers arrive as they are.
func TestRealAnswersPass(t *testing.T) {
	const notFound = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound",` +
		`"message":"configmaps \"c\" not found","details":{"name":"c","kind":"configmaps"},"code":404}`
	const forbidden = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
	const sorted = ` {"apiVersion":"v1","data":{"kind":"","a\"\\":"}{"},"kind":"ConfigMap"}`
	noNamespace := strings.ReplaceAll(notFound, `"name":"c"`, `"name":"n"`)
	succeeds := func(err error) bool { return err == nil }
	for name, tc := range map[string]struct {
		code int
		body string
		want func(error) bool
	}{
		"Object":      {http.StatusOK, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"}}`, succeeds},
		"SortedKeys":  {http.StatusOK, sorted + "\n", succeeds},
		"NotFound":    {http.StatusNotFound, notFound, apierrors.IsNotFound},
		"NoNamespace": {http.StatusNotFound, noNamespace, apierrors.IsNotFound},
		"Forbidden":   {http.StatusForbidden, forbidden, apierrors.IsForbidden},
		"Refused":     {http.StatusForbidden, "no", apierrors.IsForbidden},
		"NoMethod":    {http.StatusMethodNotAllowed, "405: Method Not Allowed", apierrors.IsMethodNotSupported},
		"Overloaded":  {http.StatusTooManyRequests, "later", apierrors.IsTooManyRequests},
		"Unavailable": {http.StatusServiceUnavailable, "later", apierrors.IsServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.code)
				_, _ = io.WriteString(w, tc.body)
			})
			if err := requests()["Get"](t.Context(), c); !tc.want(err) {
				t.Errorf("it arrives as it is: got %v", err)
			}
		})
	}
}

// TestUnreachableMessage shows that messages hold nothing that differs from one attempt to the next: they become
// conditions.
func TestUnreachableMessage(t *testing.T) {
	address := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port} }
	of := func(op string, cause error, port int) error {
		return &net.OpError{
			Op: op, Net: "tcp", Source: address(port), Addr: address(6443), Err: os.NewSyscallError(op, cause),
		}
	}
	for name, tc := range map[string]struct {
		reason string
		cause  func(port int) error // of an attempt from a port of ours
		want   string               // part of the message
	}{
		"Reset": {
			reason: "A reset read names the server.",
			cause:  func(port int) error { return of("read", syscall.ECONNRESET, port) },
			want:   "connection to 127.0.0.1:6443: connection reset by peer",
		},
		"Pipe": {
			reason: "So does a write that broke off.",
			cause:  func(port int) error { return of("write", syscall.EPIPE, port) },
			want:   "write tcp 127.0.0.1:6443: write: broken pipe",
		},
		"Refused": {reason: "A refused connection has no port of ours.", cause: func(int) error {
			return &net.OpError{Op: "dial", Net: "tcp", Addr: address(6443), Err: syscall.ECONNREFUSED}
		}, want: "dial tcp 127.0.0.1:6443: connection refused"},
		"Wrapped": {
			reason: "A client may have wrapped the error.", cause: func(port int) error {
				return &url.Error{
					Op: "Get", URL: "https://127.0.0.1:6443/version",
					Err: errors.Wrap(of("read", syscall.ECONNRESET, port), "cannot probe"),
				}
			}, want: "connection reset by peer",
		},
		"DNS": {
			reason: "The address of the resolver, and our port, do not matter.", cause: func(port int) error {
				return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
					Name: "kcp.example.com", Server: "10.0.0.10:53",
					Err: "read udp " + address(port).String() + "->10.0.0.10:53: i/o timeout",
				}}
			}, want: `cannot resolve "kcp.example.com"`,
		},
		"Other": {
			reason: "Any other error is told as it is.",
			cause:  func(int) error { return io.ErrUnexpectedEOF },
			want:   "unexpected EOF",
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := unreachableError{cause: tc.cause(34567)}.Error(), unreachableError{cause: tc.cause(45678)}.Error()
			if first != second {
				t.Errorf("%s\nmessages of two attempts: want the same, got %q and %q", tc.reason, first, second)
			}
			if !strings.HasPrefix(first, ErrUnreachable.Error()+": ") || !strings.Contains(first, tc.want) {
				t.Errorf("%s\nmessage: want it to contain %q, got %q", tc.reason, tc.want, first)
			}
		})
	}
}
