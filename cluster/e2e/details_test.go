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

// TestRestartWithConnectionDetails shows that a provider which starts again finds the connection secrets as they should
// be: it reads each once, as the first answer of its watch, and writes none.
func TestRestartWithConnectionDetails(t *testing.T) {
	const n = 10
	c, _ := clients(t)
	p := start(t)
	f := newFleet(t, c, n)
	source := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "database"},
		Data:       map[string][]byte{"password": []byte("hunter2")},
	}
	kube.Create(t, target.Client(t), source)
	secrets := local.Namespace(t)
	for _, o := range f.objects {
		if ns := o.GetNamespace(); ns != "" {
			secrets = ns // That of all namespaced Objects; the others write there too.
		}
	}
	for _, o := range f.objects {
		build.WriteConnectionSecret(o, types.NamespacedName{Namespace: secrets, Name: o.GetName()})
		o.Desired().ConnectionDetails = append(o.Desired().ConnectionDetails,
			build.ConnectionDetail(corev1.ObjectReference{
				Kind: "Secret", Namespace: f.namespace, Name: "database", FieldPath: "data.password",
			}, "password"))
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
	asked := perName(m.aboutSecrets(t))
	maps.DeleteFunc(asked, func(_ string, n int) bool { return n == 1 })
	if len(asked) > 0 {
		t.Errorf("requests about Secrets on the control plane: want one for each Secret, got %v\n%s", asked,
			m.aboutSecrets(t))
	}
	onTarget := about(append(m.onTarget(t), target.Audit(t).Watches(m.target).By(user)...), "secrets")
	// Tenants and operators share no connection, whatever credentials they have.
	if n := len(onTarget); n < 1 || n > len(build.Scopes()) {
		t.Errorf("requests about the one source of all: want one for each scope, got\n%s", onTarget)
	}
}

// aboutSecrets returns the provider's requests to the control plane about Secrets since a mark, watches included: the
// first answer of a watch is the list.
func (m marks) aboutSecrets(t *testing.T) kube.Requests {
	t.Helper()
	return about(append(m.onLocal(t), local.Audit(t).Watches(m.local).By(user)...), "secrets")
}

// awaitAllSeen waits until the provider has asked for the connection secret of each Object since a mark.
func (f fleet) awaitAllSeen(t *testing.T, m marks) {
	t.Helper()
	kube.Eventually(t, "the provider to look at each connection secret", func() (bool, string) {
		asked := m.aboutSecrets(t)
		return len(asked) > len(f.objects), asked.String() // One more is that of the credentials.
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
