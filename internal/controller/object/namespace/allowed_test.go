package namespace_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	targets "github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestNamespaceNotAllowed shows that a namespace which a ClusterProviderConfig does not allow gets nothing of it, on no
// way, and holds nothing of it, and that all of its resources are served as soon as the operator allows it.
func TestNamespaceNotAllowed(t *testing.T) {
	c := provide(t)
	team, other := local.Namespace(t), local.Namespace(t)
	s := share(t, c, named(other))
	kube.Create(t, target.Client(t), &corev1.ConfigMap{
		ObjectMeta: build.Meta(s.tns, "seen"), Data: map[string]string{"a": "b"},
	})
	mark := target.Audit(t).Mark()
	all := s.users(team)
	chosen := build.Application(team, "chosen", s.ns,
		build.ResourceTemplate("of-chosen", build.ConfigMap(s.tns, "chosen")))
	for _, o := range append(all, chosen) {
		kube.Create(t, c, o)
	}
	s.awaitRefused(t, c, all...)
	kube.Await(t, c, chosen, "an application that no cluster fits", func() (bool, string) {
		got := chosen.GetCondition(xpv2.TypeSynced)
		return got.Reason == workloadv1alpha1.ReasonUnschedulable, got.Message
	})
	m := chosen.GetCondition(xpv2.TypeSynced).Message
	if strings.Contains(m, s.config.GetName()) || chosen.Spec.ClusterRef != nil {
		t.Errorf("it must not be scheduled, nor hear of the cluster: %v %s", chosen.Spec.ClusterRef, m)
	}
	s.checkUnasked(t, c, mark, all...)
	usages := func() int {
		l := &mpcv1alpha1.ProviderConfigUsageList{}
		kube.List(t, c, l, client.InNamespace(team))
		return len(l.Items)
	}
	pinned := slices.ContainsFunc(all, func(o conditioned) bool { return len(o.GetFinalizers()) > 0 })
	if n := usages(); pinned || n > 0 {
		t.Errorf("they must not keep the ClusterProviderConfig from being deleted: %d records of use, %v", n, all)
	}

	s.allow(t, c, named(other), named(team))
	awaitSynced(t, c, append(all, chosen)...)
	kube.Eventually(t, "the records of use", func() (bool, string) {
		n := usages()
		return n >= len(all), fmt.Sprintf("%d of %d", n, len(all))
	})

	// The operator is told of a selector that cannot be read, although the namespaces that are named go on.
	s.allow(t, c, named(team), commonv1.AllowedNamespaces{Selector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Like"}},
	}})
	kube.Await(t, c, s.config, "the selector to be told", func() (bool, string) {
		got := s.config.Status.GetCondition(xpv2.TypeReady)
		return got.Reason == commonv1.ReasonInvalidConnection &&
			strings.HasPrefix(got.Message, "cannot parse spec.allowedNamespaces[1].selector"), fmt.Sprint(got)
	})
	s.allow(t, c, named(team))
	kube.Await(t, c, s.config, "the ClusterProviderConfig to be ready again", func() (bool, string) {
		got := s.config.Status.GetCondition(xpv2.TypeReady)
		return got.Status == corev1.ConditionTrue, got.Message
	})
}

// TestNamespaceHoldsNothing shows that a namespace which a ClusterProviderConfig does not allow cannot keep it from
// being deleted, not even by resources that are made with our finalizers.
func TestNamespaceHoldsNothing(t *testing.T) {
	c := provide(t)
	team := local.Namespace(t)
	s := share(t, c, named(local.Namespace(t)))
	all := s.users(team)
	for _, o := range all {
		o.SetFinalizers([]string{
			managed.FinalizerName, workloadv1alpha1.FinalizerApplication, workloadv1alpha1.FinalizerResource,
		})
		kube.Create(t, c, o)
	}
	kube.Delete(t, c, s.config)
	kube.AwaitGone(t, c, s.config)
	for _, o := range all {
		kube.Patch(t, c, o, `{"metadata":{"finalizers":null}}`)
	}
}

