package publishedresource

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// TestIsHalted shows when no objects are synced, whether or not they were before.
func TestIsHalted(t *testing.T) {
	all := xpv2.ManagementPolicies{xpv2.ManagementActionAll}
	on, off := &v1alpha1.Synchronization{Enabled: true}, &v1alpha1.Synchronization{}
	gone, paused := new(metav1.Now()), map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
	for name, tc := range map[string]struct {
		reason      string
		sync        *v1alpha1.Synchronization
		policies    xpv2.ManagementPolicies
		annotations map[string]string
		deleted     *metav1.Time
		deletion    xpv2.DeletionPolicy
		want        bool
	}{
		"Default":   {"Objects are synced.", nil, all, nil, nil, xpv2.DeletionOrphan, false},
		"Off":       {"It is turned off.", off, all, nil, nil, xpv2.DeletionOrphan, true},
		"Observe":   {"Who may only look writes to neither side.", on, xpv2.ManagementPolicies{"Observe"}, nil, nil, xpv2.DeletionOrphan, true},
		"Paused":    {"Nothing may be done.", on, xpv2.ManagementPolicies{}, nil, nil, xpv2.DeletionOrphan, true},
		"Annotated": {"The annotation pauses as empty policies do.", on, all, paused, nil, xpv2.DeletionOrphan, true},
		"Ending":    {"It is paused, even if objects have to be able to go.", on, all, paused, gone, xpv2.DeletionDelete, true},
		"NoUpdate":  {"What is published is served.", on, xpv2.ManagementPolicies{"Observe", "Create"}, nil, nil, xpv2.DeletionOrphan, false},
		"Orphaned":  {"All is left as it is.", on, all, nil, gone, xpv2.DeletionOrphan, true},
		"Withdrawn": {"Objects have to be able to go.", on, all, nil, gone, xpv2.DeletionDelete, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := &v1alpha1.PublishedResource{}
			o.Annotations, o.DeletionTimestamp = tc.annotations, tc.deleted
			o.Spec.Synchronization, o.Spec.ManagementPolicies, o.Spec.DeletionPolicy = tc.sync, tc.policies, tc.deletion
			if got := isHalted(o); got != tc.want {
				t.Errorf("%s want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
