package publishedresource_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterlocal "github.com/crossplane-contrib/provider-kcp/cluster/local"
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
// when an object begins to refer to it, and once for each change, and that a change of the object reads none.
func TestSyncUnusedSecrets(t *testing.T) {
	const many, little = 60, 4 << 20
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
	wantReads("a reference", 1)
	for _, value := range []string{"b", "c"} {
		kube.Patch(t, in, fat(many-1, ""), fmt.Sprintf(`{"stringData":{"key":%q}}`, value))
		awaitValue(t, s.c, in.cluster, name, value)
	}
	wantReads("two changes", 2)
	for _, want := range []string{"a", "b"} { // By the second the first is over.
		kube.Patch(t, in, web, fmt.Sprintf(`{"spec":{"note":%q}}`, want))
		kube.Eventually(t, "the object in step", func() (bool, string) {
			note, _, _ := unstructured.NestedString(s.copyNamed(t, in, "web").Object, "spec", "note")
			return note == want, note
		})
	}
	wantReads("changes of the object", 0)
	kube.Remove(t, in, web)
	kube.AwaitGone(t, s.c, secretIn(in.cluster, name, ""))
}

// reads returns the requests that change nothing.
func reads(r kube.Requests) kube.Requests {
	return slices.DeleteFunc(r, func(e clusterlocal.AuditEvent) bool { return e.Verb != "get" && e.Verb != "list" })
}
