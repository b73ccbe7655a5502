package object_test

import (
	"maps"
	"slices"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
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
	policies []any  // managementPolicies, left to their default if nil
	word     string // managementPolicy
	deletion string // deletionPolicy
	want     allowed
}

// runtimePolicies are all combinations that crossplane-runtime supports but the empty one.
func runtimePolicies() map[string]policyCase {
	all := allowed{creates: true, updates: true, deletes: true}
	return map[string]policyCase{
		"Unset": {want: all},
		"All":   {policies: []any{"*"}, want: all},
		"EachNamed": {
			policies: []any{"Observe", "Create", "Update", "Delete", "LateInitialize"},
			want:     all,
		},
		"NoLateInitialize": {policies: []any{"Observe", "Create", "Update", "Delete"}, want: all},
		"NoDelete": {
			policies: []any{"Observe", "Create", "Update", "LateInitialize"},
			want:     allowed{creates: true, updates: true},
		},
		"NoDeleteNorLateInitialize": {
			policies: []any{"Observe", "Create", "Update"},
			want:     allowed{creates: true, updates: true},
		},
		"NoUpdate": {
			policies: []any{"Observe", "Create", "Delete", "LateInitialize"},
			want:     allowed{creates: true, deletes: true},
		},
		"NoUpdateNorLateInitialize": {
			policies: []any{"Observe", "Create", "Delete"},
			want:     allowed{creates: true, deletes: true},
		},
		"CreateLateInitialize": {
			policies: []any{"Observe", "Create", "LateInitialize"},
			want:     allowed{creates: true},
		},
		"Create": {policies: []any{"Observe", "Create"}, want: allowed{creates: true}},
		"Delete": {policies: []any{"Observe", "Delete"}, want: allowed{deletes: true}},
		"Update": {
			policies: []any{"Observe", "Update"},
			want:     allowed{updates: true, withdraws: true},
		},
		"UpdateLateInitialize": {
			policies: []any{"Observe", "Update", "LateInitialize"},
			want:     allowed{updates: true, withdraws: true},
		},
		"LateInitialize": {policies: []any{"Observe", "LateInitialize"}},
		"Observe":        {policies: []any{"Observe"}},
	}
}

// clusterPolicies are what the cluster scope has beside that: one word for policies, and a deletionPolicy.
func clusterPolicies() map[string]policyCase {
	all := allowed{creates: true, updates: true, deletes: true}
	stays := allowed{creates: true, updates: true}
	return map[string]policyCase{
		"DeleteDefault":             {deletion: "Delete", word: "Default", want: all},
		"DeleteObserveCreateUpdate": {deletion: "Delete", word: "ObserveCreateUpdate", want: stays},
		"DeleteObserveDelete":       {deletion: "Delete", word: "ObserveDelete", want: allowed{deletes: true}},
		"DeleteObserve":             {deletion: "Delete", word: "Observe"},
		"OrphanDefault":             {deletion: "Orphan", word: "Default", want: stays},
		"OrphanObserveCreateUpdate": {deletion: "Orphan", word: "ObserveCreateUpdate", want: stays},
		"OrphanObserveDelete":       {deletion: "Orphan", word: "ObserveDelete"},
		"OrphanObserve":             {deletion: "Orphan", word: "Observe"},
		"OrphanAll":                 {deletion: "Orphan", policies: []any{"*"}, want: stays},
		"OrphanEachNamed": {
			deletion: "Orphan",
			policies: []any{"Observe", "Create", "Update", "Delete", "LateInitialize"},
			want:     stays,
		},
		"OrphanObserveCreateUpdateDelete": {
			deletion: "Orphan",
			policies: []any{"Observe", "Create", "Update", "Delete"},
			want:     stays,
		},
		"OrphanObserveCreateDelete": {
			deletion: "Orphan",
			policies: []any{"Observe", "Create", "Delete"},
			want:     allowed{creates: true},
		},
		"OrphanObserveAndDelete": {deletion: "Orphan", policies: []any{"Observe", "Delete"}},
		"OrphanObserveUpdate": {
			deletion: "Orphan",
			policies: []any{"Observe", "Update"},
			want:     allowed{updates: true},
		},
	}
}

// create creates an Object with the policies, through JSON, where an empty list differs from none.
func (p policyCase) create(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	u := asWritten(t, c, o)
	spec := u.Object["spec"].(map[string]any)
	for field, value := range map[string]any{
		"managementPolicies": p.policies, "managementPolicy": p.word, "deletionPolicy": p.deletion,
	} {
		if list, ok := value.([]any); ok && list == nil || value == "" {
			continue
		}
		spec[field] = value
	}
	kube.Create(t, c, u)
}

