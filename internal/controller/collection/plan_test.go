package collection

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
)

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
		change(&m)
		return m
	}
	again := plan{apply: []application{{name: "c-1", resource: id("x"), uid: "u"}}}
	for name, tc := range map[string]struct {
		reason  string
		change  func(*member)
		renew   bool
		missing bool // no resource is selected
		want    plan
	}{
		"Settled": {reason: "A member that is as it should be is not applied.", change: func(*member) {}},
		"Renew": {
			reason: "All members are applied with a new template.",
			change: func(*member) {},
			renew:  true,
			want:   again,
		},
		"Label": {
			reason: "A label that differs is applied.",
			change: func(m *member) { m.labels["team"] = "b" },
			want:   again,
		},
		"NoLabel": {
			reason: "A label that is missing is applied.",
			change: func(m *member) { delete(m.labels, "team") },
			want:   again,
		},
		"Annotation": {
			reason: "An annotation that differs is applied.",
			change: func(m *member) { m.annotations["note"] = "" },
			want:   again,
		},
		"Policy": {
			reason: "A member that does more than observe is applied.",
			change: func(m *member) { m.observes = false },
			want:   again,
		},
		"Manifest": {
			reason: "A manifest that says more is applied.",
			change: func(m *member) { m.bare = false },
			want:   again,
		},
		"OtherResource": {
			reason: "A manifest of another resource is applied.",
			change: func(m *member) { m.resource = id("y") },
			want:   again,
		},
		"NoOwner": {
			reason: "A member without its owner is applied.",
			change: func(m *member) { m.owned = false },
			want:   again,
		},
		"Config": {
			reason: "Another ProviderConfig is applied.",
			change: func(m *member) { m.ref = &xpv2.Reference{Name: "old"} },
			want:   again,
		},
		"Terminating": {
			reason: "A member that is being deleted is waited for.",
			change: func(m *member) { m.terminating, m.bare = true, false },
		},
		"Gone": {
			reason: "A member whose resource is gone is deleted.", change: func(*member) {}, missing: true,
			want: plan{prune: []member{settled(func(*member) {})}},
		},
		"GoneAndForeign": {
			reason: "An Object that is only labelled is not deleted.", change: func(m *member) { m.owned = false },
			missing: true,
		},
		"GoneAndTerminating": {
			reason: "A member is deleted once.", change: func(m *member) { m.terminating = true }, missing: true,
		},
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
				t.Errorf("%s\nplanFor: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
