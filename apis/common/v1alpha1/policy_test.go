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
		"Default": {
			reason:   "Default leaves it to the policies.",
			policy:   ManagementPolicyDefault,
			policies: some,
			want:     some,
		},
		"Unset":   {reason: "No policy leaves it to the policies.", policy: "", policies: some, want: some},
		"Unknown": {reason: "An unknown policy leaves it to the policies.", policy: "x", policies: some, want: some},
		"ObserveCreateUpdate": {
			reason:   "Never delete.",
			policy:   ManagementPolicyObserveCreateUpdate,
			policies: all,
			want:     xpv2.ManagementPolicies{"Observe", "Create", "Update"},
		},
		"ObserveDelete": {
			reason:   "Never create or change.",
			policy:   ManagementPolicyObserveDelete,
			policies: all,
			want:     xpv2.ManagementPolicies{"Observe", "Delete"},
		},
		"Observe": {
			reason:   "Only observe.",
			policy:   ManagementPolicyObserve,
			policies: all,
			want:     xpv2.ManagementPolicies{"Observe"},
		},
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
		"Delete": {
			reason:   "Orphan outweighs Delete.",
			policies: xpv2.ManagementPolicies{"Observe", "Delete"},
			want:     xpv2.ManagementPolicies{"Observe"},
		},
		"All": {
			reason:   "The runtime itself lets Orphan outweigh *.",
			policies: xpv2.ManagementPolicies{"*"},
			want:     xpv2.ManagementPolicies{"*"},
		},
		"Without": {
			reason:   "There is nothing to take away.",
			policies: xpv2.ManagementPolicies{"Observe"},
			want:     xpv2.ManagementPolicies{"Observe"},
		},
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
