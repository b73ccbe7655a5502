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
	type args struct {
		base   *unstructured.Unstructured
		change kcp.Change
	}
	claims := func(identity string) []kcp.Claim {
		return []kcp.Claim{{GroupResource: boats, IdentityHash: identity, Verbs: []string{"*"}}}
	}
	type want struct {
		changed bool
		claims  []kcp.Claim
		err     error
	}
	cases := map[string]struct {
		reason string
		args   args
		want   want
	}{
		"Nothing": {
			reason: "What changes nothing needs not be written.",
			args:   args{base: exportOf("", map[string]any{}), change: func(*kcp.Draft) error { return nil }},
		},
		"New": {
			reason: "An APIExport that does not exist is written whatever it holds.",
			args:   args{change: func(*kcp.Draft) error { return nil }},
			want:   want{changed: true},
		},
		"Virtual": {
			reason: "A resource of virtual storage is not ours to replace.",
			args: args{
				base: exportOf("", map[string]any{"resources": []any{map[string]any{
					"group": group, "name": "hats", "schema": "v1.hats." + group,
					"storage": map[string]any{"virtual": map[string]any{}},
				}}}),
				change: func(d *kcp.Draft) error { return d.SetSchema(hats, "v2.hats."+group) },
			},
			want: want{err: cmpopts.AnyError},
		},
		"IdentityOfStranger": {
			reason: "An APIExport claims a resource with one identity, and a stranger's is not changed.",
			args:   args{base: exportOf("", claimed), change: claim(false)},
			want:   want{claims: claims("old"), err: cmpopts.AnyError},
		},
		"IdentityKept": {
			reason: "Nor is one that another of us needs.",
			args:   args{base: exportOf(boats.String(), claimed), change: claim(true)},
			want:   want{claims: claims("old"), err: cmpopts.AnyError},
		},
		"IdentityOurs": {
			reason: "A claim that was added here follows the identity, and stays the only one to its resource.",
			args:   args{base: exportOf(boats.String(), claimed), change: claim(false)},
			want:   want{changed: true, claims: claims("new")},
		},
		"ForeignClaim": {
			reason: "A claim of a stranger is not taken back.",
			args:   args{base: exportOf("", claimed), change: func(d *kcp.Draft) error { return d.RemoveClaim(boats) }},
			want:   want{claims: claims("old")},
		},
		"Sorted": {
			reason: "Claims are written as api-syncagent writes them: sorted by group and resource.",
			args: args{base: exportOf("", claimed), change: func(d *kcp.Draft) error {
				for _, r := range []string{"secrets", "events"} {
					c := kcp.Claim{GroupResource: schema.GroupResource{Resource: r}, Verbs: []string{"*"}}
					if err := d.AddClaim(c, nil); err != nil {
						return err
					}
				}
				return nil
			}},
			want: want{changed: true, claims: []kcp.Claim{
				events(), {GroupResource: schema.GroupResource{Resource: "secrets"}, Verbs: []string{"*"}}, claims("old")[0],
			}},
		},
		"Policy": {
			reason: "A policy that is there is left.",
			args: args{
				base:   exportOf("", map[string]any{"maximalPermissionPolicy": map[string]any{"local": map[string]any{}}}),
				change: func(d *kcp.Draft) error { return d.SetLocalPolicy() },
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := kcp.NewDraft("shop", tc.args.base)
			err := tc.args.change(d)
			if diff := cmp.Diff(tc.want.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nChange: -want error, +got error:\n%s", tc.reason, diff)
			}
			if got := d.Changed(); got != tc.want.changed {
				t.Errorf("%s\nChanged: want %t, got %t", tc.reason, tc.want.changed, got)
			}
			if diff := cmp.Diff(tc.want.claims, d.Claims()); diff != "" {
				t.Errorf("%s\nClaims: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestResourceOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		name   string
		want   schema.GroupResource
		ok     bool
	}{
		"Grouped": {
			reason: "A group may have dots.",
			name:   "v1.hats.shop.example.com",
			want:   schema.GroupResource{Group: "shop.example.com", Resource: "hats"},
			ok:     true,
		},
		"Core": {
			reason: "The core group has a name of its own.",
			name:   "v1.pods.core",
			want:   schema.GroupResource{Resource: "pods"},
			ok:     true,
		},
		"Short": {reason: "Without three parts it is no name of a schema.", name: "v1.hats"},
		"Empty": {reason: "Nothing is published yet.", name: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := kcp.ResourceOf(tc.name)
			if diff := cmp.Diff(tc.want, got); diff != "" || ok != tc.ok {
				t.Errorf("%s\nResourceOf: ok %t, -want, +got:\n%s", tc.reason, ok, diff)
			}
		})
	}
}
