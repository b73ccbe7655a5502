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
		"Default": {
			reason:      "Objects are synced.",
			sync:        nil,
			policies:    all,
			annotations: nil,
			deleted:     nil,
			deletion:    xpv2.DeletionOrphan,
			want:        false,
		},
		"Off": {
			reason:      "It is turned off.",
			sync:        off,
			policies:    all,
			annotations: nil,
			deleted:     nil,
			deletion:    xpv2.DeletionOrphan,
			want:        true,
		},
		"Observe": {
			reason:      "Who may only look writes to neither side.",
			sync:        on,
			policies:    xpv2.ManagementPolicies{"Observe"},
			annotations: nil,
			deleted:     nil,
			deletion:    xpv2.DeletionOrphan,
			want:        true,
		},
		"Paused": {
			reason:      "Nothing may be done.",
			sync:        on,
			policies:    xpv2.ManagementPolicies{},
			annotations: nil,
			deleted:     nil,
			deletion:    xpv2.DeletionOrphan,
			want:        true,
		},
		"Annotated": {
			reason:      "The annotation pauses as empty policies do.",
			sync:        on,
			policies:    all,
			annotations: paused,
			deleted:     nil,
			deletion:    xpv2.DeletionOrphan,
			want:        true,
		},
		"Ending": {
			reason:      "It is paused, even if objects have to be able to go.",
			sync:        on,
			policies:    all,
			annotations: paused,
			deleted:     gone,
			deletion:    xpv2.DeletionDelete,
			want:        true,
		},
		"NoUpdate": {
			reason:      "What is published is served.",
			sync:        on,
			policies:    xpv2.ManagementPolicies{"Observe", "Create"},
			annotations: nil,
			deleted:     nil,
			deletion:    xpv2.DeletionOrphan,
			want:        false,
		},
		"Orphaned": {
			reason:      "All is left as it is.",
			sync:        on,
			policies:    all,
			annotations: nil,
			deleted:     gone,
			deletion:    xpv2.DeletionOrphan,
			want:        true,
		},
		"Withdrawn": {
			reason:      "Objects have to be able to go.",
			sync:        on,
			policies:    all,
			annotations: nil,
			deleted:     gone,
			deletion:    xpv2.DeletionDelete,
			want:        false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &v1alpha1.PublishedResource{}
			o.Annotations, o.DeletionTimestamp = tc.annotations, tc.deleted
			o.Spec.Synchronization, o.Spec.ManagementPolicies, o.Spec.DeletionPolicy = tc.sync, tc.policies, tc.deletion
			if got := isSyncStopped(o); got != tc.want {
				t.Errorf("%s want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
