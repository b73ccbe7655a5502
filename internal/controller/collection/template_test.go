package collection_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// give returns a change of a collection's template.
func give(labels, annotations map[string]string) func(build.Collection) {
	return func(c build.Collection) {
		c.Desired().Template = &commonv1.ObservedObjectTemplate{
			Metadata: commonv1.ObservedObjectTemplateMetadata{Labels: labels, Annotations: annotations},
		}
	}
}

// awaitMetadata waits until each member of a collection has these labels beside that of its membership, and holds these
// annotations.
func (w world) awaitMetadata(t *testing.T, labels, annotations map[string]string) {
	t.Helper()
	want := maps.Clone(labels)
	want["kubernetes.crossplane.io/owned-by-collection"] = w.tns
	kube.Eventually(t, "labels and annotations of members", func() (bool, string) {
		members := w.members(t, w.tns)
		for _, m := range members {
			got := maps.Clone(m.GetAnnotations())
			delete(got, "crossplane.io/external-name") // Objects get it by themselves.
			if diff := cmp.Diff(want, m.GetLabels()) + cmp.Diff(annotations, got); diff != "" {
				return false, "-want, +got:\n" + diff
			}
		}
		return len(members) > 0, "no members"
	})
}

// TestTemplate shows that members have what the template gives them, lose what it gives no more, and keep what others
// gave them. A defect of provider-kubernetes: the template could overwrite the label of membership.
func TestTemplate(t *testing.T) {
	forScopes(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, configMap(w.tns, "first", "a"), configMap(w.tns, "second", "a"))
		oc := w.collect()
		give(map[string]string{"tier": "one", "kubernetes.crossplane.io/owned-by-collection": "somebody-else"},
			map[string]string{"note": "x"})(oc)
		kube.Create(t, w.c, oc)
		first := w.awaitMembers(t, "first", "second")[memberName(w.tns, w.tns, "first")]
		w.awaitMetadata(t, map[string]string{"tier": "one"}, map[string]string{"note": "x"})

		change(t, w.c, oc, give(map[string]string{"tier": "two", "more": "yes"},
			map[string]string{"note": "y", "other": "z"}))
		w.awaitMetadata(t, map[string]string{"tier": "two", "more": "yes"},
			map[string]string{"note": "y", "other": "z"})
		change(t, w.c, oc, give(map[string]string{"tier": "two"}, map[string]string{"other": "z"}))
		w.awaitMetadata(t, map[string]string{"tier": "two"}, map[string]string{"other": "z"})

		// What somebody else changes of it is changed back; what they add stays, also with the next template.
		kube.Patch(t, w.c, first, `{"metadata":{"labels":{"tier":"wrong","theirs":"t"}}}`)
		kube.Await(t, w.c, first, "the label to be changed back", func() (bool, string) {
			return first.GetLabels()["tier"] == "two", first.GetLabels()["tier"]
		})
		change(t, w.c, oc, func(c build.Collection) { c.Desired().Template = nil })
		kube.Await(t, w.c, first, "only the label of somebody else to stay", func() (bool, string) {
			want := map[string]string{"theirs": "t", "kubernetes.crossplane.io/owned-by-collection": w.tns}
			return cmp.Equal(want, first.GetLabels()), cmp.Diff(want, first.GetLabels())
		})
		w.awaitSettled(t, oc)
	})
}

// TestInvalidTemplate shows that a label which the control plane refuses is reported once, and that a good one cures
// it.
func TestInvalidTemplate(t *testing.T) {
	forScopesBeside(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, configMap(w.tns, "first", "a"), configMap(w.tns, "second", "a"))
		oc := w.collect()
		give(map[string]string{"tier": "not a value"}, nil)(oc)
		kube.Create(t, w.c, oc)
		awaitCondition(t, w.c, oc, failed(commonv1.ReasonInvalidTemplate))
		was := oc.GetResourceVersion()
		kube.Holds(t, "the failure is written once", func() (bool, string) {
			err := w.c.Get(t.Context(), client.ObjectKeyFromObject(oc), oc)
			return err == nil && oc.GetResourceVersion() == was, "it was written again"
		}, func() { w.passQueue(t) })
		change(t, w.c, oc, give(map[string]string{"tier": "one"}, nil))
		w.awaitSettled(t, oc)
		w.awaitMembers(t, "first", "second")
	})
}

