package object_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestOtherKindOfConfigIsNamed shows that an Object which refers to a ProviderConfig is told of the
// ClusterProviderConfig of that name, if that is all there is, and works once it refers to that.
func TestOtherKindOfConfigIsNamed(t *testing.T) {
	c, s := provide(t), build.Namespaced()
	w := newWorld(t, c, s)
	name := w.namespace + "-shared"
	kube.Create(t, c, build.ClusterConfig(name, build.FromSecret(w.namespace, "credentials")))
	o := w.object(build.ConfigMap(w.target, "settings"))
	setConfig(o, name)
	kube.Create(t, c, o)
	awaitCondition(t, c, o, failed(commonv1.ReasonInvalidConnection),
		`ProviderConfig "`+name+`" does not exist in namespace "`+w.namespace+
			`", but a ClusterProviderConfig of that name does: set kind: ClusterProviderConfig in spec.providerConfigRef`)
	edit(t, c, o, func() { build.Through(o, name) })
	awaitReady(t, c, o)
}

// TestColumnsAreOfOneCondition shows that kubectl's columns REASON and MESSAGE tell of one condition, also if another
// one is False, too, and has no message.
func TestColumnsAreOfOneCondition(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.object(build.ConfigMap("no-"+w.target, "settings"))
		kube.Create(t, w.c, o)
		awaitCondition(t, w.c, o, wantCondition{Type: xpv2.TypeReady, Status: "False"})
		message := awaitCondition(t, w.c, o, failed(commonv1.ReasonNamespaceMissing))

		gvk, err := w.c.GroupVersionKindFor(o)
		if err != nil {
			t.Fatal(err)
		}
		got := local.Columns(t, gvk.GroupVersion().WithResource("objects"), client.ObjectKeyFromObject(o))
		if got["REASON"] != string(commonv1.ReasonNamespaceMissing) || got["MESSAGE"] != message {
			t.Errorf("want reason NamespaceMissing and message %q, got %v and %v", message, got["REASON"], got["MESSAGE"])
		}
	})
}

// TestDeniedDeletionIsNamed shows that a policy which denies to delete a resource is no fault of a manifest, and that
// the deletion goes on when it is gone.
func TestDeniedDeletionIsNamed(t *testing.T) {
	t.Parallel()
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	o := w.keep(t, build.ConfigMap(w.target, "settings"))
	policy := parse(t, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy",
		"metadata":{"name":"`+w.target+`"},"spec":{
		"matchConstraints":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"`+w.target+`"}},
			"resourceRules":[{"apiGroups":[""],"apiVersions":["*"],"operations":["DELETE"],"resources":["configmaps"]}]},
		"validations":[{"expression":"false","message":"kept for the auditors"}]}}`)
	binding := parse(t, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding",
		"metadata":{"name":"`+w.target+`"},"spec":{"policyName":"`+w.target+`","validationActions":["Deny"]}}`)
	kube.Create(t, w.tc, policy, binding)
	kube.Eventually(t, "the policy", func() (bool, string) {
		err := w.tc.Delete(t.Context(), emptySettings(w.target), client.DryRunAll)
		return apierrors.IsInvalid(err), message(err)
	})
	kube.Delete(t, c, o)
	awaitCondition(t, c, o, failed(commonv1.ReasonForbidden), "kept for the auditors")
	kube.Delete(t, w.tc, binding)
	kube.AwaitGone(t, c, o)
}

// TestTerminatingKindIsNamed shows that a custom resource whose CustomResourceDefinition is being deleted lacks no
// right: the kind is about to go.
func TestTerminatingKindIsNamed(t *testing.T) {
	t.Parallel()
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	group := w.target + ".example.org"
	d := build.Definition(group, "gates")
	kube.Create(t, w.tc, d)
	gate := func(name string) build.Manifest {
		return build.Manifest(parse(t, `{"apiVersion":"`+group+`/v1","kind":"Gate",
			"metadata":{"namespace":"`+w.target+`","name":"`+name+`","finalizers":["example.org/stays"]}}`).Object)
	}
	first := w.scope.Object(w.namespace, w.target+"-first", w.config, gate("first"))
	first.SetManagementPolicies(neverDelete)
	createReady(t, c, first)
	kube.Delete(t, w.tc, d)
	kube.Eventually(t, "the CustomResourceDefinition to be terminating", func() (bool, string) {
		late := parse(t, `{"apiVersion":"`+group+`/v1","kind":"Gate","metadata":{"namespace":"`+w.target+`","name":"x"}}`)
		err := w.tc.Create(t.Context(), late, client.DryRunAll)
		return apierrors.IsForbidden(err), message(err)
	})
	second := w.scope.Object(w.namespace, w.target+"-second", w.config, gate("second"))
	kube.Create(t, c, second)
	awaitCondition(t, c, second, failed(commonv1.ReasonUnknownKind), "definition is terminating")
	unpin(t, w.tc, parse(t, `{"apiVersion":"`+group+`/v1","kind":"Gate","metadata":{"namespace":"`+w.target+
		`","name":"first"}}`))
	kube.AwaitGone(t, w.tc, d)
	kube.Create(t, w.tc, build.Definition(group, "gates"))
	awaitReady(t, c, second)
}
