package object_test

import (
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// missing is condition Synced of an Object that may not make the resource it wants.
var missing = failed(commonv1.ReasonResourceMissing)

// allowed is what an Object does under its policies, as the state of the target shows it.
type allowed struct{ creates, updates, deletes, withdraws bool }

// A policyCase sets the policies of an Object in its spec, for crossplane-runtime as well as for users.
type policyCase struct {
	deletion string // deletionPolicy
	word     string // managementPolicy
	policies string // managementPolicies, divided by spaces, left to their default if empty; a blank is the empty list
	want     allowed
}

var (
	all   = allowed{creates: true, updates: true, deletes: true}
	stays = allowed{creates: true, updates: true}
)

// runtimePolicies are all combinations that crossplane-runtime supports but the empty one.
func runtimePolicies() []policyCase {
	return []policyCase{
		{want: all},
		{policies: "*", want: all},
		{policies: "Observe Create Update Delete LateInitialize", want: all},
		{policies: "Observe Create Update Delete", want: all},
		{policies: "Observe Create Update LateInitialize", want: stays},
		{policies: "Observe Create Update", want: stays},
		{policies: "Observe Create Delete LateInitialize", want: allowed{creates: true, deletes: true}},
		{policies: "Observe Create Delete", want: allowed{creates: true, deletes: true}},
		{policies: "Observe Create LateInitialize", want: allowed{creates: true}},
		{policies: "Observe Create", want: allowed{creates: true}},
		{policies: "Observe Delete", want: allowed{deletes: true}},
		{policies: "Observe Update", want: allowed{updates: true, withdraws: true}},
		{policies: "Observe Update LateInitialize", want: allowed{updates: true, withdraws: true}},
		{policies: "Observe LateInitialize"},
		{policies: "Observe"},
	}
}

// clusterPolicies are what the cluster scope has beside that: one word for policies, and a deletionPolicy.
func clusterPolicies() []policyCase {
	return []policyCase{
		{deletion: "Delete", word: "Default", want: all},
		{deletion: "Delete", word: "ObserveCreateUpdate", want: stays},
		{deletion: "Delete", word: "ObserveDelete", want: allowed{deletes: true}},
		{deletion: "Delete", word: "Observe"},
		{deletion: "Orphan", word: "Default", want: stays},
		{deletion: "Orphan", word: "ObserveCreateUpdate", want: stays},
		{deletion: "Orphan", word: "ObserveDelete"},
		{deletion: "Orphan", word: "Observe"},
		{deletion: "Orphan", policies: "*", want: stays},
		{deletion: "Orphan", policies: "Observe Create Update Delete LateInitialize", want: stays},
		{deletion: "Orphan", policies: "Observe Create Update Delete", want: stays},
		{deletion: "Orphan", policies: "Observe Create Delete", want: allowed{creates: true}},
		{deletion: "Orphan", policies: "Observe Delete"},
		{deletion: "Orphan", policies: "Observe Update", want: allowed{updates: true}},
	}
}

// create creates an Object as a user writes it who sets the policies: through JSON, where an empty list differs from
// none, and with no other field of ours, as our types always have spec.readiness.
func (p policyCase) create(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	gvk, err := c.GroupVersionKindFor(o)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	spec := content["spec"].(map[string]any)
	delete(spec, "readiness")
	delete(content, "status")
	if p.policies != "" {
		spec["managementPolicies"] = strings.Fields(p.policies)
	}
	for field, value := range map[string]string{"managementPolicy": p.word, "deletionPolicy": p.deletion} {
		if value != "" {
			spec[field] = value
		}
	}
	kube.Create(t, c, u)
}

// TestPolicies shows for each combination of policies, in a world where the resource is missing and in one where others
// have made it, what an Object does to its target.
func TestPolicies(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		cases := runtimePolicies()
		if w.scope.Name == build.Cluster().Name {
			cases = append(cases, clusterPolicies()...)
		}
		for _, p := range cases {
			t.Run(p.deletion+p.word+strings.ReplaceAll(p.policies, " ", ""), func(t *testing.T) {
				t.Run("Missing", func(t *testing.T) { w.meetsMissing(t, p) })
				t.Run("Existing", func(t *testing.T) { w.meetsExisting(t, p) })
			})
		}
	})
}

