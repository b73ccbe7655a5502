package application_test

import (
	"maps"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// awaitData waits until a ConfigMap of the target has some data, and returns it.
func (w world) awaitData(t *testing.T, name string, data ...string) *corev1.ConfigMap {
	t.Helper()
	want, cm := map[string]string{}, &corev1.ConfigMap{}
	for i := 0; i+1 < len(data); i += 2 {
		want[data[i]] = data[i+1]
	}
	kube.Eventually(t, "the data of "+name, func() (bool, string) {
		if cm = w.configMap(t, name); cm == nil {
			return false, "it does not exist"
		}
		return maps.Equal(want, cm.Data), cm.String()
	})
	return cm
}

// lose removes an application and its resources from the control plane as a disaster does: what they have made stays.
func (w world) lose(t *testing.T, names ...string) {
	t.Helper()
	var doomed []client.Object
	for _, n := range names {
		doomed = append(doomed, &resource{ObjectMeta: build.Meta(w.ns, n)})
	}
	doomed = append(doomed, &application{ObjectMeta: build.Meta(w.ns, "web")})
	for _, patch := range []string{
		`{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`, `{"metadata":{"finalizers":null}}`,
	} {
		for _, o := range doomed {
			kube.Patch(t, w.c, o, patch)
		}
		passQueues(t)
	}
	for _, o := range doomed {
		kube.Remove(t, w.c, o)
	}
}

// TestRestoredApplication shows that an application which comes again under its name goes on with its resources and the
// copies of its Secrets, that what has left its templates meanwhile or later goes, and that one which comes with the
// resources of its former self takes these over.
func TestRestoredApplication(t *testing.T) {
	for name, withResources := range map[string]bool{"Alone": false, "WithResources": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			kube.Create(t, w.c, secret(w.ns, "sql", "password", "one"))
			templates := func(data ...string) []workloadv1alpha1.ResourceTemplate {
				return []workloadv1alpha1.ResourceTemplate{
					build.ResourceTemplate("front", build.ConfigMap(w.tns, "front", data...), "sql"),
				}
			}
			w.submit(t, w.application("web", templates("a", "1", "b", "2", "c", "3")...))
			was, copied := w.configMap(t, "front"), w.awaitCopy(t, "front-sql", map[string]string{"password": "one"})
			former := w.resource(t, "front")
			w.lose(t, "front")

			app := w.application("web", templates("a", "1", "b", "2")...)
			if withResources {
				former.ObjectMeta = metav1.ObjectMeta{
					Namespace: w.ns, Name: "front", Finalizers: former.Finalizers, Annotations: former.Annotations,
					OwnerReferences: former.OwnerReferences,
				}
				kube.Create(t, w.c, former)
			}
			w.submit(t, app)
			if now := w.awaitData(t, "front", "a", "1", "b", "2"); now.GetUID() != was.GetUID() {
				t.Error("it is another one than before")
			}
			w.awaitResource(t, "front", workloadv1alpha1.StateSubmitted, xpv2.ReasonReconcileSuccess)
			kube.Update(t, w.c, secret(w.ns, "sql", "password", "two"))
			if now := w.awaitCopy(t, "front-sql", map[string]string{"password": "two"}); now.GetUID() != copied.GetUID() {
				t.Error("the copy of the Secret is another one than before")
			}
			change(t, w.c, app, func(app *application) { app.Spec.ResourceTemplates = templates("a", "1") })
			w.awaitData(t, "front", "a", "1")
			kube.Remove(t, w.c, app)
			kube.AwaitGone(t, w.tc, was, copied)
		})
	}
}

// TestSameNameElsewhere shows that of two applications of one name in two control planes the one that is made last has
// the resource, that the other says so and leaves it alone, also when it is deleted, and that nobody fights.
func TestSameNameElsewhere(t *testing.T) {
	w := newWorld(t)
	app := w.application("web", w.settings("front", "of", "here"))
	w.submit(t, app)
	// The other control plane does what this one would.
	cm := w.configMap(t, "front")
	kube.Patch(t, w.tc, cm, `{"metadata":{"annotations":{"`+workloadv1alpha1.AnnotationKeyResourceUID+`":"elsewhere"}}}`)
	w.awaitResource(t, "front", workloadv1alpha1.StateFailed, commonv1.ReasonNameTaken)
	kube.Remove(t, w.c, app)
	now := w.configMap(t, "front")
	if now == nil || now.GetUID() != cm.GetUID() {
		t.Fatal("the resource is not that of the application any more, and must stay")
	}
	for _, e := range now.GetManagedFields() {
		if e.Operation == metav1.ManagedFieldsOperationApply {
			t.Errorf("want fields that another one takes over, got those of %s", e.Manager)
		}
	}
}

