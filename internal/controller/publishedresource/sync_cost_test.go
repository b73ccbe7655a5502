package publishedresource_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	clusterlocal "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSyncStreams shows that further tenants open no further streams in kcp, and on the service cluster none of Secrets
// but those of namespaces with copies, and none of namespaces.
func TestSyncStreams(t *testing.T) {
	s := openShop(t)
	a := s.account(t)
	s.publishCerts(t)
	tenants := []tenant{s.tenant(t)}
	kube.Create(t, tenants[0], s.cert("web"))
	s.copyOf(t, tenants[0])
	const further = 2
	opened := map[string]int{} // for how many tenants there is a stream of a resource
	for range further {
		a.here = a.kcp.Mark()
		in := s.tenant(t)
		tenants = append(tenants, in)
		kube.Create(t, in, s.cert("web"))
		s.issue(t, s.copyOf(t, in), "a")
		awaitIssued(t, in, s.cert("web"), "a")
		for what := range a.kcp.Watches(a.here).By(agentUser).Count() {
			opened[what]++
		}
	}
	for what, n := range opened {
		if n == further { // A server may end a stream, which then begins again.
			t.Errorf("want no streams for further tenants, got for each: %s", what)
		}
	}
	streams := map[string]bool{}
	// Streams are shared, so no test before this one may publish Secrets or select namespaces.
	for _, w := range a.below.Watches(kube.Mark{}).By(user) {
		switch w.Resource {
		case "secrets":
			streams[w.Namespace] = true
		case "namespaces":
			t.Errorf("there is a stream of namespaces: %s", w.URI)
		}
	}
	for _, in := range tenants {
		if !streams[in.cluster] {
			t.Errorf("want a stream of the Secrets of namespace %s, got %v", in.cluster, streams)
		}
	}
	if streams[""] {
		t.Error("there is a stream of all Secrets")
	}
}

// fatBytes is how large the Secrets of a tenant are that has much: two thirds of what fits into a state.
const fatBytes = 400 << 10

// fat is a Secret of a tenant, in the namespace of its Certs.
func fat(i int, value string) *corev1.Secret {
	return secretIn(metav1.NamespaceDefault, fmt.Sprintf("fat-%02d", i), strings.Repeat(value, fatBytes))
}

