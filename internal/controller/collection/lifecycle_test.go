package collection_test

import (
	"encoding/json"
	"strconv"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestMembersFollowTheTarget shows that members come and go with the resources a collection selects.
func TestMembersFollowTheTarget(t *testing.T) {
	forScopes(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, configMap(w.tns, "first", "a"), configMap(w.tns, "other", "b"))
		oc := w.collect()
		kube.Create(t, w.c, oc)
		w.awaitSettled(t, oc)
		w.awaitMembers(t, "first")

		late := configMap(w.tns, "late", "a")
		kube.Create(t, w.tc, late, configMap(w.tns, "stranger", "b"))
		w.awaitMembers(t, "first", "late")
		kube.Patch(t, w.tc, configMap(w.tns, "other", ""), `{"metadata":{"labels":{"team":"a"}}}`)
		w.awaitMembers(t, "first", "late", "other")
		kube.Patch(t, w.tc, configMap(w.tns, "first", ""), `{"metadata":{"labels":{"team":"b"}}}`)
		w.awaitMembers(t, "late", "other")
		kube.Delete(t, w.tc, late)
		for _, m := range w.awaitMembers(t, "other") {
			awaitCondition(t, w.c, m, ready)
		}
		want := map[string]string{"kubernetes.crossplane.io/owned-by-collection": oc.GetName()}
		if diff := cmp.Diff(want, oc.Observed().MembershipLabel); diff != "" {
			t.Errorf("status.membershipLabel: -want, +got:\n%s", diff)
		}
		kube.Eventually(t, "the status to count the one member", func() (bool, string) {
			kube.Get(t, w.c, client.ObjectKeyFromObject(oc), oc)
			return oc.Observed().Members == 1, strconv.FormatInt(oc.Observed().Members, 10)
		})
	})
}

// TestMemberIsAsInProviderKubernetes shows all of a member that somebody may rely on.
// Defect #555 of provider-kubernetes: empty fields of a member were refused.
func TestMemberIsAsInProviderKubernetes(t *testing.T) {
	forScopes(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, configMap(w.tns, "first", "a"))
		oc := w.collect()
		kube.Create(t, w.c, oc)
		m := w.awaitMembers(t, "first")[memberName(w.tns, w.tns, "first")]

		manifest := map[string]any{}
		if err := json.Unmarshal(m.Desired().ForProvider.Manifest.Raw, &manifest); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": w.tns, "name": "first"},
		}
		if diff := cmp.Diff(want, manifest); diff != "" {
			t.Errorf("manifest: -want, +got:\n%s", diff)
		}
		spec := map[string]any{}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &spec); err != nil {
			t.Fatal(err)
		}
		fields := spec["spec"].(map[string]any)
		if diff := cmp.Diff([]any{"Observe"}, fields["managementPolicies"]); diff != "" {
			t.Errorf("managementPolicies: -want, +got:\n%s", diff)
		}
		if got := m.Desired().ForProvider.DeletionPropagationPolicy; got != metav1.DeletePropagationBackground {
			t.Errorf("deletionPropagationPolicy: want the default, got %q", got)
		}
		ref := map[string]any{"name": w.ns}
		if w.namespace() != "" {
			ref["kind"] = "ProviderConfig"
		}
		if diff := cmp.Diff(ref, fields["providerConfigRef"]); diff != "" {
			t.Errorf("providerConfigRef: -want, +got:\n%s", diff)
		}
		if diff := cmp.Diff(w.namespace(), m.GetNamespace()); diff != "" {
			t.Errorf("namespace: -want, +got:\n%s", diff)
		}
		version := "kubernetes.crossplane.io/v1alpha1"
		if w.namespace() != "" {
			version = "kubernetes.m.crossplane.io/v1alpha1"
		}
		owners := []metav1.OwnerReference{{
			APIVersion: version, Kind: "ObservedObjectCollection", Name: oc.GetName(), UID: oc.GetUID(),
		}}
		if diff := cmp.Diff(owners, m.GetOwnerReferences()); diff != "" {
			t.Errorf("owner references: -want, +got:\n%s", diff)
		}
		applied := false
		for _, e := range m.GetManagedFields() {
			applied = applied || e.Operation == metav1.ManagedFieldsOperationApply &&
				e.Manager == commonv1.FieldManagerCollection
		}
		if !applied || commonv1.FieldManagerCollection != "kubernetes.crossplane.io/observed-object-collection-controller" {
			t.Errorf("managed fields: want some of the collection controller, got %v", m.GetManagedFields())
		}
		awaitCondition(t, w.c, m, ready)
	})
}

