package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// site is a ConfigMap of the control plane that Objects take a value from.
const site = "site"

// newBed makes what Objects of all shapes need: ProviderConfigs, namespaces, and what they refer to beside each other.
// At the end of the test it removes what they have left on the target, which the watches of the next provider would
// carry.
func newBed(t *testing.T, c client.Client) bed {
	t.Helper()
	at := bed{config: credentials(t, c), namespace: target.Namespace(t)}
	for _, s := range build.Scopes() {
		connect(t, c, s, at.config)
	}
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(at.config, site), Data: map[string]string{"region": "eu"}}
	cm.Labels = map[string]string{"is": at.config}
	kube.Create(t, c, cm)
	tc := target.Client(t)
	t.Cleanup(func() { sweep(t, tc, at.namespace) })
	return at
}

// sweep removes all resources of Objects from the target: those in a namespace, and namespaces.
func sweep(t *testing.T, tc client.Client, namespace string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, gvk := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Secret"),
		corev1.SchemeGroupVersion.WithKind("Service"),
		{Group: "apps", Version: "v1", Kind: "Deployment"},
	} {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		if err := tc.DeleteAllOf(ctx, u, client.InNamespace(namespace)); err != nil {
			t.Error(err)
		}
	}
	made := &corev1.NamespaceList{}
	if err := tc.List(ctx, made, client.HasLabels{"app"}); err != nil { // That of testdata/namespace.yaml.
		t.Error(err)
	}
	for _, ns := range made.Items {
		if err := tc.Delete(ctx, &ns); err != nil {
			t.Error(err)
		}
		ns.ResourceVersion, ns.Spec.Finalizers = "", nil
		if err := tc.SubResource("finalize").Update(ctx, &ns); err != nil { // There is no controller that does.
			t.Error(err)
		}
	}
}

// neighbour returns the name of the Object of another shape in the round and the scope of an Object.
func neighbour(o build.Object, shape string) string {
	parts := strings.Split(o.GetName(), "-")
	return strings.Join(append([]string{shape}, parts[len(parts)-2:]...), "-")
}

// depends makes an Object depend on another Object and on a resource of another kind.
func depends(o build.Object, at bed) {
	o.Desired().References = []commonv1.Reference{
		{DependsOn: &commonv1.DependsOn{Name: neighbour(o, "plain"), Namespace: o.GetNamespace()}},
		{DependsOn: &commonv1.DependsOn{APIVersion: "v1", Kind: "ConfigMap", Name: site, Namespace: at.config}},
	}
}

// patched makes an Object take a value from a resource of another kind.
func patched(o build.Object, at bed) {
	to := "data.region"
	o.Desired().References = []commonv1.Reference{{ToFieldPath: &to, PatchesFrom: &commonv1.PatchesFrom{
		APIVersion: "v1", Kind: "ConfigMap", Name: site, Namespace: at.config, FieldPath: "data.region",
	}}}
}

// chained makes an Object take values from another, which depends on a third.
func chained(o build.Object, _ bed) {
	to := "data.uid"
	o.Desired().References = []commonv1.Reference{
		{ToFieldPath: &to, PatchesFrom: &commonv1.PatchesFrom{
			Name: neighbour(o, "depends"), Namespace: o.GetNamespace(),
			FieldPath: "status.atProvider.manifest.metadata.uid",
		}},
		{DependsOn: &commonv1.DependsOn{Name: neighbour(o, "depends"), Namespace: o.GetNamespace()}},
	}
}

// detailed makes an Object publish values of the resource of another Object and of its own.
func detailed(o build.Object, at bed) {
	publish(o, at)
	o.Desired().ConnectionDetails = []commonv1.ConnectionDetail{
		detailOf("ConfigMap", at.namespace, neighbour(o, "plain"), "data.color"), detailOf("ConfigMap", at.namespace,
			o.GetName(), "data.shape"),
		detailOf("ConfigMap", at.namespace, o.GetName(), "metadata.name"),
	}
}

// secretDetailed makes an Object publish a value of its Secret.
func secretDetailed(o build.Object, at bed) {
	publish(o, at)
	o.Desired().ConnectionDetails = []commonv1.ConnectionDetail{detailOf("Secret", at.namespace, o.GetName(),
		"data.password")}
}

func publish(o build.Object, at bed) {
	build.WriteConnectionSecret(o, types.NamespacedName{Namespace: at.config, Name: o.GetName() + "-details"})
}

// detailOf returns a connection detail whose key is the last part of the path.
func detailOf(kind, namespace, name, path string) commonv1.ConnectionDetail {
	from := corev1.ObjectReference{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name, FieldPath: path}
	return build.ConnectionDetail(from, path[strings.LastIndex(path, ".")+1:])
}

