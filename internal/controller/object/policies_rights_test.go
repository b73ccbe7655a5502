package object_test

import (
	"slices"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
				kube.Create(t, c, o)
				awaitReady(t, c, o)
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