// TestSelectionChanges shows that members follow a change of each field of spec.observeObjects.
func TestSelectionChanges(t *testing.T) {
	forScopes(t, func(t *testing.T, w world) {
		other := target.Namespace(t)
		kube.Create(t, w.tc, configMap(w.tns, "a", "a"), configMap(w.tns, "b", "b"), configMap(other, "a", "a"),
			build.Credentials(w.tns, "s", nil))
		oc := w.collect()
		kube.Create(t, w.c, oc)
		w.awaitMembers(t, "a")

		change(t, w.c, oc, func(c build.Collection) {
			c.Desired().ObserveObjects.Selector.MatchLabels = map[string]string{"team": "b"}
		})
		w.awaitMembers(t, "b")
		change(t, w.c, oc, func(c build.Collection) {
			c.Desired().ObserveObjects.Selector = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "team", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b"}},
			}}
		})
		w.awaitMembers(t, "a", "b")
		change(t, w.c, oc, func(c build.Collection) { c.Desired().ObserveObjects.Namespace = other })
		w.awaitNamed(t, map[string]string{memberName(w.tns, other, "a"): other + "/a"})
		change(t, w.c, oc, func(c build.Collection) {
			c.Desired().ObserveObjects = commonv1.ObserveObjects{APIVersion: "v1", Kind: "Secret", Namespace: w.tns}
		})
		w.awaitNamed(t, map[string]string{w.tns + "-" + hash("/v1, Kind=Secret/" + w.tns + "/s")[:7]: w.tns + "/s"})
		w.awaitSettled(t, oc)
	})
}

// TestSelectsAcrossNamespaces shows that a collection without a namespace selects from all, and that one of a kind that
// has none ignores the namespace.
func TestSelectsAcrossNamespaces(t *testing.T) {
	forScopes(t, func(t *testing.T, w world) {
		other := target.Namespace(t)
		kube.Create(t, w.tc, configMap(w.tns, "x", w.tns), configMap(other, "x", w.tns))
		oc := w.collect()
		oc.Desired().ObserveObjects.Namespace = ""
		oc.Desired().ObserveObjects.Selector.MatchLabels = map[string]string{"team": w.tns}
		kube.Create(t, w.c, oc)
		w.awaitNamed(t, map[string]string{
			memberName(w.tns, w.tns, "x"): w.tns + "/x", memberName(w.tns, other, "x"): other + "/x",
		})

		change(t, w.c, oc, func(c build.Collection) {
			c.Desired().ObserveObjects = commonv1.ObserveObjects{
				APIVersion: "v1", Kind: "Namespace", Namespace: "no-such-thing",
				Selector: metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.tns}},
			}
		})
		for _, m := range w.awaitNamed(t,
			map[string]string{w.tns + "-" + hash("/v1, Kind=Namespace//" + w.tns)[:7]: "/" + w.tns}) {
			awaitCondition(t, w.c, m, ready)
		}
	})
}

