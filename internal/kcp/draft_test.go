package kcp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

// exportOf returns an APIExport with fields of its spec, and the list of claims that were added.
func exportOf(added string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetName("shop")
	if added != "" {
		u.SetAnnotations(map[string]string{kcp.AnnotationAddedClaims: added})
	}
	return u
}

func TestChange(t *testing.T) {
	hats := schema.GroupResource{Group: group, Resource: "hats"}
	boats := schema.GroupResource{Group: "other.example.com", Resource: "boats"}
	claimed := map[string]any{"permissionClaims": []any{
		map[string]any{"group": boats.Group, "resource": boats.Resource, "identityHash": "old", "verbs": []any{"*"}},
	}}
	claim := func(kept bool) kcp.Change {
		return func(d *kcp.Draft) error {
			return d.AddClaim(kcp.Claim{GroupResource: boats, IdentityHash: "new", Verbs: []string{"*"}},
				func(kcp.Claim) bool { return kept })
		}
	}
	claims := func(identity string) []kcp.Claim {
		return []kcp.Claim{{GroupResource: boats, IdentityHash: identity, Verbs: []string{"*"}}}
	}
	nothing := func(*kcp.Draft) error { return nil }
	for name, tc := range map[string]struct {
		reason  string
		base    *unstructured.Unstructured
		change  kcp.Change
		changed bool
		claims  []kcp.Claim
		err     error
	}{
		"Nothing": {
			reason: "What changes nothing needs not be written.", base: exportOf("", map[string]any{}), change: nothing,
		},
		"New": {
			reason: "An APIExport that does not exist is written whatever it holds.", change: nothing, changed: true,
		},
		"Virtual": {
			reason: "A resource of virtual storage is not ours to replace.",
			base: exportOf("", map[string]any{"resources": []any{map[string]any{
				"group": group, "name": "hats", "schema": "v1.hats." + group,
				"storage": map[string]any{"virtual": map[string]any{}},
			}}}),
			change: func(d *kcp.Draft) error { return d.SetSchema(hats, "v2.hats."+group) }, err: cmpopts.AnyError,
		},
		"IdentityOfStranger": {
			reason: "An APIExport claims a resource with one identity, and a stranger's is not changed.",
			base:   exportOf("", claimed), change: claim(false), claims: claims("old"), err: cmpopts.AnyError,
		},
		"IdentityKept": {
			reason: "Nor is one that another of us needs.",
			base:   exportOf(boats.String(), claimed), change: claim(true), claims: claims("old"), err: cmpopts.AnyError,
		},
		"IdentityOurs": {
			reason: "A claim that was added here follows the identity, and stays the only one to its resource.",
			base:   exportOf(boats.String(), claimed), change: claim(false), changed: true, claims: claims("new"),
		},
		"ForeignClaim": {
			reason: "A claim of a stranger is not taken back.",
			base:   exportOf("", claimed), claims: claims("old"),
			change: func(d *kcp.Draft) error { d.RemoveClaim(boats); return nil },
		},
		"Sorted": {
			reason: "Claims are written as api-syncagent writes them: sorted by group and resource.",
			base:   exportOf("", claimed),
			change: func(d *kcp.Draft) error {
				for _, r := range []string{"secrets", "events"} {
					c := kcp.Claim{GroupResource: schema.GroupResource{Resource: r}, Verbs: []string{"*"}}
					if err := d.AddClaim(c, nil); err != nil {
						return err
					}
				}
				return nil
			},
			changed: true,
			claims: []kcp.Claim{
				events(), {GroupResource: schema.GroupResource{Resource: "secrets"}, Verbs: []string{"*"}}, claims("old")[0],
			},
		},
		"Policy": {
			reason: "A policy that is there is left.",
			base:   exportOf("", map[string]any{"maximalPermissionPolicy": map[string]any{"local": map[string]any{}}}),
			change: func(d *kcp.Draft) error { d.SetLocalPolicy(); return nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := kcp.NewDraft("shop", tc.base)
			if err := tc.change(d); !cmp.Equal(tc.err, err, cmpopts.EquateErrors()) {
				t.Errorf("%s\nChange: want error %v, got %v", tc.reason, tc.err, err)
			}
			if got := d.Changed(); got != tc.changed {
				t.Errorf("%s\nChanged: want %t, got %t", tc.reason, tc.changed, got)
			}
			if diff := cmp.Diff(tc.claims, d.Claims()); diff != "" {
				t.Errorf("%s\nClaims: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestResourceOf shows of which resource a schema is, by its name of three parts.
func TestResourceOf(t *testing.T) {
	for name, want := range map[string]schema.GroupResource{
		"v1.hats.shop.example.com": {Group: "shop.example.com", Resource: "hats"},
		"v1.pods.core":             {Resource: "pods"},
		"v1.hats":                  {},
		"":                         {}, // Nothing is published yet.
	} {
		if got, ok := kcp.ResourceOf(name); got != want || ok != (want.Resource != "") {
			t.Errorf("%q: want %v, got %v, %t", name, want, got, ok)
		}
	}
}
