package namespace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mcollectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/collection/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// A shared is a ClusterProviderConfig, whose credentials are of a user of its own on the target.
type shared struct {
	config *mpcv1alpha1.ClusterProviderConfig
	user   string
	ns     string // of its Secret
	tns    string // on the target
}

// share makes a ClusterProviderConfig that allows some namespaces.
func share(t *testing.T, c client.Client, allowed ...commonv1.AllowedNamespaces) shared {
	t.Helper()
	ns, tns := local.Namespace(t), target.Namespace(t)
	s := shared{ns: ns, tns: tns, user: "operator-" + tns}
	s.config = build.ClusterConfig(ns, build.FromSecret(ns, "operators-secret"), allowed...)
	s.config.SetLabels(map[string]string{"tier": ns})
	kubeconfig := kube.Kubeconfig(t, target.User(t, s.user, "system:masters"))
	kube.Create(t, c, build.Credentials(ns, "operators-secret", kubeconfig), s.config)
	kube.Await(t, c, s.config, "the ClusterProviderConfig to be ready", func() (bool, string) {
		got := s.config.Status.GetCondition(xpv2.TypeReady)
		return got.Status == corev1.ConditionTrue, got.Message
	})
	return s
}

func named(namespaces ...string) commonv1.AllowedNamespaces {
	return commonv1.AllowedNamespaces{Names: namespaces}
}

func labelled(key, value string) commonv1.AllowedNamespaces {
	return commonv1.AllowedNamespaces{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}
}

// unlabelled selects the namespaces that lack a label, as one does that a cache does not hold.
func unlabelled(key string) commonv1.AllowedNamespaces {
	return commonv1.AllowedNamespaces{Selector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist}},
	}}
}

// allow replaces the list of the ClusterProviderConfig.
func (s shared) allow(t *testing.T, c client.Client, allowed ...commonv1.AllowedNamespaces) {
	t.Helper()
	kube.Edit(t, c, s.config, func() { s.config.Spec.AllowedNamespaces = allowed })
}

// label sets a label of a namespace, or removes it if the value is empty.
func label(t *testing.T, c client.Client, namespace, key, value string) {
	t.Helper()
	text := "null"
	if value != "" {
		text = `"` + value + `"`
	}
	kube.Patch(t, c, &corev1.Namespace{ObjectMeta: build.Meta("", namespace)},
		fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, key, text))
}

// object returns an Object that keeps a ConfigMap of its own name through the ClusterProviderConfig.
func (s shared) object(namespace, name string) build.Object {
	return build.Through(build.Namespaced().Object(namespace, name, "", build.ConfigMap(s.tns, name, "by", namespace)),
		s.config.GetName())
}

// A conditioned is what a ClusterProviderConfig serves.
type conditioned interface {
	client.Object
	resource.Conditioned
}

// awaitRefused waits until all say that their namespace is not allowed and what to ask for, and nothing else of the
// ClusterProviderConfig.
func (s shared) awaitRefused(t *testing.T, c client.Client, all ...conditioned) {
	t.Helper()
	for _, o := range all {
		var got xpv2.Condition
		kube.Await(t, c, o, fmt.Sprintf("%T %s to be refused", o, o.GetName()), func() (bool, string) {
			got = o.GetCondition(xpv2.TypeSynced)
			return got.Status == corev1.ConditionFalse && got.Reason == commonv1.ReasonNamespaceNotAllowed, fmt.Sprint(got)
		})
		want := fmt.Sprintf("ClusterProviderConfig %q does not allow namespace %q: ask the administrator to list the "+
			"namespace or one of its labels in spec.allowedNamespaces", s.config.GetName(), o.GetNamespace())
		if !strings.HasSuffix(got.Message, want) {
			t.Errorf("%T %s:\nwant %s\ngot  %s", o, o.GetName(), want, got.Message)
		}
		for _, secret := range []string{"operators-secret", s.user, target.Config().Host} {
			if strings.Contains(got.Message, secret) {
				t.Errorf("%T %s must not name %s: %s", o, o.GetName(), secret, got.Message)
			}
		}
	}
}

// awaitSynced waits until all are synced.
func awaitSynced(t *testing.T, c client.Client, all ...conditioned) {
	t.Helper()
	for _, o := range all {
		kube.Await(t, c, o, fmt.Sprintf("%T %s to be synced", o, o.GetName()), func() (bool, string) {
			got := o.GetCondition(xpv2.TypeSynced)
			return got.Status == corev1.ConditionTrue, fmt.Sprint(got)
		})
	}
}

// checkUnasked checks that the target gets nothing with the credentials, while all are reconciled again.
func (s shared) checkUnasked(t *testing.T, c client.Client, mark kube.Mark, all ...conditioned) {
	t.Helper()
	n := 0
	kube.Holds(t, "the target gets no requests", func() (bool, string) {
		audit := target.Audit(t)
		asked := slices.Concat(audit.Since(mark), audit.Watches(mark)).By(s.user)
		return len(asked) == 0, asked.String()
	}, func() {
		n++
		for _, o := range all {
			kube.Patch(t, c, o, fmt.Sprintf(`{"metadata":{"labels":{"touch":"%d"}}}`, n))
		}
		provider.PassQueue(t, c, s.ns)
	})
}

// users returns one of each kind that may name a ClusterProviderConfig, and one of each way to do it.
func (s shared) users(namespace string) []conditioned {
	preview, observing := s.object(namespace, "preview"), s.object(namespace, "observing")
	reading := s.object(namespace, "reading")
	preview.SetAnnotations(map[string]string{commonv1.AnnotationKeyDryRun: "true"})
	observing.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
	observing.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(s.tns, "seen"))
	reading.Desired().ConnectionDetails = []commonv1.ConnectionDetail{
		build.ConnectionDetail(corev1.ObjectReference{
			Kind: "ConfigMap", Namespace: s.tns, Name: "seen", FieldPath: "data.a",
		}, "a"),
	}
	build.WriteConnectionSecret(reading, types.NamespacedName{Name: "details"})
	ref := xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: s.config.GetName()}
	collection := &mcollectionv1alpha1.ObservedObjectCollection{ObjectMeta: build.Meta(namespace, "collection")}
	collection.Spec.ProviderConfigReference, collection.Spec.ObserveObjects = &ref, build.ConfigMaps(s.tns, "pick", "me")
	placed := workloadv1alpha1.ClusterReference{Kind: ref.Kind, Name: ref.Name}
	app := build.Application(namespace, "app", "none", build.ResourceTemplate("of-app", build.ConfigMap(s.tns, "of-app")))
	app.Spec.ClusterRef = &placed
	single := &workloadv1alpha1.KubernetesApplicationResource{ObjectMeta: build.Meta(namespace, "single")}
	single.Spec.ClusterRef, single.Spec.Template = &placed, build.Template(build.ConfigMap(s.tns, "single"))
	return []conditioned{s.object(namespace, "settings"), preview, observing, reading, collection, app, single}
}