// TestNamespaceLosesRight shows that the Objects of a namespace stop as soon as it loses the label by which it was
// allowed, stay, and go on when it is back; and that a deleted one waits, or leaves its resource if it is told to.
func TestNamespaceLosesRight(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	team := local.Namespace(t)
	s := share(t, c, labelled("tier", team))
	label(t, c, team, "tier", team)
	kept, left, deleted := s.object(team, "kept"), s.object(team, "left"), s.object(team, "deleted")
	all := []conditioned{kept, left, deleted}
	for _, o := range all {
		kube.Create(t, c, o)
	}
	awaitSynced(t, c, all...)

	label(t, c, team, "tier", "")
	s.awaitRefused(t, c, all...)
	mark := target.Audit(t).Mark()
	drifted := &corev1.ConfigMap{ObjectMeta: build.Meta(s.tns, "kept")}
	kube.Patch(t, tc, drifted, `{"data":{"by":"somebody"}}`)
	kube.Delete(t, c, left, deleted)
	s.awaitRefused(t, c, left, deleted)
	kube.Await(t, c, left, "a deleted Object to say what it waits for", func() (bool, string) {
		m := left.GetCondition(xpv2.TypeSynced).Message
		return strings.Contains(m, "spec.unreachableTarget: Orphan"), m
	})
	s.checkUnasked(t, c, mark, all...)
	kube.Patch(t, c, left, `{"spec":{"unreachableTarget":"Orphan"}}`)
	kube.AwaitGone(t, c, left)

	label(t, c, team, "tier", team)
	awaitSynced(t, c, kept)
	kube.Await(t, tc, drifted, "drift to be reverted", func() (bool, string) {
		return drifted.Data["by"] == team, fmt.Sprint(drifted.Data)
	})
	kube.AwaitGone(t, c, deleted)
	kube.AwaitGone(t, tc, &corev1.ConfigMap{ObjectMeta: build.Meta(s.tns, "deleted")})
	kube.Get(t, tc, types.NamespacedName{Namespace: s.tns, Name: "left"}, &corev1.ConfigMap{})
}

// TestNamespaceMadeAgain shows that a namespace which is deleted and made again has no rights of its predecessor by
// labels, be it that a label allows or that its absence does, as in a cache that does not hold the namespace.
func TestNamespaceMadeAgain(t *testing.T) {
	c := provide(t)
	team := local.Namespace(t)
	label(t, c, team, "tier", team)
	s := share(t, c, labelled("tier", team), unlabelled("kubernetes.io/metadata.name"))
	o := s.object(team, "settings")
	kube.Create(t, c, o)
	awaitSynced(t, c, o)
	kube.Remove(t, c, &corev1.Namespace{ObjectMeta: build.Meta("", team)})
	kube.AwaitGone(t, target.Client(t), &corev1.ConfigMap{ObjectMeta: build.Meta(s.tns, "settings")})

	mark := target.Audit(t).Mark()
	kube.Create(t, c, &corev1.Namespace{ObjectMeta: build.Meta("", team)})
	again := s.object(team, "settings")
	kube.Create(t, c, again)
	s.awaitRefused(t, c, again)
	s.checkUnasked(t, c, mark, again)
	label(t, c, team, "tier", team)
	awaitSynced(t, c, again)
}

