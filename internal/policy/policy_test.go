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
		"All":           {"Everything is allowed.", xpv2.ManagementPolicies{"*"}, xpv2.DeletionDelete, want{Delete, Delete}},
		"AllNamespaced": {"There is no deletionPolicy.", xpv2.ManagementPolicies{"*"}, "", want{Delete, Delete}},
		"AllOrphan":     {"Orphan outweighs everything.", xpv2.ManagementPolicies{"*"}, xpv2.DeletionOrphan, want{Leave, Leave}},
		"Listed":        {"Each action is named.", xpv2.ManagementPolicies{"Observe", "Create", "Update", "Delete"}, "", want{Delete, Delete}},
		"NoUpdate":      {"It was made, so it goes.", xpv2.ManagementPolicies{"Observe", "Create", "Delete"}, "", want{Delete, Delete}},
		"NoDelete":      {"It was made to stay.", xpv2.ManagementPolicies{"Observe", "Create", "Update"}, "", want{Leave, Leave}},
		"CreateOnly":    {"It was made to stay.", xpv2.ManagementPolicies{"Observe", "Create"}, "", want{Leave, Leave}},
		"Partial":       {"Others own the rest of it.", xpv2.ManagementPolicies{"Observe", "Update"}, "", want{Withdraw, Withdraw}},
		"PartialLate":   {"LateInitialize changes nothing.", xpv2.ManagementPolicies{"Observe", "Update", "LateInitialize"}, "", want{Withdraw, Withdraw}},
		"PartialOrphan": {"Orphan leaves fields too.", xpv2.ManagementPolicies{"Observe", "Update"}, xpv2.DeletionOrphan, want{Leave, Leave}},
		"ObserveDelete": {"Somebody else's resource goes with the Object only.", xpv2.ManagementPolicies{"Observe", "Delete"}, "", want{Delete, Leave}},
		"Observe":       {"Nothing may be done.", xpv2.ManagementPolicies{"Observe"}, "", want{Leave, Leave}},
		"Paused":        {"Nothing may be done.", xpv2.ManagementPolicies{}, "", want{Leave, Leave}},
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
		"All":     {"Everything is allowed.", xpv2.ManagementPolicies{"*"}, true},
		"Create":  {"To make is to write.", xpv2.ManagementPolicies{"Observe", "Create"}, true},
		"Update":  {"To change is to write.", xpv2.ManagementPolicies{"Observe", "Update"}, true},
		"Delete":  {"To delete is to write.", xpv2.ManagementPolicies{"Observe", "Delete"}, true},
		"Observe": {"To look is not.", xpv2.ManagementPolicies{"Observe"}, false},
		"Late":    {"LateInitialize changes what is our own.", xpv2.ManagementPolicies{"Observe", "LateInitialize"}, false},
		"Paused":  {"Nothing may be done.", xpv2.ManagementPolicies{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Writes(tc.policies); got != tc.want {
				t.Errorf("%s want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
