package preflight

import (
	"context"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/package/crds"
)

func says(err error) credentialCheck {
	return func(context.Context, commonv1.Connection, ...func(*clusters.Options)) error { return err }
}

func TestJudgeConfig(t *testing.T) {
	const what = "ProviderConfig of x"
	refusal := invalidOf(t)
	nebius := &commonv1.Identity{Type: commonv1.IdentityNebius}
	for name, tc := range map[string]struct {
		reason string
		check  credentialCheck
		spec   commonv1.ProviderConfigSpec
		want   Finding
	}{
		"Kept": {
			reason: "Credentials that are accepted are kept.",
			check:  says(nil),
			want:   one("a", kept(what)),
		},
		"Identity": {
			reason: "Each identity is a row of its own.",
			check:  says(nil),
			spec:   commonv1.ProviderConfigSpec{Identity: &commonv1.Identity{Type: commonv1.IdentityGoogle}},
			want:   one("a", kept(what+" with identity GoogleApplicationCredentials")),
		},
		"Elsewhere": {
			reason: "What only the provider sees was not looked at.",
			check:  says(clusters.ErrNotHere),
			spec: commonv1.ProviderConfigSpec{
				Credentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceFilesystem},
			},
			want: one("a", differs(what+", source Filesystem",
				"only the provider can read these credentials: give it the variables and files of the "+
					"former provider")),
		},
		"ServiceAccount": {
			reason: "What Crossplane does not grant is told.",
			check:  says(nil),
			spec: commonv1.ProviderConfigSpec{
				Credentials: commonv1.ProviderCredentials{Source: commonv1.CredentialsSourceServiceAccount},
			},
			want: one("a", refused(what+", source ServiceAccount",
				"the provider needs verb create on serviceaccounts/token of each, which this report does not check",
				"grant it: docs/reference/permissions.md")),
		},
		"FlagHelps": {
			reason: "The flag that would have it accepted is the cure.",
			check: func(_ context.Context, _ commonv1.Connection, with ...func(*clusters.Options)) error {
				o := clusters.Options{}
				for _, set := range with {
					set(&o)
				}
				if o.AllowCrossNamespace {
					return nil
				}
				return refusal
			},
			want: one("a", refused(what+" that is refused", refusal.Error(),
				"start this provider, and this check, with --allow-cross-namespace-references, or change the "+
					"ProviderConfig: docs/reference/providerconfig.md")),
		},
		"NoFlagHelps": {
			reason: "Without such a flag the ProviderConfig is to be changed.",
			check:  says(refusal),
			want:   one("a", refused(what+" that is refused", refusal.Error(), "change the ProviderConfig or its Secret")),
		},
		"IdentityNotBuiltIn": {
			reason: "An identity that is refused has others in its place.",
			check:  says(refusal),
			spec:   commonv1.ProviderConfigSpec{Identity: nebius},
			want: one("a", refused(what+" with identity NebiusServiceAccountCredentials that is refused", refusal.Error(),
				"use credentials that docs/reference/providerconfig.md lists, or a kubeconfig with a token or "+
					"client-certificate-data")),
		},
		"Forbidden": {
			reason: "A Secret that may not be read is unknown, and neither missing nor good.",
			check: says(errors.Wrap(apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "k", nil),
				"cannot get Secret")),
			want: one("a", unknown("secrets", "the control plane denies it",
				`grant the user of the kubeconfig by a ClusterRole: apiGroups: [""], resources: [secrets], verbs: [get]`)),
		},
		"NoAnswer": {
			reason: "So is one that nobody answers for.",
			check:  says(errors.New("control plane does not respond")),
			want: Finding{
				Effect: Unknown, What: what, Count: 1, Names: []string{"a"},
				Why: "cannot read its credentials: control plane does not respond",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tally := newTally()
			p := &pass{t: tally, check: tc.check}
			p.judgeCredentials(t.Context(), what, "a", commonv1.Connection{Spec: &tc.spec})
			if diff := cmp.Diff([]Finding{tc.want}, tallied(tally)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// invalidOf returns an error about credentials, which only package clusters can make.
func invalidOf(t *testing.T) error {
	t.Helper()
	err := checkNowhere(t)(t.Context(), commonv1.Connection{
		Tenant: "team",
		Spec: &commonv1.ProviderConfigSpec{
			Credentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceInjectedIdentity},
		},
	})
	if !clusters.IsInvalidConnection(err) {
		t.Fatalf("want an error about credentials, got %v", err)
	}
	return err
}

// checkNowhere returns a check that reaches no server.
func checkNowhere(t *testing.T) credentialCheck {
	t.Helper()
	registry, err := clusters.NewRegistry(clusters.Options{Injected: nowhere})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(registry.Close)
	return registry.Check
}

// TestRestrictedConfigs shows that a ClusterProviderConfig without a list of namespaces is named before a takeover with
// --restrict-cluster-provider-configs, which would stop all Objects that use it, and that others are not.
func TestRestrictedConfigs(t *testing.T) {
	const config = `
apiVersion: kubernetes.m.crossplane.io/v1alpha1
kind: ClusterProviderConfig
metadata: {name: shared}
spec: {credentials: {source: InjectedIdentity}}
`
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSchema(definitions["clusterproviderconfigs.kubernetes.m.crossplane.io"], "v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	const what = "ClusterProviderConfig of kubernetes.m.crossplane.io"
	for name, tc := range map[string]struct {
		restrict bool
		over     string
		want     Finding
	}{
		"Default": {want: one("shared", kept(what))},
		"Listed": {
			restrict: true,
			over:     "spec: {allowedNamespaces: [{names: [team]}]}",
			want:     one("shared", kept(what)),
		},
		"Restricted": {
			restrict: true,
			want: one("shared", refused(what+" without allowedNamespaces",
				"with --restrict-cluster-provider-configs it serves no namespace",
				"migrate without the flag, list the namespaces, then set it: docs/how-to/isolate-tenants.md")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			tally := newTally()
			p := &pass{t: tally, check: says(nil)}
			p.options.Target.RestrictClusterConfigs = tc.restrict
			p.judgeConfig(t.Context(), read(t, config, tc.over), s)
			if diff := cmp.Diff([]Finding{tc.want}, tallied(tally)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
