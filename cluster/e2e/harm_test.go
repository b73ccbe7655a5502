package e2e_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	audit "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// snapshot returns the resource of each Object, by the name of the Object.
func snapshot(t *testing.T, tc client.Client, all []*subject) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, s := range all {
		u, err := s.resource(t.Context(), tc)
		if err != nil {
			t.Fatalf("cannot get the resource of Object %s: %v", s.GetName(), err)
		}
		found[s.GetName()] = u
	}
	return found
}

// checkUnharmed checks that resources are what they were, but for who owns their fields: the same UID, generation and
// content.
func checkUnharmed(t *testing.T, all []*subject, before, after map[string]*unstructured.Unstructured) {
	t.Helper()
	for _, s := range all {
		was, is := before[s.GetName()], after[s.GetName()]
		if s.shape.applies() {
			checkOwned(t, s, is)
			if updates(was, peerName) { // It has left the annotation, which counts as a change of a Deployment.
				unstructured.RemoveNestedField(was.Object, "metadata", "annotations",
					corev1.LastAppliedConfigAnnotation)
				unstructured.RemoveNestedField(was.Object, "metadata", "generation")
				unstructured.RemoveNestedField(is.Object, "metadata", "generation")
			}
			unstructured.RemoveNestedField(is.Object, "metadata", "labels", commonv1.LabelKeyManaged)
		}
		if diff := cmp.Diff(content(was), content(is)); diff != "" {
			t.Errorf("resource of Object %s after the takeover: -before, +after:\n%s", s.GetName(), diff)
		}
	}
}

// content returns a resource without what each write changes.
func content(u *unstructured.Unstructured) map[string]any {
	u.SetManagedFields(nil)
	u.SetResourceVersion("")
	for _, m := range []string{"labels", "annotations"} {
		if content, _, _ := unstructured.NestedMap(u.Object, "metadata", m); len(content) == 0 {
			unstructured.RemoveNestedField(u.Object, "metadata", m)
		}
	}
	return u.Object
}

// checkOwned checks that the fields of a resource are ours, and no longer the peer's.
func checkOwned(t *testing.T, s *subject, u *unstructured.Unstructured) {
	t.Helper()
	if updates(u, peerName) {
		t.Errorf("resource of Object %s: fields are still owned by %s", s.GetName(), peerName)
	}
	if s.shape.owns() && u.GetLabels()[commonv1.LabelKeyManaged] != commonv1.LabelValueManaged {
		t.Errorf("resource of Object %s is not labelled", s.GetName())
	}
	if !slices.ContainsFunc(u.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == commonv1.FieldManagerPrefix+s.GetName() && e.Operation == metav1.ManagedFieldsOperationApply
	}) {
		t.Errorf("resource of Object %s is not ours: %v", s.GetName(), u.GetManagedFields())
	}
}

// updates reports whether a manager owns fields by update.
func updates(u *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(u.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationUpdate
	})
}

// checkRequests checks what a takeover costs: one apply for each Object that applies, one patch more if the peer has
// applied it client-side, one dry run for each that only says what it would apply; and on the control plane one write
// of status, one more of an Object that refers to others, which first records that, and for each that refers to it the
// finalizer which the peer has failed to add, and two tries more to write a status that this made outdated; of each
// ProviderConfig, one write of status, which says that it is ready.
func checkRequests(t *testing.T, m marks, all []*subject, config string) {
	t.Helper()
	onTarget := m.onTarget(t).Writes()
	want, objects := map[string]int{}, map[string]int{config: len(build.Scopes())}
	for _, s := range all {
		objects[s.GetName()]++
		if len(referred(s)) > 0 {
			objects[s.GetName()]++
		}
		for _, id := range referred(s) {
			objects[id.Name]++
			if id.Kind == commonv1.ObjectKind {
				objects[id.Name] += 2
			}
		}
		if s.shape.applies() || s.shape.previews() {
			want[s.GetName()] = 1
		}
		if s.shape.applies() && s.byClient || s.shape.owns() && s.shape.before != nil {
			want[s.GetName()]++ // It moves the ownership of fields, also from kubectl.
		}
	}
	got := perName(onTarget)
	if diff := cmp.Diff(want, got); diff != "" {
		odd := append(m.onTarget(t), m.onLocal(t)...).That(func(e audit.AuditEvent) bool {
			return got[e.Name] != want[e.Name]
		})
		t.Errorf("writes to the target for each Object: -want, +got:\n%s\n%s", diff, odd)
	}
	// Some events say that a resource was updated; there is a limit to their number.
	onLocal := m.onLocal(t).Writes().That(func(e audit.AuditEvent) bool { return e.Resource != "events" })
	for name, n := range perName(onLocal) {
		if n > objects[name] {
			t.Errorf("writes to the control plane about %s: want at most %d, got %d of\n%s", name, objects[name], n, onLocal)
		}
	}
}

// shrink removes a field from manifests, however the peer had applied them, and waits until it has left the resources.
// It returns the Objects.
func shrink(t *testing.T, c, tc client.Client, all []*subject) (plain []*subject) {
	t.Helper()
	plain = those(all, func(s *subject) bool { return strings.HasPrefix(s.GetName(), "plain-") })
	for _, s := range plain {
		u, err := s.resource(t.Context(), tc)
		if err != nil {
			t.Fatal(err)
		}
		kube.Get(t, c, client.ObjectKeyFromObject(s), s.Object)
		s.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(u.GetNamespace(), u.GetName(), "color", "blue"))
		kube.Update(t, c, s.Object)
	}
	for _, s := range plain {
		kube.Eventually(t, "the field to leave the resource of "+s.GetName(), func() (bool, string) {
			u, err := s.resource(t.Context(), tc)
			if err != nil {
				return false, err.Error()
			}
			data, _, _ := unstructured.NestedStringMap(u.Object, "data")
			return maps.Equal(data, map[string]string{"color": "blue"}), u.GetName()
		})
	}
	return plain
}

// leave deletes all Objects, and checks that the resources of those that may delete go with them, and the others stay.
func leave(t *testing.T, c, tc client.Client, all []*subject) {
	t.Helper()
	for _, s := range all {
		kube.Delete(t, c, s.Object)
	}
	for _, s := range all {
		kube.AwaitGone(t, c, s.Object)
		u, err := s.resource(t.Context(), tc)
		gone := apierrors.IsNotFound(err) || u.GetDeletionTimestamp() != nil // Namespaces take a controller to go.
		if gone != s.shape.deletes() {
			t.Errorf("resource of Object %s is gone: want %t, got %t", s.GetName(), s.shape.deletes(), gone)
		}
	}
}
