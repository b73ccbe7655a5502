package object_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestDependencyIsAwaited shows that nothing is made before what it depends on exists, stays and, if it is to, is
// ready, that the Object says so once, and that it goes on then. provider-kubernetes follows no dependency before all
// are there.
func TestDependencyIsAwaited(t *testing.T) {
	ready := func(w world) commonv1.Reference {
		ref := w.on("source")
		ref.DependsOn.WaitFor = commonv1.WaitForReady
		return ref
	}
	group := func(w world) string { return w.namespace + ".example.org" }
	source := func(t *testing.T, w world) client.Object { return w.source(t, "source", nil) }
	for name, tc := range map[string]struct {
		ref   func(world) commonv1.Reference
		begin func(*testing.T, world) client.Object
		want  string // the end of what it says
		end   func(*testing.T, world, client.Object) client.Object
	}{
		"Missing": {
			ref:   func(w world) commonv1.Reference { return w.onConfigMap("source") },
			begin: func(*testing.T, world) client.Object { return nil },
			want:  "/source to exist",
			end:   func(t *testing.T, w world, _ client.Object) client.Object { return source(t, w) },
		},
		"BesideAValue": {
			ref: func(w world) commonv1.Reference {
				ref := w.from("palette", "data.color", "data.color")
				ref.DependsOn = w.onConfigMap("source").DependsOn
				return ref
			},
			begin: func(t *testing.T, w world) client.Object {
				w.source(t, "palette", map[string]string{"color": "red"})
				return nil
			},
			want: "/source to exist",
			end:  func(t *testing.T, w world, _ client.Object) client.Object { return source(t, w) },
		},
		"Terminating": {
			ref: func(w world) commonv1.Reference { return w.onConfigMap("source") },
			begin: func(t *testing.T, w world) client.Object {
				going := source(t, w)
				setFinalizers(t, w.c, going, theirFinalizer)
				kube.Delete(t, w.c, going)
				return going
			},
			want: "which is being deleted",
			end: func(t *testing.T, w world, going client.Object) client.Object {
				unpin(t, w.c, going)
				kube.AwaitGone(t, w.c, going)
				return source(t, w)
			},
		},
		"NotReady": {
			ref: ready,
			begin: func(t *testing.T, w world) client.Object {
				first := w.keeper("source")
				first.Desired().Readiness.Policy = commonv1.ReadinessDeriveFromObject
				kube.Create(t, w.c, first)
				return first
			},
			want: "source to be ready",
			end: func(t *testing.T, w world, first client.Object) client.Object {
				kube.Patch(t, w.c, first, `{"spec":{"readiness":{"policy":"SuccessfulCreate"}}}`)
				return first
			},
		},
		"Unhealthy": {
			ref: func(w world) commonv1.Reference {
				return commonv1.Reference{DependsOn: &commonv1.DependsOn{
					APIVersion: "apps/v1", Kind: "Deployment", Namespace: w.namespace, Name: "source",
					WaitFor: commonv1.WaitForHealthy,
				}}
			},
			begin: func(t *testing.T, w world) client.Object {
				u := &unstructured.Unstructured{Object: build.Deployment(w.namespace, "source")}
				kube.Create(t, w.c, u)
				return u
			},
			want: "/source to be healthy: In progress: ",
			end: func(t *testing.T, w world, u client.Object) client.Object {
				kube.PatchStatus(t, w.c, u, `{"status":{`+rolledOut+`}}`)
				return u
			},
		},
		"QueryFalse": {
			ref: func(w world) commonv1.Reference {
				ref := w.onConfigMap("source")
				ref.DependsOn.CelQuery = "object.?data.?open.orValue('') == 'yes'"
				return ref
			},
			begin: source,
			want:  "/source to satisfy spec.references[0].dependsOn.celQuery: The CEL query is false",
			end: func(t *testing.T, w world, x client.Object) client.Object {
				kube.Patch(t, w.c, x, `{"data":{"open":"yes"}}`)
				return x
			},
		},
		"UnknownKind": {
			ref: func(w world) commonv1.Reference {
				return commonv1.Reference{DependsOn: &commonv1.DependsOn{
					APIVersion: group(w) + "/v1", Kind: "Gadget", Namespace: w.namespace, Name: "gadget",
				}}
			},
			begin: func(*testing.T, world) client.Object { return nil },
			want:  "to serve kind Gadget",
			end: func(t *testing.T, w world, _ client.Object) client.Object {
				kube.Create(t, w.c, build.Definition(group(w), "gadgets"))
				return installGadget(t, w.c, gadget(group(w), w.namespace))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorldsBeside(t, func(t *testing.T, w world) {
				x := tc.begin(t, w)
				o := w.keeper("settings", tc.ref(w))
				kube.Create(t, w.c, o)
				awaitCondition(t, w.c, o, failed(commonv1.ReasonWaitingForReference), tc.want)
				staysUnwritten(t, w.c, o)
				if got := events(t, w.c, o, tc.want); len(got) != 1 {
					t.Errorf("events that say so: want 1, got %d", len(got))
				}
				w.exists(t, emptySettings(w.target), false)

				x = tc.end(t, w, x)
				awaitReady(t, w.c, o)
				awaitPinned(t, w.c, o, x, true)
			})
		})
	}
}

