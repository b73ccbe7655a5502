package objectsync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// A planned is what a test sees of a plan.
type planned struct {
	Refused, NoStatus      error
	Forget, Remember, Hold bool
	Create, Patch, Status  map[string]any
}

func seen(plan copyPlan) planned {
	out := planned{
		Refused: plan.refused, Forget: plan.forget, Remember: plan.remembered != nil, Hold: plan.hold, Patch: plan.patch,
		Status: plan.status, NoStatus: plan.noStatus,
	}
	if plan.create != nil {
		out.Create = plan.create.Object
	}
	return out
}

// remembered has a state remember what was last copied.
func remembered(s *state, c *copySync, last map[string]any) {
	b := c.encode(last)
	s.contents[s.contentKey(c)] = b
}

func data(value string) map[string]any { return map[string]any{"data": map[string]any{"k": value}} }

// TestPlanRelated shows what the copy of a related object needs.
func TestPlanRelated(t *testing.T) {
	type change = func(p planner, c *copySync, s *state)
	is := func(value string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"k": value, "others": "x"}}}
	}
	both := func(more ...change) change {
		return func(p planner, c *copySync, s *state) {
			c.copied, c.recorded = is("old"), &recorded{Record: c.record()}
			remembered(s, c, data("old"))
			for _, f := range more {
				f(p, c, s)
			}
		}
	}
	found := func(_ planner, c *copySync, s *state) {
		c.copied, c.siblingsKeep, s.contents = is("theirs"), true, map[string][]byte{}
	}
	for name, tc := range map[string]struct {
		reason   string
		existing v1alpha1.ExistingObjectsPolicy
		change   change
		want     planned
	}{
		"New": {
			reason: "It is created, and the object is held.", change: func(planner, *copySync, *state) {},
			want: planned{
				Remember: true, Hold: true,
				Create: map[string]any{
					"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"k": "new"},
					"metadata": map[string]any{
						"namespace": "x", "name": "a", "labels": map[string]any{LabelRelatedCluster: "cluster1"},
						"annotations": map[string]any{AnnotationRelatedObject: "Secret default/a"},
					},
				},
			},
		},
		"Changed": {
			reason: "What has changed at the origin is written.", change: both(),
			want: planned{Remember: true, Hold: true, Patch: data("new")},
		},
		"Same": {
			reason: "Else nothing is, and what others have changed stays.",
			change: both(func(_ planner, c *copySync, s *state) {
				remembered(s, c, data("new"))
				c.copied = is("theirs")
				c.origin.SetFinalizers([]string{Finalizer})
			}),
		},
		"AsItIs": {
			reason: "A change that the copy is said to have is remembered if it is the one that was read.",
			change: both(func(_ planner, c *copySync, _ *state) {
				c.copied = is("new")
				c.copied.SetResourceVersion("7")
			}),
			want: planned{Remember: true, Hold: true, Patch: at([]string{"metadata", "resourceVersion"}, "7")},
		},
		"Unanswered": {
			reason: "Of one that was about to be made nobody knows what it has.",
			change: both(func(p planner, c *copySync, s *state) {
				c.recorded.Pending, c.copied = true, marked(p, c)
				remembered(s, c, data("new"))
			}),
			want: planned{Remember: true, Hold: true, Patch: data("new")},
		},
		"Behind": {
			reason: "One that another object keeps may be behind.",
			change: func(p planner, c *copySync, s *state) {
				c.copied, c.hasSiblings = marked(p, c), true
				remembered(s, c, data("new"))
			},
			want: planned{Remember: true, Hold: true, Patch: data("new")},
		},
		"Lost": {
			reason: "If the state was lost, what differs stays.", change: both(found),
			want: planned{Remember: true, Hold: true},
		},
		"Overwrite": {
			reason: "Unless what is found is to be overwritten.", existing: v1alpha1.ExistingObjectsOverwrite,
			change: both(found), want: planned{Remember: true, Hold: true, Patch: data("new")},
		},
		"Status": {
			reason: "A status is copied if that is asked for.",
			change: both(func(_ planner, c *copySync, s *state) {
				remembered(s, c, data("new"))
				c.rule.syncStatus, c.rule.to.Status, c.rule.from.Status = true, true, true
				c.origin.Object["status"] = map[string]any{"phase": "Ready"}
				c.copied.Object["status"] = map[string]any{"phase": "Pending"}
			}),
			want: planned{Hold: true, Status: map[string]any{"status": map[string]any{"phase": "Ready"}}},
		},
		"StatusGone": {
			reason: "So is that there is none.",
			change: both(func(_ planner, c *copySync, s *state) {
				remembered(s, c, data("new"))
				c.rule.syncStatus, c.rule.to.Status = true, true
				c.copied.Object["status"] = map[string]any{"phase": "Ready"}
			}),
			want: planned{Hold: true, Status: map[string]any{"status": nil}},
		},
		"Refused": {
			reason: "What may not be copied is not about to be made any more.",
			change: func(_ planner, c *copySync, _ *state) { c.copied, c.recorded = is("theirs"), &recorded{Pending: true} },
			want:   planned{Refused: ErrForeign, Forget: true},
		},
		"Token": {
			reason: "A token is not copied. That a copy is about to be made stays known: it may have been.",
			change: func(_ planner, c *copySync, _ *state) {
				c.recorded = &recorded{Pending: true}
				c.origin.Object["type"] = "kubernetes.io/service-account-token"
			},
			want: planned{Refused: ErrCredential},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, c := planning(v1alpha1.OriginKCP, tc.existing)
			c.origin = &unstructured.Unstructured{Object: data("new")}
			s := p.view.stored.clone()
			tc.change(p, c, &s)
			if diff := cmp.Diff(tc.want, seen(p.plan(c, &s)), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPlanAll shows which related objects are planned at all.
func TestPlanAll(t *testing.T) {
	gone := of(nil, nil)
	gone.SetDeletionTimestamp(new(metav1.Now()))
	there := of(nil, nil)
	for name, tc := range map[string]struct {
		reason           string
		origin           v1alpha1.Origin
		c                copySync
		planned, refused bool
	}{
		"There":    {reason: "It is there.", c: copySync{origin: there}, planned: true},
		"Missing":  {reason: "It is not there yet."},
		"Goes":     {reason: "It is being deleted.", c: copySync{origin: gone}},
		"CopyGoes": {reason: "Its copy is being deleted.", c: copySync{origin: there, copied: gone}},
		"Closed": {
			reason: "Whether it is there is nothing to find out.", origin: v1alpha1.OriginService,
			c: copySync{unread: ErrClosed}, planned: true, refused: true,
		},
		"ClosedHere": {
			reason: "Its copy would be in a closed namespace.", c: copySync{origin: there, unread: ErrClosed}, planned: true,
			refused: true,
		},
		"ClosedMissing": {reason: "What is not in the workspace is not missed.", c: copySync{unread: ErrClosed}},
	} {
		t.Run(name, func(t *testing.T) {
			p, c := planning(tc.origin, "")
			c.origin, c.copied, c.unread = tc.c.origin, tc.c.copied, tc.c.unread
			plans := (&pass{planner: p, state: p.view.stored}).planAll(t.Context(), []*copySync{c})
			if (len(plans) == 1) != tc.planned || tc.planned && errors.Is(plans[0].refused, ErrClosed) != tc.refused {
				t.Errorf("%s Want planned %t, refused %t, got %v", tc.reason, tc.planned, tc.refused, plans)
			}
		})
	}
}

// TestPlanAnnotations shows that the consumer is told of what there is: by its kind in the workspace, without gaps.
// What is told of a rule whose objects are not all known stays.
func TestPlanAnnotations(t *testing.T) {
	p, c := planning(v1alpha1.OriginService, "")
	gone, second, s := *c, *c, p.view.stored.clone()
	gone.to.Name, gone.origin = "gone", nil
	second.to.Name, second.to.Kind = "b", "Other"
	all := []*copySync{&gone, c, &second}
	for _, c := range all {
		s.remember(c, nil, false)
	}
	p.view.source.SetAnnotations(map[string]string{
		AnnotationRelatedPrefix + "tls.0": "former", AnnotationRelatedPrefix + "tls.2": "former",
		AnnotationRelatedPrefix + "other.0": "x", "note": "x",
	})
	want := at([]string{"metadata", "annotations"}, map[string]any{
		AnnotationRelatedPrefix + "tls.0": `{"namespace":"x","name":"a","apiVersion":"v1","kind":"Secret"}`,
		AnnotationRelatedPrefix + "tls.1": `{"namespace":"x","name":"b","apiVersion":"v1","kind":"Other"}`,
		AnnotationRelatedPrefix + "tls.2": nil,
	})
	if diff := cmp.Diff(want, p.planAnnotations(all, map[string]bool{"other": true}, &s)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestLongAnnotations shows that annotations about related objects never keep an object from being synced: what has too
// long a name for a server is left out, and there are only so many that the consumer has room for others.
func TestLongAnnotations(t *testing.T) {
	for _, tc := range []struct{ length, objects, least, most int }{
		{length: 59, objects: 11, least: 11, most: 11},
		{length: 61, objects: 11, least: 10, most: 10}, // The last would have a digit too many.
		{length: 63, objects: 11},
		{length: 59, objects: 1000, least: 200, most: 400},
	} {
		p, c := planning(v1alpha1.OriginService, "")
		c.rule.identifier = strings.Repeat("i", tc.length)
		s, all := p.view.stored.clone(), []*copySync(nil)
		for i := range tc.objects {
			one := *c
			one.to.Name = fmt.Sprintf("%0250d", i)
			s.remember(&one, nil, false)
			all = append(all, &one)
		}
		p.view.source.SetAnnotations(map[string]string{"note": strings.Repeat("x", 1000)})
		got := asMap(asMap(p.planAnnotations(all, nil, &s)["metadata"])["annotations"])
		if len(got) < tc.least || len(got) > tc.most {
			t.Errorf("%v: got %d annotations", tc, len(got))
		}
		for key := range got {
			if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
				t.Errorf("%v: %s: %v", tc, key, wrong)
			}
		}
	}
}

// TestNamesOfNamespaces shows that a spec is refused whose namespaces no server would make.
func TestNamesOfNamespaces(t *testing.T) {
	long := strings.Repeat("a", 64)
	for name, tc := range map[string]struct {
		labels, annotations map[string]string
		fails               bool
	}{
		"Names":           {labels: map[string]string{"a.b/c": "d"}, annotations: map[string]string{"a": long + "/"}},
		"Template":        {labels: map[string]string{"a": "{{ .ClusterPath | replace \":\" \".\" }}"}},
		"LongLabel":       {labels: map[string]string{long: "a"}, fails: true},
		"LongValue":       {labels: map[string]string{"a": long}, fails: true},
		"AnnotationSpace": {annotations: map[string]string{"a b": "a"}, fails: true},
	} {
		_, err := New(Config{Spec: &v1alpha1.PublishedResourceSpec{
			CreatedNamespaces: &v1alpha1.CreatedNamespaces{Labels: tc.labels, Annotations: tc.annotations},
		}})
		if (err != nil) != tc.fails {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
