package publishedresource

import (
	"cmp"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
)

// TestConditions shows what the conditions say of what a pass has found out.
func TestConditions(t *testing.T) {
	type condition struct {
		Status corev1.ConditionStatus
		Reason xpv2.ConditionReason
	}
	hats := schema.GroupResource{Group: "example.com", Resource: "hats"}
	export := func(identity string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"status": map[string]any{"identityHash": identity},
			"spec": map[string]any{"resources": []any{map[string]any{
				"group": hats.Group, "name": hats.Resource, "schema": "a.hats.example.com",
			}}},
		}}
	}
	schemas := []types.NamespacedName{{Name: "a.hats.example.com"}}
	failing, errBoom := endpoint{err: errors.New("boom")}, errors.New("boom")
	open := kcp.Consumer{Path: "root:a", Open: []kcp.Claim{{GroupResource: schema.GroupResource{Resource: "secrets"}}}}
	yes := func(r xpv2.ConditionReason) condition { return condition{corev1.ConditionTrue, r} }
	no := func(r xpv2.ConditionReason) condition { return condition{corev1.ConditionFalse, r} }
	unknown := func(r xpv2.ConditionReason) condition { return condition{corev1.ConditionUnknown, r} }
	unsaid := condition{Reason: "unsaid"}
	for name, tc := range map[string]struct {
		reason string
		change func(p *pass) // of one whose API is published and bound
		// What each condition is, if not that all is well.
		schema, exported, serves, accepts condition
	}{
		"Published": {reason: "All is well.", change: func(*pass) {}},
		"NoSource": {
			reason: "Without a source the schema is told of, and the APIExport is as it was.",
			change: func(p *pass) { p.wanted, p.refusal = nil, errSourceMissing },
			schema: no(v1alpha1.ReasonSourceMissing), exported: unsaid,
		},
		"Refused": {
			reason:   "What refuses the APIExport does not refuse the schema.",
			change:   func(p *pass) { p.refusal, p.settled = errBoom, false },
			exported: no(v1alpha1.ReasonNotUpdated),
		},
		"New": {
			reason: "Nothing is published yet, and nobody has bound it.",
			change: func(p *pass) {
				p.workspace.export, p.workspace.schemas, p.settled = nil, nil, false
				p.seen = &consumerView{}
			},
			schema: no(v1alpha1.ReasonNotPublished), exported: no(v1alpha1.ReasonExportMissing),
			serves: unknown(v1alpha1.ReasonNotBound), accepts: unknown(v1alpha1.ReasonNotBound),
		},
		"NoIdentity": {
			reason:   "kcp has to give the APIExport an identity, and to make an endpoint slice.",
			change:   func(p *pass) { p.workspace.export, p.workspace.slice = export(""), nil },
			exported: no(v1alpha1.ReasonNoIdentity), serves: no(v1alpha1.ReasonEndpointSliceMissing),
		},
		"Unserved": {
			reason: "An endpoint that does not show all is told of, and what its consumers accept is not known.",
			change: func(p *pass) { p.seen.endpoints = append(p.seen.endpoints, failing) },
			serves: no(v1alpha1.ReasonNotServing), accepts: unknown(v1alpha1.ReasonNotServing),
		},
		"Pending": {
			reason:  "A consumer has not accepted a claim.",
			change:  func(p *pass) { p.seen.consumers = append(p.seen.consumers, open) },
			accepts: no(v1alpha1.ReasonPending),
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pass{
				resource: &v1alpha1.PublishedResource{
					Status: v1alpha1.PublishedResourceStatus{ResourceSchemaName: "a.hats.example.com"},
				},
				workspace: &workspace{export: export("id"), slice: &unstructured.Unstructured{}, schemas: schemas},
				wanted:    &desiredAPI{projected: projected{schema: "a.hats.example.com", resource: hats}},
				settled:   true,
				seen:      &consumerView{endpoints: []endpoint{{}}, consumers: []kcp.Consumer{{Bound: true}}},
			}
			tc.change(p)
			is := func(c xpv2.Condition) condition {
				return condition{c.Status, cmp.Or(c.Reason, unsaid.Reason)}
			}
			published, _ := schemaCondition(p)
			exported, _ := exportCondition(p)
			got := []condition{
				is(published), is(exported), is(endpointsCondition(p)),
				is(claimsCondition(p.seen)),
			}
			want := []condition{
				cmp.Or(tc.schema, yes(v1alpha1.ReasonPublished)), cmp.Or(tc.exported, yes(v1alpha1.ReasonUpdated)),
				cmp.Or(tc.serves, yes(v1alpha1.ReasonServing)), cmp.Or(tc.accepts, yes(v1alpha1.ReasonAccepted)),
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s\nconditions: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBoundOutOfView shows how many workspaces count as bound, if there were two before. That there are none must be
// known: then the API may get another name.
func TestBoundOutOfView(t *testing.T) {
	bound := kcp.Consumer{Bound: true}
	for name, tc := range map[string]struct {
		reason   string
		seen     consumerView
		bound    int64
		complete bool
	}{
		"Gone":     {reason: "All is in view, and nobody is.", seen: consumerView{endpoints: []endpoint{{}}}, complete: true},
		"Unserved": {reason: "Without a consumer kcp has no endpoint.", complete: true},
		"Failing": {
			reason: "An endpoint does not answer.",
			seen:   consumerView{endpoints: []endpoint{{err: errors.New("boom")}}}, bound: 2,
		},
		"More": {
			reason: "Some are new where all is in view.",
			seen: consumerView{
				endpoints: []endpoint{{err: errors.New("boom")}, {}}, consumers: []kcp.Consumer{bound, bound, bound},
			},
			bound: 3,
		},
		"Untold": {reason: "Nobody says which endpoints there are.", seen: consumerView{untold: true}, bound: 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pass{
				resource:  &v1alpha1.PublishedResource{},
				workspace: &workspace{}, seen: &tc.seen,
			}
			p.resource.Status.Workspaces = &v1alpha1.WorkspaceCounts{Bound: 2}
			p.describeConsumers()
			if got := p.resource.Status.Workspaces.Bound; got != tc.bound || tc.seen.complete() != tc.complete {
				t.Errorf("%s want %d bound and complete %t, got %d and %t", tc.reason, tc.bound, tc.complete, got,
					tc.seen.complete())
			}
		})
	}
}

// TestIsHalted shows when no objects are synced, whether or not they were before.
func TestIsHalted(t *testing.T) {
	type resource = v1alpha1.PublishedResource
	may := func(actions ...xpv2.ManagementAction) func(*resource) {
		return func(o *resource) { o.Spec.ManagementPolicies = actions }
	}
	ends := func(policy xpv2.DeletionPolicy) func(*resource) {
		return func(o *resource) { o.DeletionTimestamp, o.Spec.DeletionPolicy = new(metav1.Now()), policy }
	}
	paused := func(o *resource) {
		o.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
	}
	pausedEnd := func(o *resource) { paused(o); ends(xpv2.DeletionDelete)(o) }
	off := func(o *resource) { o.Spec.Synchronization = &v1alpha1.Synchronization{} }
	for name, tc := range map[string]struct {
		reason string
		change func(*resource) // of one that syncs
		want   bool
	}{
		"Default":   {reason: "Objects are synced.", change: may("*"), want: false},
		"Off":       {reason: "It is turned off.", change: off, want: true},
		"Observe":   {reason: "Who may only look writes to neither side.", change: may("Observe"), want: true},
		"Paused":    {reason: "Nothing may be done.", change: may(), want: true},
		"Annotated": {reason: "The annotation pauses as empty policies do.", change: paused, want: true},
		"Ending":    {reason: "Paused it is, even if objects have to be able to go.", change: pausedEnd, want: true},
		"NoUpdate":  {reason: "What is published is served.", change: may("Observe", "Create"), want: false},
		"Orphaned":  {reason: "All is left as it is.", change: ends(xpv2.DeletionOrphan), want: true},
		"Withdrawn": {reason: "Objects have to be able to go.", change: ends(xpv2.DeletionDelete), want: false},
	} {
		t.Run(name, func(t *testing.T) {
			o := &resource{}
			may("*")(o)
			tc.change(o)
			if got := isSyncStopped(o); got != tc.want {
				t.Errorf("%s want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
