package publishedresource_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// diff says what of both sides is not as the model, empty if all is.
func (m *model) diff(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, p := range m.all {
		if d := p.diff(t); d != "" {
			fmt.Fprintf(&b, "workspace %s:\n%s", p.cluster, d)
		}
	}
	return b.String()
}

// An outcome is what a tenant has on both sides.
type outcome struct {
	Certs, Copies map[string]string // specs by names, with what holds them
	Above, Below  map[string]string // Secrets by names
	States        int
}

func (p *player) diff(t *testing.T) string {
	t.Helper()
	want := outcome{
		Certs: map[string]string{}, Copies: map[string]string{}, Above: map[string]string{}, Below: map[string]string{},
	}
	for name, value := range p.tls {
		want.Below[name+"-tls"] = value
	}
	held := map[string]bool{}
	for name, c := range p.certs {
		spec := fmt.Sprint(c.fields(name))
		if c.skipped {
			want.Certs[name] = spec
			continue
		}
		want.Certs[name], want.Copies[name] = spec+"!", spec
		want.States++
		held[c.key] = true
		if value, ok := p.tls[name]; ok {
			want.Above[name+"-tls"] = value
		}
	}
	for name, value := range p.keys {
		if want.Above[name] = value; held[name] {
			want.Above[name], want.Below[name] = value+"!", value
		}
	}
	got := outcome{Above: p.secrets(t, p, metav1.NamespaceDefault), Below: p.secrets(t, p.below, p.cluster)}
	above, below := p.list(p.s.group+"/v1", "CertList"), p.list(p.s.group+"/v1", "CertList")
	states := &corev1.SecretList{}
	mine := client.MatchingLabels{objectsync.LabelCluster: p.cluster}
	for _, err := range []error{
		p.List(t.Context(), above), p.below.List(t.Context(), below, mine),
		p.below.List(t.Context(), states, mine, client.InNamespace(p.o.Spec.StateNamespace)),
	} {
		if err != nil {
			return err.Error()
		}
	}
	got.States = len(states.Items)
	var problems string
	got.Certs, got.Copies, problems = p.outcomes(above.Items, below.Items)
	return cmp.Diff(want, got) + problems
}

// outcomes returns the specs of Certs and of their copies, without the notes of operators, and what is wrong with these
// and with the status.
func (p *player) outcomes(above, below []unstructured.Unstructured) (certs, copies map[string]string, problems string) {
	certs, copies = map[string]string{}, map[string]string{}
	phases := map[string]string{}
	var wrong []string
	for _, u := range below {
		name := u.GetAnnotations()[objectsync.AnnotationName]
		note, _, _ := unstructured.NestedString(u.Object, "spec", "note")
		if want := p.notes[u.GetUID()]; note != want {
			wrong = append(wrong, fmt.Sprintf("the note of %s is %q and not %q", name, note, want))
		}
		phases[name], _, _ = unstructured.NestedString(u.Object, "status", "phase")
		unstructured.RemoveNestedField(u.Object, "spec", "note")
		copies[name] += fmt.Sprint(u.Object["spec"])
	}
	for _, u := range above {
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		if want := phases[u.GetName()]; want != "" && phase != want {
			wrong = append(wrong, fmt.Sprintf("the phase of %s is %q and not %q", u.GetName(), phase, want))
		}
		certs[u.GetName()] = fmt.Sprint(u.Object["spec"])
		if len(u.GetFinalizers()) > 0 {
			certs[u.GetName()] += "!"
		}
	}
	return certs, copies, strings.Join(wrong, "\n")
}

// TestSyncModel has five tenants, and the operators of their copies, do random things at a time: create, change,
// relabel and delete objects and Secrets on both sides. When they have done, both sides are as a model says.
// SYNC_MODEL_OPS is how many things they do together, and SYNC_MODEL_SEED makes others of them.
func TestSyncModel(t *testing.T) {
	t.Parallel()
	const tenants = 5
	ops, seed := kube.Setting(t, "SYNC_MODEL_OPS", 500), kube.Setting(t, "SYNC_MODEL_SEED", 1)
	m := newModel(t, tenants, uint64(seed))
	m.play(t, ops/tenants, nil)
	m.settle(t)
	t.Logf("%d operations with seed %d", ops, seed)
}

// TestSyncOutage takes kcp away while tenants work, which first refuses connections and then answers none, and after
// that the service cluster. It shows that this is reported, and that nothing is lost, made twice or left behind.
func TestSyncOutage(t *testing.T) {
	elsewhere := local.Namespace(t)
	below := service.Client(t)
	m := newModel(t, 2, 1, func(o *v1alpha1.PublishedResource) {
		group := o.Spec.Resource.APIGroup
		kube.Create(t, below, definition(group, "certs", "secretName", "keyName", "note"))
		kube.Create(t, local.Client(t, apis.AddToScheme),
			build.Credentials(elsewhere, "kcp", kube.Kubeconfig(t, service.User(t, user, "system:masters"))),
			build.ClusterConfig(elsewhere, build.FromSecret(elsewhere, "kcp")))
		o.Spec.ServiceClusterConfigReference = &v1alpha1.ConfigReference{Name: elsewhere}
	})
	m.below, m.pace = below, 20*time.Millisecond
	everything := []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}, {
			NonResourceURLs: []string{"*"}, Verbs: []string{"*"},
		},
	}
	for _, p := range m.all { // The administrator has other credentials after a restart.
		p.Client = kcp.Client(t, kcp.ServiceAccount(t, p.cfg, "tenant", everything...))
	}
	m.play(t, 30, nil)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		m.play(t, 1<<20, end)
	}()
	unreachable := isNot(xpv2.TypeSynced, commonv1.ReasonTargetUnreachable)
	for _, begin := range []func(*kcp.Server, testing.TB){(*kcp.Server).Stop, (*kcp.Server).Freeze} {
		begin(&workspaces, t)
		await(t, m.s.c, m.o, unreachable)
		workspaces.Return(t)
		await(t, m.s.c, m.o, is(xpv2.TypeReady, ""))
	}
	m.away.Store(true)
	service.Stop(t)
	await(t, m.s.c, m.o, unreachable)
	service.Restart(t)
	m.away.Store(false)
	close(end)
	<-ended
	m.settle(t)
}

func (p *player) list(apiVersion, kind string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(apiVersion)
	list.SetKind(kind)
	return list
}

// secrets returns the values of the Secrets of a namespace, with an exclamation mark if they are held.
func (p *player) secrets(t *testing.T, c client.Client, namespace string) map[string]string {
	t.Helper()
	list := &corev1.SecretList{}
	kube.List(t, c, list, client.InNamespace(namespace))
	out := map[string]string{}
	for _, u := range list.Items {
		if u.Type == corev1.SecretTypeServiceAccountToken {
			continue
		}
		out[u.Name] = string(u.Data["key"])
		if len(u.Finalizers) > 0 {
			out[u.Name] += "!"
		}
	}
	return out
}