// TestPolicies shows for each combination of policies, in a world where the resource is missing and in one where others
// have made it, what an Object does to its target.
func TestPolicies(t *testing.T) {
	c := provide(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		cases := runtimePolicies()
		if s.Name == build.Cluster().Name {
			maps.Copy(cases, clusterPolicies())
		}
		tns := target.Namespace(t)
		ns, pc := connect(t, c, s, targetUser(t))
		for name, p := range cases {
			t.Run(name, func(t *testing.T) {
				w := world{c: c, tc: target.Client(t), scope: s, namespace: ns, config: pc, target: tns}
				t.Run("Missing", func(t *testing.T) { w.meetsMissing(t, p) })
				t.Run("Existing", func(t *testing.T) { w.meetsExisting(t, p) })
			})
		}
	})
}

// meetsMissing shows what an Object does about a resource that does not exist.
func (w world) meetsMissing(t *testing.T, p policyCase) {
	t.Helper()
	n := slug(t)
	key := types.NamespacedName{Namespace: w.target, Name: n}
	o := w.scope.Object(w.namespace, n, w.config, build.ConfigMap(key.Namespace, key.Name, "ours", "yes"))
	p.create(t, w.c, o)
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(key.Namespace, key.Name)}
	if !p.want.creates {
		// provider-kubernetes creates what is missing though it may only change, and calls a missing resource synced.
		awaitCondition(t, w.c, o, missing)
		awaitCondition(t, w.c, o, wantCondition{
			Type: xpv2.TypeReady, Status: corev1.ConditionFalse, Reason: xpv2.ReasonUnavailable,
		})
		w.exists(t, cm, false)
		kube.Remove(t, w.c, o)
		return
	}
	awaitReady(t, w.c, o)
	awaitData(t, w.tc, key, map[string]string{"ours": "yes"})
	kube.Remove(t, w.c, o)
	w.exists(t, cm, !p.want.deletes)
}

// meetsExisting shows what an Object does about a resource that others have made.
func (w world) meetsExisting(t *testing.T, p policyCase) {
	t.Helper()
	n := slug(t)
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(w.target, n), Data: map[string]string{"theirs": "yes"}}
	kube.Create(t, w.tc, cm)
	before := cm.DeepCopy()
	o := w.scope.Object(w.namespace, n, w.config, build.ConfigMap(w.target, n, "ours", "yes"))
	p.create(t, w.c, o)
	awaitReady(t, w.c, o)
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
		policyCase{policies: []any{}}.create(t, w.c, o)
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
		holds(t, w.c, "a paused Object stays", func() (bool, string) {
			err := w.c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
			return err == nil, message(err)
		}, o)
		w.exists(t, emptySettings(w.target), true)
		kube.Patch(t, w.c, o, patch)
		kube.AwaitGone(t, w.c, o)
		w.exists(t, emptySettings(w.target), false)
	})
}

// slug returns a name for the resources of a test.
func slug(t *testing.T) string {
	name := []byte(t.Name())
	for i, b := range name {
		if b >= 'A' && b <= 'Z' {
			name[i] = b - 'A' + 'a'
		}
		if b == '/' || b == '_' || b == '#' {
			name[i] = '-'
		}
	}
	return string(name)
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
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: who}},
	}
	kube.Create(t, tc, role, binding)
}

// TestRightsSuffice shows that a user of the target needs no more rights than the policies of the Object do. Nothing is
// even tried that they do not allow.
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
				tns := target.Namespace(t)
				who := tns + "-limited"
				rights(t, tc, who, append([]string{"get", "list", "watch"}, test.verbs...)...)
				ns, pc := connect(t, c, s, target.User(t, who))
				cm := emptySettings(tns)
				if !slices.Contains(test.verbs, "create") {
					kube.Create(t, tc, cm)
				}
				mark := target.Audit(t).Mark()
				manifest := build.ConfigMap(tns, "settings", "ours", "yes")
				if !slices.Contains(test.verbs, "create") && !slices.Contains(test.verbs, "patch") {
					delete(manifest, "data") // A full manifest would be a preview, which tries a dry run.
				}
				o := s.Object(ns, tns, pc, manifest)
				o.SetManagementPolicies(test.policies)
				createReady(t, c, o)
				kube.Remove(t, c, o)
				for _, e := range target.Audit(t).Since(mark).By(who) {
					if e.Code == 403 {
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
