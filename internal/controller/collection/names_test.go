package collection

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// id returns a ConfigMap.
func id(name string) resourceID {
	return resourceID{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		NamespacedName:   types.NamespacedName{Namespace: "default", Name: name},
	}
}

// colliding returns two ConfigMaps whose best names are equal.
func colliding(t *testing.T) (a, b resourceID) {
	t.Helper()
	seen := map[string]resourceID{}
	for i := range 1 << 20 {
		r := id(fmt.Sprintf("cm-%07d", i))
		name := r.names("c")[0]
		if other, ok := seen[name]; ok {
			return other, r
		}
		seen[name] = r
	}
	t.Fatal("no two of a million names have hashes that begin alike")
	return a, b
}

func TestNames(t *testing.T) {
	group := id("configmap-foo")
	group.Group, group.Version, group.Kind = "apps", "v1", "Deployment"
	bare := id("configmap-foo")
	bare.Namespace = ""
	for name, tc := range map[string]struct {
		reason string
		id     resourceID
		want   string
	}{
		"Example": {
			reason: "The name is that which provider-kubernetes gives.",
			id:     id("configmap-foo"),
			want:   "foo-collection-f878ca0",
		},
		// printf 'apps/v1, Kind=Deployment/default/configmap-foo' | sha256sum
		"Group": {reason: "The group is part of the text.", id: group, want: "foo-collection-c663c42"},
		// printf '/v1, Kind=ConfigMap//configmap-foo' | sha256sum
		"NoNamespace": {
			reason: "A missing namespace is an empty part of the text.",
			id:     bare,
			want:   "foo-collection-f018291",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.id.names("foo-collection")
			if diff := cmp.Diff(tc.want, got[0]); diff != "" {
				t.Errorf("%s\nnames()[0]: -want, +got:\n%s", tc.reason, diff)
			}
			for i, longer := range got[1:] {
				if !strings.HasPrefix(longer, got[i]) || len(longer) <= len(got[i]) {
					t.Errorf("each name continues the one before: got %q after %q", longer, got[i])
				}
			}
			if most := tc.id.names(strings.Repeat("c", 63)); len(most[len(most)-1]) > 253 {
				t.Errorf("a name is at most 253 long, got %d", len(most[len(most)-1]))
			}
		})
	}
}

func TestCollectionOf(t *testing.T) {
	for name, want := range map[string]string{
		"foo-collection-f878ca0": "foo-collection",
		"a-b-0123456":            "a-b",
		id("x").names("long")[1]: "long",
		id("x").names("long")[3]: "long",
		"foo-f878ca":             "",
		"foo-f878caz":            "",
		"-f878ca0":               "",
		"plain":                  "",
	} {
		if got, _ := collectionOf(name); got != want {
			t.Errorf("collectionOf(%q): want %q, got %q", name, want, got)
		}
	}
}

// TestAssign shows what becomes of names. A defect of provider-kubernetes: two resources whose hashes begin alike took
// turns on one member.
func TestAssign(t *testing.T) {
	a, b := colliding(t)
	short, longA, longB := a.names("c")[0], a.names("c")[1], b.names("c")[1]
	stands := func(name string, r resourceID) member { return member{name: name, resource: r} }
	for name, tc := range map[string]struct {
		reason   string
		selected []resourceID
		held     []member
		want     map[string]resourceID
	}{
		"Alone": {
			reason:   "A resource alone has the best name.",
			selected: []resourceID{b},
			want:     map[string]resourceID{short: b},
		},
		"AtOnce": {
			reason:   "Of two whose hashes begin alike the first has the better name.",
			selected: []resourceID{a, b},
			want:     map[string]resourceID{short: a, longB: b},
		},
		"Later": {
			reason:   "If the other was there before, it keeps the better name.",
			selected: []resourceID{a, b},
			held:     []member{stands(short, b)},
			want:     map[string]resourceID{short: b, longA: a},
		},
		"Back": {
			reason:   "One that goes and comes back gets what is free.",
			selected: []resourceID{a, b},
			held:     []member{stands(longA, a)},
			want:     map[string]resourceID{longA: a, short: b},
		},
		"NameOfOneThatGoes": {
			reason:   "The name of a member whose resource is no longer selected is not reused while the member is there.",
			selected: []resourceID{a},
			held:     []member{stands(short, b)},
			want:     map[string]resourceID{longA: a},
		},
		"ChangedManifest": {
			reason:   "A member whose manifest somebody has turned to another resource is given its own back.",
			selected: []resourceID{a},
			held:     []member{stands(short, id("elsewhere"))},
			want:     map[string]resourceID{short: a},
		},
		"TwoForOne": {
			reason:   "Of two members for one resource the one with the shorter name counts.",
			selected: []resourceID{a},
			held:     []member{stands(short, a), stands(longA, a)},
			want:     map[string]resourceID{short: a},
		},
	} {
		t.Run(name, func(t *testing.T) {
			held := map[string]member{}
			for _, m := range tc.held {
				held[m.name] = m
			}
			if diff := cmp.Diff(tc.want, assign("c", tc.selected, held)); diff != "" {
				t.Errorf("%s\nassign: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
