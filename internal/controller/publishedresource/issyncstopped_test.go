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
	gone, paused := new(metav1.Now()), map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
	for name, tc := range map[string]struct {
		reason string
		change func(o *v1alpha1.PublishedResource) // of one that syncs by default, and leaves all as it is when it goes
		want   bool
	}{
		"Default": {reason: "Objects are synced.", change: func(*v1alpha1.PublishedResource) {}, want: false},
		"Off": {
			reason: "It is turned off.",
			change: func(o *v1alpha1.PublishedResource) { o.Spec.Synchronization = &v1alpha1.Synchronization{} },
			want:   true,
		},
		"Observe": {
			reason: "Who may only look writes to neither side.",
			change: func(o *v1alpha1.PublishedResource) { o.Spec.ManagementPolicies = xpv2.ManagementPolicies{"Observe"} },
			want:   true,
		},
		"Paused": {
			reason: "Nothing may be done.",
			change: func(o *v1alpha1.PublishedResource) { o.Spec.ManagementPolicies = xpv2.ManagementPolicies{} },
			want:   true,
		},
		"Annotated": {
			reason: "The annotation pauses as empty policies do.",
			change: func(o *v1alpha1.PublishedResource) { o.Annotations = paused },
			want:   true,
		},
		"Ending": {
			reason: "It is paused, even if objects have to be able to go.",
			change: func(o *v1alpha1.PublishedResource) {
				o.Annotations, o.DeletionTimestamp, o.Spec.DeletionPolicy = paused, gone, xpv2.DeletionDelete
			},
			want: true,
		},
		"NoUpdate": {
			reason: "What is published is served.",
			change: func(o *v1alpha1.PublishedResource) {
				o.Spec.ManagementPolicies = xpv2.ManagementPolicies{"Observe", "Create"}
			},
			want: false,
		},
		"Orphaned": {
			reason: "All is left as it is.",
			change: func(o *v1alpha1.PublishedResource) { o.DeletionTimestamp = gone },
			want:   true,
		},
		"Withdrawn": {
			reason: "Objects have to be able to go.",
			change: func(o *v1alpha1.PublishedResource) {
				o.DeletionTimestamp, o.Spec.DeletionPolicy = gone, xpv2.DeletionDelete
			},
			want: false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &v1alpha1.PublishedResource{}
			o.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionAll}
			o.Spec.DeletionPolicy = xpv2.DeletionOrphan
			tc.change(o)
			if got := isSyncStopped(o); got != tc.want {
				t.Errorf("%s want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