// data returns what an Object writes of a resource that others make.
func (a allowed) data() []string {
	if a.updates {
		return []string{"ours", "yes"}
	}
	return nil
}

// meetsMissing shows what an Object does about a resource that does not exist: if it may not make it, it is not ready
// as long as there is none, begins as soon as others make it, and can go when it has gone again.
func (w world) meetsMissing(t *testing.T, p policyCase) {
	t.Helper()
	n, cm := slug(t), w.kept(slug(t))
	o := w.scope.Object(w.namespace, n, w.config, build.ConfigMap(w.target, n, "ours", "yes"))
	p.create(t, w.c, o)
	if !p.want.creates {
		// provider-kubernetes creates what is missing though it may only change, and calls a missing resource synced.
		awaitCondition(t, w.c, o, missing)
		awaitCondition(t, w.c, o, unavailable)
		w.exists(t, cm, false)
		kube.Create(t, w.tc, cm)
		awaitReady(t, w.c, o)
		w.awaitData(t, n, p.want.data()...)
		kube.Delete(t, w.tc, cm)
		awaitCondition(t, w.c, o, missing)
		awaitCondition(t, w.c, o, unavailable)
		w.exists(t, cm, false)
		kube.Remove(t, w.c, o)
		return
	}
	awaitReady(t, w.c, o)
	w.awaitData(t, n, "ours", "yes")
	kube.Remove(t, w.c, o)
	w.exists(t, cm, !p.want.deletes)
}

// meetsExisting shows what an Object does about a resource that others have made.
func (w world) meetsExisting(t *testing.T, p policyCase) {
	t.Helper()
	n, cm := slug(t), w.kept(slug(t))
	cm.Data = map[string]string{"theirs": "yes"}
	kube.Create(t, w.tc, cm)
	before := cm.DeepCopy()
	o := w.scope.Object(w.namespace, n, w.config, build.ConfigMap(w.target, n, "ours", "yes"))
	p.create(t, w.c, o)
	awaitReady(t, w.c, o)
	if o.GetGeneration() != 1 {
		t.Errorf("generation of an Object that only the provider has written: want 1, got %d", o.GetGeneration())
	}
	w.exists(t, cm, true)
	want := map[string]string{"theirs": "yes"}
	if p.want.updates {
		want["ours"] = "yes"
	}
	if diff := cmp.Diff(want, cm.Data); diff != "" {
		t.Errorf("data: -want, +got:\n%s", diff)
	}
	during := cm.DeepCopy()
	kube.Remove(t, w.c, o)
	w.exists(t, cm, !p.want.deletes)
	switch {
	case p.want.withdraws:
		// A defect of provider-kubernetes: fields of a partial Object stay behind.
		before.ResourceVersion = cm.ResourceVersion
		if diff := cmp.Diff(before, cm); diff != "" {
			t.Errorf("the resource must be as it was before the Object: -want, +got:\n%s", diff)
		}
	case !p.want.deletes:
		for _, cm := range []*corev1.ConfigMap{during, cm} { // It may have given up fields.
			cm.ResourceVersion, cm.ManagedFields = "", nil
		}
		if diff := cmp.Diff(during, cm); diff != "" {
			t.Errorf("a resource that is left must stay as it is: -want, +got:\n%s", diff)
		}
	}
}

// exists checks whether a resource is on the target, and reads it.
func (w world) exists(t *testing.T, o client.Object, want bool) {
	t.Helper()
	err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if got := err == nil; got != want {
		t.Errorf("%s exists on the target: want %t, got %t", o.GetName(), want, got)
	}
}

