package object_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// keeper returns an Object that keeps a ConfigMap of its own name, with references.
func (w world) keeper(name string, refs ...commonv1.Reference) build.Object {
	o := w.scope.Object(w.namespace, w.target+"-"+name, w.config, build.ConfigMap(w.target, name, "color", "blue"))
	o.Desired().References = refs
	return o
}

// crowd makes keepers with references, whose names are numbers, and does not wait for them.
func (w world) crowd(t *testing.T, n int, refs ...commonv1.Reference) []build.Object {
	t.Helper()
	all := make([]build.Object, n)
	for i := range all {
		all[i] = w.keeper(strconv.Itoa(i), refs...)
		kube.Create(t, w.c, all[i])
	}
	return all
}

// name returns the name of the Object that is a keeper.
func (w world) name(name string) string { return w.target + "-" + name }

// kept returns the ConfigMap that a keeper keeps on the target.
func (w world) kept(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: build.Meta(w.target, name)}
}

// source makes a ConfigMap on the control plane.
func (w world) source(t *testing.T, name string, data map[string]string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, name), Data: data}
	kube.Create(t, w.c, cm)
	return cm
}

// on depends on another keeper.
func (w world) on(name string) commonv1.Reference {
	return commonv1.Reference{DependsOn: &commonv1.DependsOn{Name: w.name(name)}}
}

// onConfigMap depends on a ConfigMap of the control plane.
func (w world) onConfigMap(name string) commonv1.Reference {
	return commonv1.Reference{DependsOn: &commonv1.DependsOn{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: name,
	}}
}

// from patches a field of the manifest with one of a ConfigMap of the control plane.
func (w world) from(name, field, to string, transforms ...commonv1.Transform) commonv1.Reference {
	return commonv1.Reference{ToFieldPath: &to, PatchesFrom: &commonv1.PatchesFrom{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: name, FieldPath: field,
		Transforms: transforms,
	}}
}

// referred is the finalizer on what an Object refers to.
func referred(o build.Object) string { return commonv1.FinalizerReferredPrefix + string(o.GetUID()) }

// awaitPinned waits until a resource has, or has not, the finalizer of an Object.
func awaitPinned(t *testing.T, c client.Client, o build.Object, x client.Object, want bool) {
	t.Helper()
	kube.Await(t, c, x, "finalizer of "+o.GetName()+" on "+x.GetName(), func() (bool, string) {
		return slices.Contains(x.GetFinalizers(), referred(o)) == want, strings.Join(x.GetFinalizers(), ", ")
	})
}

// awaitRecorded waits until the status of an Object names just these resources as pinned.
func awaitRecorded(t *testing.T, c client.Client, o build.Object, want ...string) {
	t.Helper()
	kube.Await(t, c, o, "record of what "+o.GetName()+" refers to", func() (bool, string) {
		got := recorded(o)
		return slices.Equal(got, want), strings.Join(got, ", ")
	})
}

func recorded(o build.Object) []string {
	var names []string
	for _, p := range o.Observed().References {
		names = append(names, p.Kind+" "+p.Name)
	}
	return names
}

// setReferences changes the references of an Object.
func setReferences(t *testing.T, c client.Client, o build.Object, refs ...commonv1.Reference) {
	t.Helper()
	edit(t, c, o, func() { o.Desired().References = refs })
}

// setData changes a value of a ConfigMap.
func setData(t *testing.T, c client.Client, cm *corev1.ConfigMap, key, value string) {
	t.Helper()
	patch := `{"data":{"` + key + `":"` + value + `"}}`
	kube.Patch(t, c, cm, patch)
}

// events returns the messages of the events about an Object that contain a text.
func events(t *testing.T, c client.Client, o build.Object, message string) []string {
	t.Helper()
	return chosenEvents(t, c, o, func(e corev1.Event) bool { return strings.Contains(e.Message, message) })
}

// chosenEvents returns the messages of some events about an Object, each as often as it was told.
func chosenEvents(t *testing.T, c client.Client, o build.Object, wanted func(corev1.Event) bool) []string {
	t.Helper()
	l := &corev1.EventList{}
	kube.List(t, c, l)
	var found []string
	for _, e := range l.Items {
		if e.InvolvedObject.UID == o.GetUID() && wanted(e) {
			found = append(found, slices.Repeat([]string{e.Message}, int(max(1, e.Count)))...)
		}
	}
	return found
}

// patches is a reference that patches a field of the manifest with the same field of another resource.
func patches(p commonv1.PatchesFrom) commonv1.Reference { return commonv1.Reference{PatchesFrom: &p} }

func selectorOf(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}