// TestPatchedValues shows that values are read from any kind, transformed and put into the manifest that is applied,
// that a change of them is applied at once, that the stored spec never holds them, and that they go with the
// references. provider-kubernetes stores what it has read from others in the spec (its #223).
func TestPatchedValues(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		source := w.source(t, "source", map[string]string{"color": "red", "size": "2", "region": "here"})
		shout := commonv1.Transform{
			Type: commonv1.TransformString, String: &commonv1.StringTransform{Format: "very %s"},
		}
		o := w.keeper("settings",
			w.from("source", "data.color", "data.color", shout),
			w.from("source", "data.size", "data.size"),
			w.from("source", "data.region", "metadata.labels[example.org/region]"))
		createReady(t, w.c, o)
		cm := w.awaitData(t, "settings", "color", "very red", "size", "2")
		if got := cm.GetLabels()["example.org/region"]; got != "here" {
			t.Errorf("label from a reference: want here, got %q", got)
		}

		for _, color := range []string{"green", "yellow", "black"} {
			setData(t, w.c, source, "color", color)
			w.awaitData(t, "settings", "color", "very "+color, "size", "2")
		}
		stored := w.scope.New()
		kube.Get(t, w.c, client.ObjectKeyFromObject(o), stored)
		if diff := cmp.Diff(o.Desired(), stored.Desired()); diff != "" {
			t.Errorf("spec as made and as stored: -want, +got:\n%s", diff)
		}
		setReferences(t, w.c, o)
		w.awaitData(t, "settings", "color", "blue")
	})
}

// TestFromObject shows the three forms of fromObject: with an absolute path to write to, with a relative one, and with
// none. The Object is found by its name or by labels.
func TestFromObject(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		first := w.keeper("first")
		first.SetLabels(map[string]string{"test": w.target})
		createReady(t, w.c, first)
		from := func(path string, to *string) commonv1.Reference {
			return commonv1.Reference{
				ToFieldPath: to, FromObject: &commonv1.FromObject{Name: w.name("first"), FieldPath: path},
			}
		}
		absolute := from("status.atProvider.manifest.data.color", new("spec.forProvider.manifest.data.absolute"))
		relative := from("status.atProvider.manifest.metadata.name", new("data.relative"))
		relative.FromObject.Name, relative.FromObject.MatchLabels = "", first.GetLabels()
		none := from("status.atProvider.manifest.data.later", nil)
		o := w.keeper("second", absolute, relative, none)
		kube.Create(t, w.c, o)
		awaitCondition(t, w.c, o, failed(commonv1.ReasonWaitingForReference),
			w.name("first")+" to have field status.atProvider.manifest.data.later")
		setManifest(t, w.c, first, build.ConfigMap(w.target, "first", "color", "blue", "later", "now"))
		awaitReady(t, w.c, o)
		w.awaitData(t, "second", "color", "blue", "absolute", "blue", "relative", "first")
	})
}

// TestNameFromReference shows that a resource whose name comes from elsewhere is only looked at, and deleted, under
// that name: never under the name of the Object, which is the default.
func TestNameFromReference(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		bystander := w.kept(w.name("csv"))
		chosen := w.kept("chosen")
		kube.Create(t, w.tc, bystander, chosen)
		source := w.source(t, "source", map[string]string{"name": ""})
		o := w.scope.Object(w.namespace, w.name("csv"), w.config, build.Manifest{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": w.target},
		})
		o.SetManagementPolicies(observeDelete)
		o.Desired().References = []commonv1.Reference{{
			ToFieldPath: new("spec.forProvider.manifest.metadata.name"),
			FromObject: &commonv1.FromObject{
				APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "source", FieldPath: "data.name",
			},
		}}
		kube.Create(t, w.c, o)
		awaitCondition(t, w.c, o, failed(commonv1.ReasonWaitingForReference))
		if len(o.Observed().Manifest.Raw) > 0 {
			t.Errorf("an empty name is none: the Object looked at %s", o.Observed().Manifest.Raw)
		}
		setData(t, w.c, source, "name", "chosen")
		awaitReady(t, w.c, o)
		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, w.tc, chosen)
		w.exists(t, bystander, true)
		awaitPinned(t, w.c, o, source, false)
	})
}

// TestSelector shows that the one resource with some labels is found, also when it appears, is joined by another, or
// changes.
func TestSelector(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.keeper("settings", patches(commonv1.PatchesFrom{
			APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, FieldPath: "data.color",
			Selector: selectorOf("app", "paint"),
		}))
		kube.Create(t, w.c, o)
		awaitCondition(t, w.c, o, failed(commonv1.ReasonWaitingForReference))
		one := &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, "one"), Data: map[string]string{"color": "red"}}
		one.SetLabels(map[string]string{"app": "paint"})
		kube.Create(t, w.c, one)
		awaitReady(t, w.c, o)
		w.awaitData(t, "settings", "color", "red")
		awaitPinned(t, w.c, o, one, true)

		two := &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, "two"), Data: map[string]string{"color": "green"}}
		two.SetLabels(one.GetLabels())
		kube.Create(t, w.c, two)
		awaitCondition(t, w.c, o, failed(commonv1.ReasonWaitingForReference), "exactly one")
		awaitPinned(t, w.c, o, one, true)
		kube.Patch(t, w.c, one, `{"metadata":{"labels":null}}`)
		w.awaitData(t, "settings", "color", "green")
		awaitPinned(t, w.c, o, two, true)
		awaitPinned(t, w.c, o, one, false)
	})
}