// TestNamespaceSaysAnotherKind shows that an Object with a ProviderConfig of its namespace gets nothing of a
// ClusterProviderConfig of that name: not by a reference that changes its kind, nor by the recorded reference of its
// status, which decides where a deleted Object deletes.
func TestNamespaceSaysAnotherKind(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	team := local.Namespace(t)
	s := share(t, c, named("nobody"))
	name := s.config.GetName()
	kubeconfig := kube.Kubeconfig(t, target.User(t, "tenant", "system:masters"))
	kube.Create(t, c, build.Credentials(team, "credentials", kubeconfig),
		build.Namespaced().Config(team, name, build.FromSecret(team, "credentials")))
	object := func(n string) build.Object {
		o := build.Namespaced().Object(team, n, name, build.ConfigMap(s.tns, n))
		kube.Create(t, c, o)
		awaitSynced(t, c, o)
		return o
	}
	changed, recorded := object("changed"), object("recorded")
	mark := target.Audit(t).Mark()
	kube.Patch(t, c, changed, `{"spec":{"providerConfigRef":{"kind":"ClusterProviderConfig"}}}`)
	s.awaitRefused(t, c, changed)
	kube.Patch(t, c, recorded, `{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`)
	kube.Await(t, c, recorded, "the Object to be paused", func() (bool, string) {
		got := recorded.GetCondition(xpv2.TypeSynced)
		return got.Reason == xpv2.ReasonReconcilePaused, string(got.Reason)
	})
	kube.PatchStatus(t, c, recorded, `{"status":{"atProvider":{"providerConfigRef":{"kind":"ClusterProviderConfig"}}}}`)
	kube.Delete(t, c, recorded)
	kube.Patch(t, c, recorded, `{"metadata":{"annotations":{"crossplane.io/paused":null}}}`)
	s.awaitRefused(t, c, recorded)
	s.checkUnasked(t, c, mark, changed, recorded)

	// Through its own ProviderConfig, what was recorded is deleted as ever.
	kube.Remove(t, c, changed)
	kube.AwaitGone(t, tc, &corev1.ConfigMap{ObjectMeta: build.Meta(s.tns, "changed")})
	kube.PatchStatus(t, c, recorded, `{"status":{"atProvider":{"providerConfigRef":{"kind":"ProviderConfig"}}}}`)
	kube.Patch(t, c, recorded, `{"metadata":{"labels":{"touch":"again"}}}`) // Nobody hears of a status.
	kube.AwaitGone(t, c, recorded)
}

// TestNamespaceLosesRightMeanwhile shows that an Object whose namespace loses its label while a request is under way
// sends nothing after it, and goes on when the label comes back.
func TestNamespaceLosesRightMeanwhile(t *testing.T) {
	c := provide(t)
	team := local.Namespace(t)
	s := share(t, c, labelled("tier", team))
	label(t, c, team, "tier", team)
	held, passed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var mu sync.Mutex
	var writes []string
	front := kube.Front(t, target.User(t, s.user, "system:masters"), func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/configmaps") && r.URL.Query().Get("watch") != "" {
				once.Do(func() {
					close(held)
					<-passed
				})
			}
			if r.Method != http.MethodGet {
				mu.Lock()
				writes = append(writes, r.Method+" "+r.URL.Path)
				mu.Unlock()
			}
			server.ServeHTTP(w, r)
		})
	})
	kube.Update(t, c, build.Credentials(s.ns, "operators-secret", kube.Kubeconfig(t, front)))
	o := s.object(team, "settings")
	kube.Create(t, c, o)
	<-held
	label(t, c, team, "tier", "")
	close(passed)
	s.awaitRefused(t, c, o)
	mu.Lock()
	got := slices.Clone(writes)
	mu.Unlock()
	if len(got) > 0 {
		t.Errorf("nothing may be written without the right: %v", got)
	}
	label(t, c, team, "tier", team)
	awaitSynced(t, c, o)
}

// TestClusterConfigsRestricted shows what becomes of a ClusterProviderConfig without a list where the provider runs
// with --restrict-cluster-provider-configs: no namespace may use it until the operator lists one, all by an empty
// selector.
func TestClusterConfigsRestricted(t *testing.T) {
	c := provide(t)
	team := local.Namespace(t)
	s := share(t, c)
	mark := target.Audit(t).Mark()
	o := s.object(team, "settings")
	kube.Create(t, c, o)
	s.awaitRefused(t, c, o)
	s.checkUnasked(t, c, mark, o)
	s.allow(t, c, commonv1.AllowedNamespaces{Selector: &metav1.LabelSelector{}})
	awaitSynced(t, c, o)
	s.allow(t, c)
	s.awaitRefused(t, c, o)
}

// An asker asks for a connection as an Object of a namespace does.
type asker struct {
	registry *targets.Registry
	owner    informer.Owner
}

