package collection

import (
	"fmt"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// TestPlanFor shows which members are applied, as they differ from what they are to be, and which are deleted.
func TestPlanFor(t *testing.T) {
	ref := &xpv2.Reference{Name: "default"}
	tmpl := template{labels: map[string]string{"team": "a"}, annotations: map[string]string{"note": "x"}, ref: ref}
	settled := func(change func(*member)) member {
		m := member{
			name: "c-1", uid: "u", resource: id("x"), bare: true, observes: true, owned: true,
			ref:         &xpv2.Reference{Name: "default"},
			labels:      map[string]string{"team": "a", "more": "b"},
			annotations: map[string]string{"note": "x", "more": "y"},
		}
		if change != nil {
			change(&m)
		}
		return m
	}
	again := plan{apply: []application{{name: "c-1", resource: id("x"), uid: "u"}}}
	for name, tc := range map[string]struct {
		change  func(*member)
		renew   bool // the template is new
		missing bool // no resource is selected
		want    plan
	}{
		"Settled":       {},
		"Renew":         {renew: true, want: again},
		"Label":         {change: func(m *member) { m.labels["team"] = "b" }, want: again},
		"NoLabel":       {change: func(m *member) { delete(m.labels, "team") }, want: again},
		"Annotation":    {change: func(m *member) { m.annotations["note"] = "" }, want: again},
		"Policy":        {change: func(m *member) { m.observes = false }, want: again},
		"Manifest":      {change: func(m *member) { m.bare = false }, want: again},
		"OtherResource": {change: func(m *member) { m.resource = id("y") }, want: again},
		"NoOwner":       {change: func(m *member) { m.owned = false }, want: again},
		"Config":        {change: func(m *member) { m.ref = &xpv2.Reference{Name: "old"} }, want: again},
		"Terminating":   {change: func(m *member) { m.terminating, m.bare = true, false }},
		"Gone":          {missing: true, want: plan{prune: []member{settled(nil)}}},
		// An Object that is only labelled is not deleted, and a member once.
		"GoneAndForeign":     {change: func(m *member) { m.owned = false }, missing: true},
		"GoneAndTerminating": {change: func(m *member) { m.terminating = true }, missing: true},
	} {
		t.Run(name, func(t *testing.T) {
			assigned := map[string]resourceID{"c-1": id("x")}
			if tc.missing {
				assigned = nil
			}
			with := tmpl
			with.renew = tc.renew
			got := planFor(assigned, map[string]member{"c-1": settled(tc.change)}, with)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(plan{}, application{}, member{})); diff != "" {
				t.Errorf("planFor: -want, +got:\n%s", diff)
			}
		})
	}
}

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

// TestNames shows that names are those which provider-kubernetes gives, and what each that is tried after one is like.
func TestNames(t *testing.T) {
	group, bare := id("configmap-foo"), id("configmap-foo")
	group.Group, group.Version, group.Kind, bare.Namespace = "apps", "v1", "Deployment", ""
	for want, id := range map[string]resourceID{
		"foo-collection-f878ca0": id("configmap-foo"),
		"foo-collection-c663c42": group, // printf 'apps/v1, Kind=Deployment/default/configmap-foo' | sha256sum
		"foo-collection-f018291": bare,  // printf '/v1, Kind=ConfigMap//configmap-foo' | sha256sum
	} {
		got := id.names("foo-collection")
		if got[0] != want {
			t.Errorf("names()[0]: want %s, got %s", want, got[0])
		}
		for i, longer := range got[1:] {
			if !strings.HasPrefix(longer, got[i]) || len(longer) <= len(got[i]) {
				t.Errorf("each name continues the one before: got %q after %q", longer, got[i])
			}
		}
		if most := id.names(strings.Repeat("c", 63)); len(most[len(most)-1]) > 253 {
			t.Errorf("a name is at most 253 long, got %d", len(most[len(most)-1]))
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
		selected []resourceID
		held     []member
		want     map[string]resourceID
	}{
		"Alone":  {selected: []resourceID{b}, want: map[string]resourceID{short: b}},
		"AtOnce": {selected: []resourceID{a, b}, want: map[string]resourceID{short: a, longB: b}},
		// The other was there before.
		"Later": {
			selected: []resourceID{a, b}, held: []member{stands(short, b)},
			want: map[string]resourceID{short: b, longA: a},
		},
		"Back": {
			selected: []resourceID{a, b}, held: []member{stands(longA, a)},
			want: map[string]resourceID{longA: a, short: b},
		},
		// The name of a member whose resource is no longer selected is not reused while the member is there.
		"NameOfOneThatGoes": {
			selected: []resourceID{a}, held: []member{stands(short, b)}, want: map[string]resourceID{longA: a},
		},
		// Somebody has turned the manifest to another resource.
		"ChangedManifest": {
			selected: []resourceID{a}, held: []member{stands(short, id("elsewhere"))},
			want: map[string]resourceID{short: a},
		},
		"TwoForOne": {
			selected: []resourceID{a}, held: []member{stands(short, a), stands(longA, a)},
			want: map[string]resourceID{short: a},
		},
	} {
		t.Run(name, func(t *testing.T) {
			held := map[string]member{}
			for _, m := range tc.held {
				held[m.name] = m
			}
			if diff := cmp.Diff(tc.want, assign("c", tc.selected, held)); diff != "" {
				t.Errorf("assign: -want, +got:\n%s", diff)
			}
		})
	}
}

// TestIsShownBy shows when a pass has seen what it has written.
func TestIsShownBy(t *testing.T) {
	r := resourceID{NamespacedName: types.NamespacedName{Name: "a"}}
	made := member{name: "m", uid: "1", resource: r, bare: true, observes: true, owned: true}
	foreign, deleted, successor := made, made, made
	foreign.owned, deleted.terminating, successor.uid = false, true, "2"
	apply, prune := plan{apply: []application{{name: "m", resource: r}}}, plan{prune: []member{made}}
	for name, tc := range map[string]struct {
		plan   plan
		cached []member
		want   bool
	}{
		"Nothing":      {want: true},
		"NotYetThere":  {plan: apply},
		"Older":        {plan: apply, cached: []member{foreign}},
		"Seen":         {plan: apply, cached: []member{made}, want: true},
		"NotYetGoing":  {plan: prune, cached: []member{made}},
		"Going":        {plan: prune, cached: []member{deleted}, want: true},
		"Gone":         {plan: prune, want: true},
		"HasSuccessor": {plan: prune, cached: []member{successor}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			held := map[string]member{}
			for _, m := range tc.cached {
				held[m.name] = m
			}
			if got := tc.plan.isShownBy(held, template{renew: true}); got != tc.want {
				t.Errorf("isShownBy: want %t, got %t", tc.want, got)
			}
		})
	}
}
