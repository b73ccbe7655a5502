package publishedresource_test

import (
	"fmt"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// refusal is what a server says that refuses something.
const refusal = "not in this house"

// TestRefusedSchema shows that a schema which kcp refuses is reported in kcp's words, that what is published
// stays, and that a source which kcp accepts is published. A policy of the workspace refuses what is valid in itself.
func TestRefusedSchema(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.refuseFeathers(t)
	o := s.publishHats(t)
	before := s.export(t)
	name := "hats." + s.group
	redefine(t, s.c, name, func(d *apiextensionsv1.CustomResourceDefinition) { setField(d, "feather", true) })
	awaitMessage(t, s.c, o, isNot(v1alpha1.TypeSchemaPublished, "InvalidSchema"), refusal)
	awaitMessage(t, s.c, o, isNot(xpv2.TypeSynced, "InvalidSchema"), refusal)
	await(t, s.c, o, isNot(xpv2.TypeReady, ""))
	if diff := cmp.Diff(before.Spec, s.export(t).Spec); diff != "" {
		t.Errorf("the APIExport must stay as it is: -before, +after:\n%s", diff)
	}
	redefine(t, s.c, name, func(d *apiextensionsv1.CustomResourceDefinition) {
		setField(d, "feather", false)
		addBrim(d)
	})
	s.awaitSchema(t, "hats", schemaOf(before, "hats"))
	awaitPublished(t, s.c, o)
}

// refuseFeathers has the workspace of the shop refuse schemas that name feathers, and waits until it does.
func (s *shop) refuseFeathers(t *testing.T) {
	t.Helper()
	in := kcp.Client(t, s.admin)
	refuse(t, in, "feathers.example.com", admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: matching("apis.kcp.io", "apiresourceschemas", admissionv1.Create),
		Validations: []admissionv1.Validation{{
			Expression: "!object.spec.versions.exists(v, 'feather' in v.schema.properties.spec.properties)",
			Message:    refusal,
		}},
	})
	kube.Eventually(t, "refusal", func() (bool, string) {
		hat := kcp.Schema("v1.feathers.other.example.com", "other.example.com", "feathers", "Feather")
		hat.Spec.Versions[0].Schema.Raw = []byte(`{"type":"object","properties":{"spec":{"type":"object",` +
			`"properties":{"feather":{"type":"string"}}}}}`)
		return isRefused(in.Create(t.Context(), hat, client.DryRunAll))
	})
}

// refuse has a server refuse what a policy does not allow, which takes it a moment, until the binding that is returned
// is deleted.
func refuse(t *testing.T, c client.Client, name string,
	spec admissionv1.ValidatingAdmissionPolicySpec,
) *admissionv1.ValidatingAdmissionPolicyBinding {
	t.Helper()
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	binding.Spec.PolicyName = name
	binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Deny}
	kube.Create(t, c, &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec},
		binding)
	return binding
}

// matching returns what a policy looks at.
func matching(group, resource string, verbs ...admissionv1.OperationType) *admissionv1.MatchResources {
	return &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: verbs,
			Rule: admissionv1.Rule{
				APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource},
			},
		},
	}}}
}

// isRefused reports whether a request was refused by a policy of ours, and how it went.
func isRefused(err error) (refused bool, state string) {
	return err != nil && strings.Contains(err.Error(), refusal), fmt.Sprint(err)
}
