package policy

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

func TestEndings(t *testing.T) {
	type want struct{ deleted, replaced Ending }
	for name, tc := range map[string]struct {
		reason   string
		policies xpv2.ManagementPolicies
		deletion xpv2.DeletionPolicy
		want     want
	}{
		"All": {
			reason:   "Everything is allowed.",
			policies: xpv2.ManagementPolicies{"*"},
			deletion: xpv2.DeletionDelete,
			want:     want{Delete, Delete},
		},
		"AllNamespaced": {
			reason:   "There is no deletionPolicy.",
			policies: xpv2.ManagementPolicies{"*"},
			deletion: "",
			want:     want{Delete, Delete},
		},
		"AllOrphan": {
			reason:   "Orphan outweighs everything.",
			policies: xpv2.ManagementPolicies{"*"},
			deletion: xpv2.DeletionOrphan,
			want:     want{Leave, Leave},
		},
		"Listed": {
			reason:   "Each action is named.",
			policies: xpv2.ManagementPolicies{"Observe", "Create", "Update", "Delete"},
			deletion: "",
			want:     want{Delete, Delete},
		},
		"NoUpdate": {
			reason:   "It was made, so it goes.",
			policies: xpv2.ManagementPolicies{"Observe", "Create", "Delete"},
			deletion: "",
			want:     want{Delete, Delete},
		},
		"NoDelete": {
			reason:   "It was made to stay.",
			policies: xpv2.ManagementPolicies{"Observe", "Create", "Update"},
			deletion: "",
			want:     want{Leave, Leave},
		},
		"CreateOnly": {
			reason:   "It was made to stay.",
			policies: xpv2.ManagementPolicies{"Observe", "Create"},
			deletion: "",
			want:     want{Leave, Leave},
		},
		"Partial": {
			reason:   "Others own the rest of it.",
			policies: xpv2.ManagementPolicies{"Observe", "Update"},
			deletion: "",
			want:     want{Withdraw, Withdraw},
		},
		"PartialLate": {
			reason:   "LateInitialize changes nothing.",
			policies: xpv2.ManagementPolicies{"Observe", "Update", "LateInitialize"},
			deletion: "",
			want:     want{Withdraw, Withdraw},
		},
		"PartialOrphan": {
			reason:   "Orphan leaves fields too.",
			policies: xpv2.ManagementPolicies{"Observe", "Update"},
			deletion: xpv2.DeletionOrphan,
			want:     want{Leave, Leave},
		},
		"ObserveDelete": {
			reason:   "Somebody else's resource goes with the Object only.",
			policies: xpv2.ManagementPolicies{"Observe", "Delete"},
			deletion: "",
			want:     want{Delete, Leave},
		},
		"Observe": {
			reason:   "Nothing may be done.",
			policies: xpv2.ManagementPolicies{"Observe"},
			deletion: "",
			want:     want{Leave, Leave},
		},
		"Paused": {
			reason:   "Nothing may be done.",
			policies: xpv2.ManagementPolicies{},
			deletion: "",
			want:     want{Leave, Leave},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := want{OfDeleted(tc.policies, tc.deletion), OfReplaced(tc.policies, tc.deletion)}
			if got != tc.want {
				t.Errorf("%s want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestWrites(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		policies xpv2.ManagementPolicies
		want     bool
	}{
		"All":    {reason: "Everything is allowed.", policies: xpv2.ManagementPolicies{"*"}, want: true},
		"Create": {reason: "To make is to write.", policies: xpv2.ManagementPolicies{"Observe", "Create"}, want: true},
		"Update": {
			reason:   "To change is to write.",
			policies: xpv2.ManagementPolicies{"Observe", "Update"},
			want:     true,
		},
		"Delete": {
			reason:   "To delete is to write.",
			policies: xpv2.ManagementPolicies{"Observe", "Delete"},
			want:     true,
		},
		"Observe": {reason: "To look is not.", policies: xpv2.ManagementPolicies{"Observe"}, want: false},
		"Late": {
			reason:   "LateInitialize changes what is our own.",
			policies: xpv2.ManagementPolicies{"Observe", "LateInitialize"},
			want:     false,
		},
		"Paused": {reason: "Nothing may be done.", policies: xpv2.ManagementPolicies{}, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Writes(tc.policies); got != tc.want {
				t.Errorf("%s want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
