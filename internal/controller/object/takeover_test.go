package object_test

import (
	"encoding/json"
	"maps"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// image and byHand are the managers of provider-kubernetes without server-side apply, fromFlag is one these tests
	// configure.
	image    = "crossplane-kubernetes-provider"
	byHand   = "provider"
	fromFlag = "a-former-provider"
	kubectl  = "kubectl-client-side-apply"
)

// A heritage is a ConfigMap that was applied client-side, with an Object that is taken over.
type heritage struct {
	// wrote is what managers have written, in this order.
	wrote []writing
	// unseen says that the status of the Object shows nothing.
	unseen bool
	// want is the data in the end, and annotation what is left of the annotation of a client-side apply.
	want       map[string]string
	annotation string
	// owners are the managers of data in the end, beside that of the Object.
	owners []string
	// patches is how many writes to the target the takeover may take.
	patches int
}

// A writing is what a manager has written.
type writing struct {
	manager    string
	data       map[string]string
	annotation string
	finalizer  string
}

func heritages() map[string]heritage {
	clean, both := map[string]string{"color": "blue"}, map[string]string{"color": "blue", "theirs": "yes"}
	signed := func(manager string) []writing {
		return []writing{{manager: manager, data: map[string]string{"color": "blue", "stale": "yes"}, annotation: "{}"}}
	}
	return map[string]heritage{
		// What a provider-kubernetes of whatever name has applied becomes ours. It never ends a takeover if managed fields
		// are left out of the status, and client-side it leaves a removed key.
		"Image":  {wrote: signed(image), want: clean, patches: 2},
		"ByHand": {wrote: signed(byHand), want: clean, patches: 2},
		"Flag":   {wrote: signed(fromFlag), want: clean, patches: 2},
		"Unseen": {wrote: signed(image), unseen: true, want: clean, patches: 3},
		// A program of the same name that has not applied anything keeps its fields.
		"OtherProvider": {
			wrote: []writing{{manager: byHand, data: both}}, want: both, owners: []string{byHand}, patches: 1,
		},
		// A defect of provider-kubernetes: it overwrites the annotation of kubectl.
		"AnnotationOfKubectl": {
			wrote: []writing{
				{manager: image, data: clean, annotation: "{}"},
				{manager: kubectl, data: map[string]string{"theirs": "yes"}, annotation: `{"data":{"theirs":"yes"}}`},
			},
			want: both, annotation: `{"data":{"theirs":"yes"}}`, owners: []string{kubectl}, patches: 2,
		},
		// A finalizer that was put on the resource stays with whom it serves.
		"Finalizer": {
			wrote: append(signed(image), writing{manager: image, finalizer: commonv1.FinalizerReferredPrefix + "somebody"}),
			want:  clean, patches: 2,
		},
	}
}

// leave makes the ConfigMap as its managers have left it.
func (h heritage) leave(t *testing.T, tc client.Client, namespace string) *corev1.ConfigMap {
	t.Helper()
	cm := emptySettings(namespace)
	for _, w := range h.wrote {
		cm.Data = maps.Clone(cm.Data)
		if cm.Data == nil {
			cm.Data = map[string]string{}
		}
		maps.Copy(cm.Data, w.data)
		if w.annotation != "" {
			cm.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: w.annotation}
		}
		if w.finalizer != "" {
			cm.Finalizers = []string{w.finalizer}
		}
		write := func() error { return tc.Update(t.Context(), cm, client.FieldOwner(w.manager)) }
		if cm.GetUID() == "" {
			write = func() error { return tc.Create(t.Context(), cm, client.FieldOwner(w.manager)) }
		}
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	return cm
}