// TestDeletedCollection shows that members go with their collection, that nothing on the target does, and that the
// ProviderConfig is in use as long as the collection is there, even if it has no members.
func TestDeletedCollection(t *testing.T) {
	forScopesBeside(t, func(t *testing.T, w world) {
		cm := configMap(w.tns, "first", "a")
		kube.Create(t, w.tc, cm)
		full, empty := w.collect(), w.scope.Collection(w.ns, w.tns+"-empty", w.ns,
			commonv1.ObserveObjects{APIVersion: "v1", Kind: "Pod", Namespace: w.tns})
		kube.Create(t, w.c, full, empty)
		w.awaitMembers(t, "first")
		w.awaitSettled(t, empty)
		config := w.scope.Config(w.ns, w.ns, commonv1.ProviderConfigSpec{})
		kube.Remove(t, w.c, full)
		w.awaitMembers(t)
		kube.Eventually(t, "the ProviderConfig to be in use", func() (bool, string) {
			err := w.c.Get(t.Context(), client.ObjectKeyFromObject(config), config)
			return err == nil && len(config.GetFinalizers()) > 0, "error or no finalizer"
		})
		kube.Delete(t, w.c, config)
		kube.Holds(t, "a ProviderConfig in use stays", func() (bool, string) {
			err := w.c.Get(t.Context(), client.ObjectKeyFromObject(config), config)
			return err == nil, "it is gone"
		}, func() { w.passQueue(t) })
		kube.Delete(t, w.c, empty)
		kube.AwaitGone(t, w.c, config)
		if err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
			t.Errorf("the resource on the target must stay: %v", err)
		}
	})
}

// TestPause shows that a paused collection says so and changes no member, and makes up for it afterwards.
func TestPause(t *testing.T) {
	forScopesBeside(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, configMap(w.tns, "first", "a"))
		oc := w.collect()
		kube.Create(t, w.c, oc)
		w.awaitMembers(t, "first")
		kube.Patch(t, w.c, oc, `{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`)
		awaitCondition(t, w.c, oc, failed(xpv2.ReasonReconcilePaused))
		kube.Create(t, w.tc, configMap(w.tns, "late", "a"))
		kube.Delete(t, w.tc, configMap(w.tns, "first", ""))
		kube.Holds(t, "members stay as they are", func() (bool, string) {
			diff := cmp.Diff(map[string]string{memberName(w.tns, w.tns, "first"): w.tns + "/first"},
				observes(t, w.members(t, w.tns)))
			return diff == "", diff
		}, func() { w.passQueue(t) })
		kube.Patch(t, w.c, oc, `{"metadata":{"annotations":{"crossplane.io/paused":null}}}`)
		w.awaitMembers(t, "late")
		w.awaitSettled(t, oc)
	})
}

// TestMembersAreNotSelected shows that a collection which selects Objects on its own control plane, and labels its
// members as it selects, has no members of its members, which would be without end.
func TestMembersAreNotSelected(t *testing.T) {
	forScopes(t, func(t *testing.T, w world) {
		here := connect(t, world{c: w.c, scope: w.scope, ns: local.Namespace(t), tns: w.tns}, local.User(t, user, admins))
		version := "kubernetes.crossplane.io/v1alpha2"
		if w.namespace() != "" {
			version = "kubernetes.m.crossplane.io/v1alpha1"
		}
		seen := w.scope.Object(w.ns, w.tns+"-seen", w.ns, build.ConfigMap(w.tns, "seen"))
		seen.SetLabels(map[string]string{"team": w.tns})
		kube.Create(t, w.c, seen)
		oc := w.scope.Collection(here.ns, w.tns, here.ns, commonv1.ObserveObjects{
			APIVersion: version, Kind: "Object", Selector: metav1.LabelSelector{MatchLabels: map[string]string{"team": w.tns}},
		})
		oc.Desired().Template = &commonv1.ObservedObjectTemplate{}
		oc.Desired().Template.Metadata.Labels = map[string]string{"team": w.tns}
		kube.Create(t, w.c, oc)
		here.awaitSettled(t, oc)
		kube.Holds(t, "one member", func() (bool, string) {
			n := len(here.members(t, w.tns))
			return n == 1, strconv.Itoa(n)
		}, func() { w.passQueue(t) })
	})
}
