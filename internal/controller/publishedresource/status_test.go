package publishedresource

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
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
	for name, tc := range map[string]struct {
		reason   string
		change   func(p *pass) // of one whose API is published and bound
		schema   condition
		exported condition
		serves   condition
		accepts  condition
	}{
		"Published": {
			reason:   "All is well.",
			change:   func(*pass) {},
			schema:   condition{corev1.ConditionTrue, v1alpha1.ReasonPublished},
			exported: condition{corev1.ConditionTrue, v1alpha1.ReasonUpdated},
			serves:   condition{corev1.ConditionTrue, v1alpha1.ReasonServing},
			accepts:  condition{corev1.ConditionTrue, v1alpha1.ReasonAccepted},
		},
		"NoSource": {
			reason:   "Without a source the schema is told of, and the APIExport is as it was.",
			change:   func(p *pass) { p.wanted, p.refusal = nil, errSourceMissing },
			schema:   condition{corev1.ConditionFalse, v1alpha1.ReasonSourceMissing},
			exported: condition{},
			serves:   condition{corev1.ConditionTrue, v1alpha1.ReasonServing},
			accepts:  condition{corev1.ConditionTrue, v1alpha1.ReasonAccepted},
		},
		"Refused": {
			reason:   "What refuses the APIExport does not refuse the schema.",
			change:   func(p *pass) { p.refusal, p.settled = errBoom, false },
			schema:   condition{corev1.ConditionTrue, v1alpha1.ReasonPublished},
			exported: condition{corev1.ConditionFalse, v1alpha1.ReasonNotUpdated},
			serves:   condition{corev1.ConditionTrue, v1alpha1.ReasonServing},
			accepts:  condition{corev1.ConditionTrue, v1alpha1.ReasonAccepted},
		},
		"New": {
			reason: "Nothing is published yet, and nobody has bound it.",
			change: func(p *pass) {
				p.workspace.export, p.workspace.schemas, p.settled = nil, nil, false
				p.seen = &consumerView{}
			},
			schema:   condition{corev1.ConditionFalse, v1alpha1.ReasonNotPublished},
			exported: condition{corev1.ConditionFalse, v1alpha1.ReasonExportMissing},
			serves:   condition{corev1.ConditionUnknown, v1alpha1.ReasonNotBound},
			accepts:  condition{corev1.ConditionUnknown, v1alpha1.ReasonNotBound},
		},
		"NoIdentity": {
			reason:   "kcp has to give the APIExport an identity, and to make an endpoint slice.",
			change:   func(p *pass) { p.workspace.export, p.workspace.slice = export(""), nil },
			schema:   condition{corev1.ConditionTrue, v1alpha1.ReasonPublished},
			exported: condition{corev1.ConditionFalse, v1alpha1.ReasonNoIdentity},
			serves:   condition{corev1.ConditionFalse, v1alpha1.ReasonEndpointSliceMissing},
			accepts:  condition{corev1.ConditionTrue, v1alpha1.ReasonAccepted},
		},
		"Unserved": {
			reason:   "An endpoint that does not show all is told of, and what its consumers accept is not known.",
			change:   func(p *pass) { p.seen.endpoints = append(p.seen.endpoints, failing) },
			schema:   condition{corev1.ConditionTrue, v1alpha1.ReasonPublished},
			exported: condition{corev1.ConditionTrue, v1alpha1.ReasonUpdated},
			serves:   condition{corev1.ConditionFalse, v1alpha1.ReasonNotServing},
			accepts:  condition{corev1.ConditionUnknown, v1alpha1.ReasonNotServing},
		},
		"Pending": {
			reason:   "A consumer has not accepted a claim.",
			change:   func(p *pass) { p.seen.consumers = append(p.seen.consumers, open) },
			schema:   condition{corev1.ConditionTrue, v1alpha1.ReasonPublished},
			exported: condition{corev1.ConditionTrue, v1alpha1.ReasonUpdated},
			serves:   condition{corev1.ConditionTrue, v1alpha1.ReasonServing},
			accepts:  condition{corev1.ConditionFalse, v1alpha1.ReasonPending},
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
			is := func(c xpv2.Condition) condition { return condition{c.Status, c.Reason} }
			published, _ := schemaCondition(p)
			exported, _ := exportCondition(p)
			got := []condition{
				is(published), is(exported), is(endpointsCondition(p, p.seen.failing())),
				is(claimsCondition(p.seen.failing(), p.seen.consumers)),
			}
			want := []condition{tc.schema, tc.exported, tc.serves, tc.accepts}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\nconditions: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