// TestNamesake shows that an Object of a user which has the name of a member is left alone and named, that other
// members are made nevertheless, and that the member is made when the Object is gone.
func TestNamesake(t *testing.T) {
	forScopesBeside(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, configMap(w.tns, "first", "a"), configMap(w.tns, "second", "a"))
		name := memberName(w.tns, w.tns, "first")
		theirs := w.scope.Object(w.ns, name, w.ns, build.ConfigMap(w.tns, "theirs"))
		kube.Create(t, w.c, theirs)
		kube.Await(t, w.c, theirs, "the Object to be ready", func() (bool, string) {
			return theirs.GetCondition(xpv2.TypeReady).Status == "True", "not ready"
		})
		generation := theirs.GetGeneration()
		oc := w.collect()
		kube.Create(t, w.c, oc)
		want := "Objects that do not belong to the collection have the names of its members: " + name +
			": create the collection under another name"
		if diff := cmp.Diff(want, awaitCondition(t, w.c, oc, failed(commonv1.ReasonNameTaken), want)); diff != "" {
			t.Errorf("message: -want, +got:\n%s", diff)
		}
		w.awaitMembers(t, "second")
		kube.Holds(t, "the Object of the user stays as it is", func() (bool, string) {
			err := w.c.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs)
			return err == nil && theirs.GetGeneration() == generation &&
				len(theirs.GetOwnerReferences()) == 0, "it was changed"
		}, func() { w.passQueue(t) })
		kube.Delete(t, w.c, theirs)
		w.awaitMembers(t, "first", "second")
		w.awaitSettled(t, oc)
	})
}

// TestTakeover shows that members which provider-kubernetes has made become ours as the same Objects, lose what its
// template gave them and ours does not, and are deleted when their resource is gone.
func TestTakeover(t *testing.T) {
	forScopes(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, configMap(w.tns, "first", "a"))
		oc := w.collect()
		oc.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
		kube.Create(t, w.c, oc)
		stays, goes := memberName(w.tns, w.tns, "first"), memberName(w.tns, w.tns, "gone")
		uid := w.madeElsewhere(t, oc, stays, "first")
		w.madeElsewhere(t, oc, goes, "gone")
		kube.Patch(t, w.c, oc, `{"metadata":{"annotations":{"crossplane.io/paused":null}}}`)
		w.awaitSettled(t, oc)
		m := w.awaitMembers(t, "first")[stays]
		if m.GetUID() != uid {
			t.Error("the member must stay the same Object")
		}
		if diff := cmp.Diff(map[string]string{"kubernetes.crossplane.io/owned-by-collection": w.tns},
			m.GetLabels()); diff != "" {
			t.Errorf("labels: -want, +got:\n%s", diff)
		}
	})
}

// madeElsewhere applies a member as provider-kubernetes does, with a label of an earlier template, and returns its UID.
func (w world) madeElsewhere(t *testing.T, oc build.Collection, name, configMap string) (uid types.UID) {
	t.Helper()
	o := w.scope.Object(w.ns, name, w.ns, build.Manifest{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": w.tns, "name": configMap},
	})
	o.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	gvk, err := apiutil.GVKForObject(o, w.c.Scheme())
	if err != nil {
		t.Fatal(err)
	}
	owner, err := apiutil.GVKForObject(oc, w.c.Scheme())
	if err != nil {
		t.Fatal(err)
	}
	u.SetGroupVersionKind(gvk)
	u.SetLabels(map[string]string{"kubernetes.crossplane.io/owned-by-collection": w.tns, "earlier": "template"})
	u.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: owner.GroupVersion().String(), Kind: owner.Kind, Name: oc.GetName(), UID: oc.GetUID(),
	}})
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(u.Object, "spec", "readiness")
	err = w.c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(commonv1.FieldManagerCollection), client.ForceOwnership)
	if err != nil {
		t.Fatal(err)
	}
	return u.GetUID()
}