// newAsker returns an asker whose provider is a user of the control plane.
func newAsker(t *testing.T, namespace, user string, groups ...string) *asker {
	t.Helper()
	r, err := targets.NewRegistry(targets.Options{Injected: local.User(t, user, groups...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return &asker{registry: r, owner: informer.Owner{
		Controller: "test", NamespacedName: types.NamespacedName{Namespace: namespace, Name: "settings"},
	}}
}

// await waits for an answer to who asks for a connection that some namespaces may use, and whose Secret is missing.
func (a *asker) await(t *testing.T, what string, allowed commonv1.AllowedNamespaces, ok func(error) bool) {
	t.Helper()
	spec := build.FromSecret(a.owner.Namespace, "missing")
	kube.Eventually(t, what, func() (bool, string) {
		_, err := a.registry.Connect(t.Context(), a.owner, commonv1.Connection{
			Spec: &spec, Shared: &commonv1.Sharing{Name: "shared", Allowed: []commonv1.AllowedNamespaces{allowed}},
		})
		return ok(err), fmt.Sprint(err)
	})
}

// TestNamespaceLabelWakes shows that an owner is woken when its namespace gets or loses a label, and needs no poll.
func TestNamespaceLabelWakes(t *testing.T) {
	c := provide(t)
	team := local.Namespace(t)
	a := newAsker(t, team, "provider", "system:masters")
	var woken atomic.Int64
	a.registry.OnChange("test", func(types.NamespacedName) { woken.Add(1) })
	await := func(what string, ok func(error) bool) {
		t.Helper()
		a.await(t, what, labelled("tier", "gold"), ok)
	}
	await("the namespace not to be allowed", targets.IsNamespaceNotAllowed)
	for _, step := range []struct {
		value string
		then  func(error) bool
	}{{"gold", targets.IsInvalidConnection}, {"", targets.IsNamespaceNotAllowed}} {
		before := woken.Load()
		label(t, c, team, "tier", step.value)
		kube.Eventually(t, "the owner to be woken by tier="+step.value, func() (bool, string) {
			return woken.Load() > before, ""
		})
		await("the label to count: tier="+step.value, step.then)
	}
}

// TestNamespaceUnknown shows that a namespace whose labels are not known is not allowed, says so, and is allowed as
// soon as they are known: without the permission to watch namespaces, with a selector that cannot be parsed, and where
// no namespace is seen whose labels could be absent.
func TestNamespaceUnknown(t *testing.T) {
	c := provide(t)
	team := local.Namespace(t)
	weak := "weak-" + team
	a := newAsker(t, team, weak)
	unknown := func(of string) func(error) bool {
		return func(err error) bool {
			return targets.IsNamespaceNotAllowed(err) && strings.Contains(err.Error(), "so it is not allowed yet") &&
				strings.Contains(err.Error(), of)
		}
	}
	everywhere := commonv1.AllowedNamespaces{Selector: &metav1.LabelSelector{}}
	a.await(t, "namespaces not to be watched", everywhere, unknown("forbidden"))
	bad := labelled("tier", "not a value")
	a.await(t, "a selector not to be parsed", bad, unknown("spec.allowedNamespaces[0].selector"))
	kube.Create(t, c, build.Administrators(weak, build.User(weak)))
	a.await(t, "namespaces to be watched", everywhere, targets.IsInvalidConnection)
	a.await(t, "an absent label to count", unlabelled("tier"), targets.IsInvalidConnection)
	a.owner.Namespace += "-of-nobody"
	a.await(t, "an absent namespace not to count", unlabelled("tier"), func(err error) bool {
		return targets.IsNamespaceNotAllowed(err) && !strings.Contains(err.Error(), "as long as")
	})
	a.await(t, "an absent namespace never to count", everywhere, targets.IsNamespaceNotAllowed)

	s := share(t, c, named(team))
	s.allow(t, c, bad)
	kube.Await(t, c, s.config, "the ClusterProviderConfig to name the selector", func() (bool, string) {
		got := s.config.Status.GetCondition(xpv2.TypeReady)
		return got.Reason == commonv1.ReasonInvalidConnection && strings.Contains(got.Message, "spec.allowedNamespaces[0]"),
			got.Message
	})
}