// TestNoPoliciesPause shows that an empty list of policies stops everything, deletion included, until there are some.
func TestNoPoliciesPause(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		o := w.object(build.ConfigMap(w.target, "settings"))
		policyCase{policies: " "}.create(t, w.c, o)
		paused := wantCondition{
			Type: xpv2.TypeSynced, Status: corev1.ConditionFalse, Reason: xpv2.ReasonReconcilePaused,
		}
		awaitCondition(t, w.c, o, paused)
		w.exists(t, emptySettings(w.target), false)

		patch := `{"spec":{"managementPolicies":["*"]}}`
		kube.Patch(t, w.c, o, patch)
		awaitReady(t, w.c, o)
		kube.Patch(t, w.c, o, `{"spec":{"managementPolicies":[]}}`)
		awaitCondition(t, w.c, o, paused)
		kube.Delete(t, w.c, o)
		staysThere(t, w.c, o, o)
		w.exists(t, emptySettings(w.target), true)
		kube.Patch(t, w.c, o, patch)
		kube.AwaitGone(t, w.c, o)
		w.exists(t, emptySettings(w.target), false)
	})
}

// slug returns a name for the resources of a test.
func slug(t *testing.T) string {
	t.Helper()
	return strings.NewReplacer("/", "-", "_", "-", "#", "-", "*", "any").Replace(strings.ToLower(t.Name()))
}

// rights lets a user do some things with the ConfigMaps of all namespaces, until the test ends.
func rights(t *testing.T, tc client.Client, who string, verbs ...string) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: build.Meta("", who), Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs,
	}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: build.Meta("", who),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: who},
		Subjects:   []rbacv1.Subject{build.User(who)},
	}
	kube.Create(t, tc, role, binding)
}

// TestRightsSuffice shows that a user of the target needs no more rights than the policies of the Object do. Nothing is
// even tried that they do not allow, but to read who the target is.
func TestRightsSuffice(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	for name, test := range map[string]struct {
		policies xpv2.ManagementPolicies
		verbs    []string // beside get, list and watch
	}{
		"Observe":       {policies: observeOnly, verbs: nil},
		"ObserveDelete": {policies: observeDelete, verbs: []string{"delete"}},
		"ObserveUpdate": {policies: observeUpdate, verbs: []string{"patch"}},
		"ObserveCreate": {policies: xpv2.ManagementPolicies{"Observe", "Create"}, verbs: []string{"create"}},
	} {
		t.Run(name, func(t *testing.T) {
			forScopes(t, func(t *testing.T, s build.Scope) {
				w := newWorldAs(t, c, s)
				rights(t, tc, w.user, slices.Concat(looking, test.verbs)...)
				if name != "ObserveCreate" {
					kube.Create(t, tc, emptySettings(w.target))
				}
				mark := target.Audit(t).Mark()
				manifest := build.ConfigMap(w.target, "settings", "ours", "yes")
				if name == "Observe" || name == "ObserveDelete" {
					delete(manifest, "data") // A full manifest would be a preview, which tries a dry run.
				}
				o := w.object(manifest)
				o.SetManagementPolicies(test.policies)
				createReady(t, c, o)
				kube.Remove(t, c, o)
				for _, e := range target.Audit(t).Since(mark).By(w.user) {
					if e.Code == 403 && e.Name != metav1.NamespaceSystem {
						t.Errorf("want no request that is denied, got %s %s", e.Verb, e.Subject())
					}
					if slices.Contains([]string{"create", "update", "patch", "delete"}, e.Verb) &&
						!slices.Contains(test.verbs, e.Verb) {
						t.Errorf("want no such request under these policies, got %s %s", e.Verb, e.Subject())
					}
				}
			})
		})
	}
}

// awaitEvent waits until there is an event about an Object for a reason, and returns its message.
func awaitEvent(t *testing.T, c client.Client, o build.Object, reason string) string {
	t.Helper()
	var told []string
	kube.Eventually(t, "an event "+reason+" of "+o.GetName(), func() (bool, string) {
		told = eventsFor(t, c, o, reason)
		return len(told) > 0, strings.Join(events(t, c, o, ""), "\n")
	})
	return told[0]
}

// eventsFor returns the messages of the events about an Object for a reason.
func eventsFor(t *testing.T, c client.Client, o build.Object, reason string) []string {
	t.Helper()
	return chosenEvents(t, c, o, func(e corev1.Event) bool { return e.Reason == reason })
}