// held returns how many bytes are held by all that runs here.
func held() int64 {
	for range 3 { // What the first finds dead may have held more.
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSyncUnusedSecrets shows that of Secrets which nothing refers to little is held, that one of them is read once
// when an object begins to refer to it, and followed from then on, also after nothing has referred to it for a while.
func TestSyncUnusedSecrets(t *testing.T) {
	const many, little = 60, 16 << 20
	s := openShop(t)
	s.publishCerts(t)
	in := s.tenant(t)
	kube.Create(t, in, secretIn(metav1.NamespaceDefault, "first", "a"), s.naming("first", "first"))
	s.copyOf(t, in)
	before := held()
	for i := range many {
		kube.Create(t, in, fat(i, "a"))
	}
	kube.Create(t, in, secretIn(metav1.NamespaceDefault, "last", "a"), s.naming("last", "last"))
	awaitValue(t, s.c, in.cluster, "last", "a") // All before it has been seen.
	if grown := held() - before; grown > little {
		t.Errorf("want at most %d MiB held of Secrets of %d, which nothing refers to, got %d", little>>20,
			many*fatBytes>>20, grown>>20)
	}

	a := s.account(t)
	wantReads := func(what string, want int) {
		t.Helper()
		_, inKCP := a.requests()
		if got := reads(inKCP); len(got) != want {
			t.Errorf("%s: want %d Secrets read, got\n%s", what, want, got)
		}
		a.reset()
	}
	name, web := fat(many-1, "").Name, s.naming("web", fat(many-1, "").Name)
	kube.Create(t, in, web)
	awaitValue(t, s.c, in.cluster, name, strings.Repeat("a", fatBytes))
	wantReads("a reference to what is not held", 1)
	for _, value := range []string{"b", "c"} {
		kube.Patch(t, in, fat(many-1, ""), fmt.Sprintf(`{"stringData":{"key":%q}}`, value))
		awaitValue(t, s.c, in.cluster, name, value)
	}
	wantReads("a change of what is held", 0)
	kube.Patch(t, in, fat(many-1, ""), fmt.Sprintf(`{"stringData":{"key":%q}}`, strings.Repeat("d", fatBytes)))
	awaitValue(t, s.c, in.cluster, name, strings.Repeat("d", fatBytes))
	kube.Remove(t, in, web)
	kube.AwaitGone(t, s.c, secretIn(in.cluster, name, ""))
	kube.Create(t, in, s.naming("web", name))
	awaitValue(t, s.c, in.cluster, name, strings.Repeat("d", fatBytes))
}

// reads returns the requests that change nothing.
func reads(r kube.Requests) kube.Requests {
	return slices.DeleteFunc(r, func(e clusterlocal.AuditEvent) bool { return e.Verb != "get" && e.Verb != "list" })
}

// TestSyncRoom shows that a workspace whose objects refer to more than there is room for is refused the rest, is told,
// and gets it when there is room, and that it costs its neighbour nothing.
func TestSyncRoom(t *testing.T) {
	s := openShop(t)
	d := definition(s.group, "certs", "secretName", "keyName", "note")
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["keys"] = apiextensionsv1.JSONSchemaProps{
		Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text},
	}
	kube.Create(t, s.c, d)
	o := s.offer(t, s.publishedCerts(local.Namespace(t)), func(o *v1alpha1.PublishedResource) {
		o.Spec.Related = append(o.Spec.Related, v1alpha1.RelatedResource{
			Identifier: "keys", Origin: v1alpha1.OriginKCP, Kind: "Secret", Object: byField("spec.keys"),
		})
	})
	large, many, neighbour := s.tenant(t), s.tenant(t), s.tenant(t)

	bytes := objectsync.RoomMost/(fatBytes*4/3) + 2
	for i := range bytes {
		kcp.CreateServed(t, large.cfg, fat(i, "a")) // A busy kcp may refuse much at once.
		kcp.CreateServed(t, large.cfg, s.naming(fmt.Sprintf("web-%02d", i), fat(i, "").Name))
	}
	names := 10_000/related.Max + 1
	for i := range names {
		u := s.cert(fmt.Sprintf("web-%02d", i))
		keys := make([]any, related.Max-2)
		for k := range keys {
			keys[k] = fmt.Sprintf("key-%d-%d", i, k)
		}
		u.Object["spec"].(map[string]any)["keys"] = keys
		kcp.CreateServed(t, many.cfg, u)
	}
	kube.Create(t, neighbour, secretIn(metav1.NamespaceDefault, "any", "a"), s.naming("web", "any"))
	awaitValue(t, s.c, neighbour.cluster, "any", "a")
	var failed int64
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool {
		failed = c.Failed
		return c.Failed >= 2 && c.Synced+c.Failed == int64(bytes+names+1) && len(c.Failures) == 2
	})
	for _, in := range []tenant{large, many} {
		kube.AwaitEvent(t, in, objectsync.ReasonWorkspaceLimit, "objects of this workspace")
	}
	t.Logf("%d of %d and %d are refused", failed, bytes, names)
	for i := range failed + 1 { // At least one of each is synced.
		kube.Patch(t, large, fat(int(i), ""), `{"data":null,"stringData":{"key":"b"}}`)
	}
	kube.Patch(t, many, s.cert("web-00"), `{"spec":{"keys":null}}`)
	kube.Patch(t, many, s.cert("web-01"), `{"spec":{"keys":null}}`)
	awaitObjects(t, s.c, o, func(c *v1alpha1.ObjectCounts) bool {
		return c.Failed == 0 && c.Synced == int64(bytes+names+1)
	})
	got := &corev1.Secret{}
	kube.Get(t, s.c, types.NamespacedName{Namespace: large.cluster, Name: fat(bytes-1, "").Name}, got)
}
