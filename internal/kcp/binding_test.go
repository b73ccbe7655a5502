package kcp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

// bindingOf returns an APIBinding in a logical cluster, which has bound the resources and accepted the claims that are
// given.
func bindingOf(cluster, path string, bound, claims []any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"permissionClaims": claims}, "status": map[string]any{"boundResources": bound},
	}}
	u.SetName("shop")
	u.SetAnnotations(map[string]string{kcp.AnnotationCluster: cluster, kcp.AnnotationPath: path})
	return u
}

func boundBy(schemaName string) map[string]any {
	return map[string]any{
		"group": group, "resource": "hats",
		"schema": map[string]any{"name": schemaName, "UID": "1", "identityHash": "2"},
	}
}

func decided(state, resource string, verbs ...any) map[string]any {
	return map[string]any{
		"resource": resource, "verbs": verbs, "state": state, "selector": map[string]any{"matchAll": true},
	}
}

// applied has kcp say of an APIBinding that a claim to events is applied, for all of them or for some.
func applied(u *unstructured.Unstructured, all bool) *unstructured.Unstructured {
	u.Object["status"] = map[string]any{"appliedPermissionClaims": []any{map[string]any{
		"resource": "events", "verbs": []any{"*"}, "selector": map[string]any{"matchAll": all},
	}}}
	return u
}

func TestConsumersOf(t *testing.T) {
	hats := schema.GroupResource{Group: group, Resource: "hats"}
	all := kcp.Claim{GroupResource: schema.GroupResource{Resource: "events"}, Verbs: []string{"*"}}
	some := kcp.Claim{GroupResource: schema.GroupResource{Resource: "events"}, Verbs: []string{"get", "list"}}
	foreign := all
	foreign.IdentityHash = "abc"
	conflict := bindingOf("c1", "root:a", nil, nil)
	conflict.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "APIExportValid", "status": "True"},
		map[string]any{
			"type": "BindingUpToDate", "status": "False", "reason": "NamingConflicts", "message": "naming conflict",
		},
	}}
	bound := []any{boundBy("v1")}
	for name, tc := range map[string]struct {
		reason   string
		bindings []*unstructured.Unstructured
		claims   []kcp.Claim
		want     []kcp.Consumer
	}{
		"None": {reason: "Without bindings there are no consumers."},
		"Bound": {
			reason: "Consumers are sorted by their paths, and known by their logical clusters if these are not there.",
			bindings: []*unstructured.Unstructured{
				bindingOf("c2", "root:b", bound, nil), bindingOf("c3", "", bound, nil), bindingOf("c1", "root:a", nil, nil),
			},
			want: []kcp.Consumer{
				{Cluster: "c3", Bound: true}, {Cluster: "c1", Path: "root:a"}, {Cluster: "c2", Path: "root:b", Bound: true},
			},
		},
		"Twice": {
			reason: "A workspace that binds twice is one consumer, and what it can use counts.",
			bindings: []*unstructured.Unstructured{
				bindingOf("c1", "root:a", nil, nil), bindingOf("c1", "root:a", bound, nil), bindingOf("c1", "root:a", nil, nil),
			},
			want: []kcp.Consumer{{Cluster: "c1", Path: "root:a", Bound: true}},
		},
		"Conflict": {
			reason:   "Why a consumer cannot use a resource is what kcp says.",
			bindings: []*unstructured.Unstructured{conflict},
			want:     []kcp.Consumer{{Cluster: "c1", Path: "root:a", Problem: "naming conflict"}},
		},
		"Accepted": {
			reason: "A claim is accepted with all its verbs, or with any.",
			claims: []kcp.Claim{some},
			bindings: []*unstructured.Unstructured{
				bindingOf("c1", "root:a", bound, []any{decided("Accepted", "events", "list", "get")}),
				bindingOf("c2", "root:b", bound, []any{decided("Accepted", "events", "*")}),
			},
			want: []kcp.Consumer{
				{Cluster: "c1", Path: "root:a", Bound: true, Accepted: []kcp.Claim{some}},
				{Cluster: "c2", Path: "root:b", Bound: true, Accepted: []kcp.Claim{some}},
			},
		},
		"Open": {
			reason: "A claim that is rejected, accepted with less, or of another identity is not accepted: " +
				"kcp compares verbs literally.",
			claims: []kcp.Claim{all, foreign},
			bindings: []*unstructured.Unstructured{
				bindingOf("c1", "root:a", bound, []any{decided("Rejected", "events", "*")}),
				bindingOf("c2", "root:b", bound, []any{decided("Accepted", "events", "get", "list")}),
				bindingOf("c3", "root:c", bound, []any{decided("Accepted", "events", "*")}),
			},
			want: []kcp.Consumer{
				{Cluster: "c1", Path: "root:a", Bound: true, Open: []kcp.Claim{all, foreign}},
				{Cluster: "c2", Path: "root:b", Bound: true, Open: []kcp.Claim{all, foreign}},
				{Cluster: "c3", Path: "root:c", Bound: true, Accepted: []kcp.Claim{all}, Open: []kcp.Claim{foreign}},
			},
		},
		"Whole": {
			reason: "All objects are shown if the claim is accepted for all, and kcp says that this is applied.",
			bindings: []*unstructured.Unstructured{
				applied(bindingOf("c1", "root:a", nil, []any{decided("Accepted", "events", "*")}), true),
				applied(bindingOf("c2", "root:b", nil, []any{decided("Accepted", "events", "*")}), false),
				applied(bindingOf("c3", "root:c", nil, []any{decided("Rejected", "events", "*")}), true),
				bindingOf("c4", "root:d", nil, []any{decided("Accepted", "events", "*")}),
			},
			want: []kcp.Consumer{
				{Cluster: "c1", Path: "root:a", Whole: []schema.GroupResource{{Resource: "events"}}},
				{Cluster: "c2", Path: "root:b"},
				{Cluster: "c3", Path: "root:c"},
				{Cluster: "c4", Path: "root:d"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := kcp.ConsumersOf(tc.bindings, hats, tc.claims)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nConsumersOf: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStorageVersions shows in which versions workspaces store a resource, and that one that does not say is noticed.
func TestStorageVersions(t *testing.T) {
	stores := func(resource string, versions ...any) *unstructured.Unstructured {
		return bindingOf("c", "root:c", []any{
			map[string]any{"group": group, "resource": resource, "storageVersions": versions},
		}, nil)
	}
	for name, tc := range map[string]struct {
		reason   string
		bindings []*unstructured.Unstructured
		want     []string
		known    bool
	}{
		"Nobody": {reason: "Nobody stores anything.", known: true},
		"Another": {
			reason: "Others count for nothing.", bindings: []*unstructured.Unstructured{stores("coats", "v1")}, known: true,
		},
		"Several": {
			reason:   "All versions that any workspace has count.",
			bindings: []*unstructured.Unstructured{stores("hats", "v2", "v1"), stores("hats", "v1")},
			want:     []string{"v1", "v2"}, known: true,
		},
		"Silent": {
			reason:   "A workspace that has bound it and does not say may store it in any.",
			bindings: []*unstructured.Unstructured{stores("hats", "v1"), stores("hats")}, want: []string{"v1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, known := kcp.StorageVersions(tc.bindings, schema.GroupResource{Group: group, Resource: "hats"})
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" || known != tc.known {
				t.Errorf("%s Known %t, -want, +got:\n%s", tc.reason, known, diff)
			}
		})
	}
}
