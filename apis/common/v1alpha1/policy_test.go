package v1alpha1

import (
	"slices"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
)

func TestEffectivePolicies(t *testing.T) {
	all := xpv2.ManagementPolicies{xpv2.ManagementActionAll}
	some := xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionUpdate}
	for name, tc := range map[string]struct {
		reason   string
		policy   ManagementPolicy
		policies xpv2.ManagementPolicies
		want     xpv2.ManagementPolicies
	}{
		"Default":             {"Default leaves it to the policies.", ManagementPolicyDefault, some, some},
		"Unset":               {"No policy leaves it to the policies.", "", some, some},
		"Unknown":             {"An unknown policy leaves it to the policies.", "x", some, some},
		"ObserveCreateUpdate": {"Never delete.", ManagementPolicyObserveCreateUpdate, all, xpv2.ManagementPolicies{"Observe", "Create", "Update"}},
		"ObserveDelete":       {"Never create or change.", ManagementPolicyObserveDelete, all, xpv2.ManagementPolicies{"Observe", "Delete"}},
		"Observe":             {"Only observe.", ManagementPolicyObserve, all, xpv2.ManagementPolicies{"Observe"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, EffectivePolicies(tc.policy, tc.policies)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWithoutDelete(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		policies xpv2.ManagementPolicies
		want     xpv2.ManagementPolicies
	}{
		"Delete":  {"Orphan outweighs Delete.", xpv2.ManagementPolicies{"Observe", "Delete"}, xpv2.ManagementPolicies{"Observe"}},
		"All":     {"The runtime itself lets Orphan outweigh *.", xpv2.ManagementPolicies{"*"}, xpv2.ManagementPolicies{"*"}},
		"Without": {"There is nothing to take away.", xpv2.ManagementPolicies{"Observe"}, xpv2.ManagementPolicies{"Observe"}},
	} {
		t.Run(name, func(t *testing.T) {
			given := slices.Clone(tc.policies)
			if diff := cmp.Diff(tc.want, WithoutDelete(given)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.policies, given); diff != "" {
				t.Errorf("argument: -want, +got:\n%s", diff)
			}
		})
	}
}