// queried makes an Object ready by a CEL query.
func queried(query string) func(build.Object, bed) {
	return func(o build.Object, _ bed) {
		o.Desired().Readiness = commonv1.Readiness{Policy: commonv1.ReadinessDeriveFromCelQuery, CelQuery: query}
	}
}

// newShapes are those that only our Objects have.
func newShapes() map[string]shape {
	return map[string]shape{
		"selects": {with: selects},
		"waits": {with: func(o build.Object, _ bed) {
			o.Desired().References = []commonv1.Reference{{DependsOn: &commonv1.DependsOn{
				Name: neighbour(o, "cel"), WaitFor: commonv1.WaitForReady,
			}}}
		}},
		"from-object": {with: func(o build.Object, _ bed) {
			to := "spec.forProvider.manifest.data.name"
			o.Desired().References = []commonv1.Reference{{ToFieldPath: &to, FromObject: &commonv1.FromObject{
				Name: neighbour(o, "waits"), FieldPath: "status.atProvider.manifest.metadata.name",
			}}}
		}},
		"cel-strings": {
			with: queried("object.data.shape.split('o').size() == 2 && [object.data.color].distinct() == ['blue']"),
		},
		"ignores": {manifest: manifestOf("deployment.yaml"), with: func(o build.Object, _ bed) {
			o.Desired().ForProvider.IgnoreFields = []commonv1.IgnoredField{
				{FieldPath: "spec.replicas"}, {FieldPath: "spec.template.spec.containers[*]"},
			}
		}},
		"dry-run": {before: foreign, with: func(o build.Object, _ bed) {
			o.SetAnnotations(map[string]string{commonv1.AnnotationKeyDryRun: "true"})
		}},
	}
}

// selects makes an Object take a value from a resource that has a label, and change it.
func selects(o build.Object, at bed) {
	to := "data.region"
	o.Desired().References = []commonv1.Reference{{ToFieldPath: &to, PatchesFrom: &commonv1.PatchesFrom{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: at.config, FieldPath: "data.region",
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"is": at.config}},
		Transforms: []commonv1.Transform{{
			Type: commonv1.TransformString, String: &commonv1.StringTransform{Format: "%s-1"},
		}},
	}}}
}

// referred returns what an Object refers to, by kind and name.
func referred(s *subject) []commonv1.PinnedReference {
	var all []commonv1.PinnedReference
	for _, r := range s.Desired().References {
		id := commonv1.PinnedReference{Kind: commonv1.ObjectKind}
		switch {
		case r.PatchesFrom != nil:
			id.Name, id.Kind = r.PatchesFrom.Name, r.PatchesFrom.Kind
		case r.DependsOn != nil:
			id.Name, id.Kind = r.DependsOn.Name, r.DependsOn.Kind
		}
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all
}

// checkHeld checks that all that Objects refer to carries a finalizer for each.
func checkHeld(t *testing.T, c client.Client, all []*subject) {
	t.Helper()
	for _, s := range all {
		pinned := s.Observed().References
		if want := len(referred(s)); len(pinned) != want {
			t.Errorf("Object %s refers to %d resources, and has a finalizer on %v", s.GetName(), want, pinned)
		}
		for _, p := range pinned {
			u := build.Resource(p.APIVersion, p.Kind, p.Namespace, p.Name)
			kube.Get(t, c, client.ObjectKeyFromObject(u), u)
			if !slices.Contains(u.GetFinalizers(), commonv1.FinalizerReferredPrefix+string(s.GetUID())) {
				t.Errorf("%s %s has no finalizer for Object %s", p.Kind, p.Name, s.GetName())
			}
		}
	}
}

// connectionSecrets returns the connection secret of each Object that has one, as it is, by the name of the Object.
func (at bed) connectionSecrets(t *testing.T, c client.Client, all []*subject) map[string]*corev1.Secret {
	t.Helper()
	found := map[string]*corev1.Secret{}
	for _, s := range those(all, func(s *subject) bool { return len(s.Desired().ConnectionDetails) > 0 }) {
		secret, name := &corev1.Secret{}, s.GetName()+"-details"
		kube.Get(t, c, types.NamespacedName{Namespace: at.config, Name: name}, secret)
		if len(secret.Data) != len(s.Desired().ConnectionDetails) {
			t.Errorf("connection secret of Object %s: want %d keys, got %d", s.GetName(),
				len(s.Desired().ConnectionDetails), len(secret.Data))
		}
		found[s.GetName()] = secret
	}
	return found
}