// TestHandOverByAnnotation shows that what another application, an Object or kubectl has applied to a resource which is
// handed over by annotation leaves it when it leaves the template.
func TestHandOverByAnnotation(t *testing.T) {
	for name, make := range map[string]func(*testing.T, world, *unstructured.Unstructured){
		"Application": func(t *testing.T, w world, _ *unstructured.Unstructured) {
			w.submit(t, w.application("former", build.ResourceTemplate("former",
				build.ConfigMap(w.tns, "front", "a", "1", "b", "2"))))
		},
		"Kubectl":       madeBy("kubectl-client-side-apply", false),
		"KubectlServer": madeBy("kubectl", true),
		"LeftByObject":  madeBy("provider-kubernetes/former", false),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			make(t, w, &unstructured.Unstructured{Object: build.ConfigMap(w.tns, "front", "a", "1", "b", "2")})
			app := w.application("web", build.ResourceTemplate("web", build.ConfigMap(w.tns, "front", "a", "1", "b", "2")))
			kube.Create(t, w.c, app)
			r := w.awaitResource(t, "web", workloadv1alpha1.StateFailed, commonv1.ReasonNameTaken)
			kube.Patch(t, w.tc, w.configMap(t, "front"), `{"metadata":{"annotations":{"`+
				workloadv1alpha1.AnnotationKeyResourceUID+`":"`+string(r.GetUID())+`"}}}`)
			awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
			change(t, w.c, app, func(app *application) {
				app.Spec.ResourceTemplates[0].Spec.Template = build.Template(build.ConfigMap(w.tns, "front", "a", "1"))
			})
			w.awaitData(t, "front", "a", "1")
		})
	}
}

// madeBy returns what makes a resource as a field manager, by server-side apply or not.
func madeBy(manager string, applies bool) func(*testing.T, world, *unstructured.Unstructured) {
	return func(t *testing.T, w world, u *unstructured.Unstructured) {
		t.Helper()
		var err error
		if applies {
			err = w.tc.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager))
		} else {
			err = w.tc.Create(t.Context(), u, client.FieldOwner(manager))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestVersionOfTemplate shows that a resource whose template goes to another version of its API stays the same, and
// that its fields leave it in that version.
func TestVersionOfTemplate(t *testing.T) {
	w := newWorld(t)
	group := w.tns + ".example.org"
	d := build.Definition(group, "vats", "size", "color")
	newer := d.Spec.Versions[0].DeepCopy()
	spec := newer.Schema.OpenAPIV3Schema.Properties["spec"]
	spec.Properties["access"] = apiextensionsv1.JSONSchemaProps{
		Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"deny"`)},
	}
	d.Spec.Versions[0].Name, d.Spec.Versions[0].Storage = "v1beta1", false
	d.Spec.Versions = append(d.Spec.Versions, *newer)
	kube.Create(t, w.tc, d)
	vat := func(version string, spec map[string]any) workloadv1alpha1.Template {
		u := build.Resource(group+"/"+version, "Vat", w.tns, "cellar")
		u.Object["spec"] = spec
		return build.Template(u.Object)
	}
	app := w.application("web", workloadv1alpha1.ResourceTemplate{
		Metadata: workloadv1alpha1.ResourceTemplateMetadata{Name: "vat"},
		Spec: workloadv1alpha1.ResourceTemplateSpec{
			Template: vat("v1beta1", map[string]any{"size": "big", "color": "red"}),
		},
	})
	w.submit(t, app)
	is := build.Resource(group+"/v1", "Vat", w.tns, "cellar")
	kube.Get(t, w.tc, types.NamespacedName{Namespace: w.tns, Name: "cellar"}, is)
	was, made := is.GetUID(), w.resource(t, "vat").GetUID()
	for _, spec := range []map[string]any{{"size": "big", "color": "red"}, {"size": "small"}} {
		change(t, w.c, app, func(app *application) { app.Spec.ResourceTemplates[0].Spec.Template = vat("v1", spec) })
		awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
		kube.Await(t, w.tc, is, "the resource in the new version", func() (bool, string) {
			now, _, _ := unstructured.NestedStringMap(is.Object, "spec")
			color, _ := spec["color"].(string)
			return now["size"] == spec["size"] && now["color"] == color && is.GetUID() == was, is.GetName()
		})
	}
	if w.resource(t, "vat").GetUID() != made {
		t.Error("the KubernetesApplicationResource is another one than before")
	}
	kube.Remove(t, w.c, app)
	kube.AwaitGone(t, w.tc, is)
}
