package e2e_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestRestartWithConnectionDetails shows that a provider which starts again finds the connection secrets as they should be: it reads
// each once, by the list of its watch, and writes none.
func TestRestartWithConnectionDetails(t *testing.T) {
	const n = 10
	c, _ := clients(t)
	p := start(t)
	f := newFleet(t, c, n)
	source := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "database"}, Data: map[string][]byte{"password": []byte("hunter2")},
	}
	if err := target.Client(t).Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	secrets := local.Namespace(t)
	for _, o := range f.objects {
		if ns := o.GetNamespace(); ns != "" {
			secrets = ns // That of all namespaced Objects; the others write there too.
		}
	}
	for _, o := range f.objects {
		build.WriteConnectionSecret(o, types.NamespacedName{Namespace: secrets, Name: o.GetName()})
		o.Desired().ConnectionDetails = append(o.Desired().ConnectionDetails,
			build.ConnectionDetail(corev1.ObjectReference{Kind: "Secret", Namespace: f.namespace, Name: "database", FieldPath: "data.password"}, "password"))
	}
	f.settle(t, c)
	p.Kill()

	m := mark(t)
	start(t)
	f.awaitAllSeen(t, m)
	awaitSilence(t)
	if diff := cmp.Diff(map[string]int(nil), writes(append(m.onLocal(t), m.onTarget(t)...)).Count()); diff != "" {
		t.Errorf("writes of a provider that starts again: -want, +got:\n%s", diff)
	}
	lists := perName(about(m.onLocal(t), "secrets"))
	maps.DeleteFunc(lists, func(_ string, n int) bool { return n == 1 })
	if len(lists) > 0 {
		t.Errorf("requests about Secrets on the control plane: want each Secret listed at most once, got %v\n%s", lists, about(m.onLocal(t), "secrets"))
	}
	if got := len(about(m.onTarget(t), "secrets")); got != 1 {
		t.Errorf("requests about the one source of all: want one list, got %d", got)
	}
}

// awaitAllSeen waits until the provider has listed the connection secret of each Object since a mark.
func (f fleet) awaitAllSeen(t *testing.T, m marks) {
	t.Helper()
	kube.Eventually(t, soon, "the provider to look at each connection secret", func() (bool, string) {
		seen := len(about(m.onLocal(t), "secrets"))
		return seen >= len(f.objects), about(m.onLocal(t), "secrets").String()
	})
}

// about returns the requests about a kind of resources.
func about(r kube.Requests, resource string) kube.Requests {
	var out kube.Requests
	for _, e := range r {
		if strings.HasSuffix(" "+e.Subject(), " "+resource) {
			out = append(out, e)
		}
	}
	return out
}