// adopt makes an Object as a former provider has left it, with what that has seen but for managed fields.
func adopt(t *testing.T, c client.Client, o build.Object, cm *corev1.ConfigMap) {
	t.Helper()
	o.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
	kube.Create(t, c, o)
	awaitCondition(t, c, o, wantCondition{
		Type: xpv2.TypeSynced, Status: corev1.ConditionFalse, Reason: xpv2.ReasonReconcilePaused,
	})
	seen := cm.DeepCopy()
	seen.APIVersion, seen.Kind, seen.ManagedFields = "v1", "ConfigMap", nil
	raw, err := json.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	o.Observed().Manifest = runtime.RawExtension{Raw: raw}
	if err := c.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// dataManagers returns who owns data of a ConfigMap.
func dataManagers(t *testing.T, cm *corev1.ConfigMap) map[string]metav1.ManagedFieldsOperationType {
	t.Helper()
	owners := map[string]metav1.ManagedFieldsOperationType{}
	for _, e := range cm.GetManagedFields() {
		fields := map[string]any{}
		if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields); err != nil {
			t.Fatal(err)
		}
		if _, ok := fields["f:data"]; ok {
			owners[e.Manager] = e.Operation
		}
	}
	return owners
}

// TestClientSideApplied shows that what was applied client-side becomes ours, with what was removed from the manifest
// before, and nothing else; and that no request follows.
func TestClientSideApplied(t *testing.T) {
	c := provide(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		heirs := map[string]heir{}
		for name, h := range heritages() {
			t.Run(name, func(t *testing.T) { heirs[name] = h.takeOver(t, s, c) })
		}
		for name, x := range heirs {
			x.asksNothing(t, x.object)
			heritages()[name].shrink(t, x)
		}
	})
}

// An heir is an Object that has taken over a ConfigMap in its world.
type heir struct {
	world

	object build.Object
}

// takeOver takes over a ConfigMap by an Object.
func (h heritage) takeOver(t *testing.T, s build.Scope, c client.Client) heir {
	t.Helper()
	w := newWorldAs(t, c, s, "system:masters")
	left := h.leave(t, w.tc, w.target)
	o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
	adopt(t, c, o, left)
	if h.unseen {
		o.Observed().Manifest = runtime.RawExtension{}
		if err := c.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	mark := target.Audit(t).Mark()
	unpause(t, c, o)
	awaitReady(t, c, o)
	h.check(t, w, o, left)
	if got := target.Audit(t).Since(mark).By(w.user).Count()["patch configmaps"]; got != h.patches {
		t.Errorf("writes to the target: want %d, got %d", h.patches, got)
	}
	return heir{world: w, object: o}
}

func (h heritage) check(t *testing.T, w world, o build.Object, left *corev1.ConfigMap) {
	t.Helper()
	cm := w.awaitMap(t, "settings", h.want)
	if cm.GetUID() != left.GetUID() {
		t.Error("the resource was made again")
	}
	if got := cm.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; got != h.annotation {
		t.Errorf("annotation of a client-side apply: want %q, got %q", h.annotation, got)
	}
	if diff := cmp.Diff(left.GetFinalizers(), cm.GetFinalizers()); diff != "" {
		t.Errorf("finalizers: -want, +got:\n%s", diff)
	}
	want := map[string]metav1.ManagedFieldsOperationType{
		commonv1.FieldManagerPrefix + o.GetName(): metav1.ManagedFieldsOperationApply,
	}
	for _, other := range h.owners {
		want[other] = metav1.ManagedFieldsOperationUpdate
	}
	if diff := cmp.Diff(want, dataManagers(t, cm)); diff != "" {
		t.Errorf("owners of data: -want, +got:\n%s", diff)
	}
}

// shrink removes the field from the manifest, which then leaves the resource unless somebody else owns it, too.
func (h heritage) shrink(t *testing.T, x heir) {
	t.Helper()
	want := maps.Clone(h.want)
	if len(h.owners) == 0 || h.owners[0] != byHand {
		delete(want, "color")
	}
	want["shape"] = "round"
	setManifest(t, x.c, x.object, build.ConfigMap(x.target, "settings", "shape", "round"))
	x.awaitMap(t, "settings", want)
}
