package object_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// Manifests of what does not change, with what is to change as VALUE, or as the last part of an address.
const (
	fixedConfigMap = `{"apiVersion":"v1","kind":"ConfigMap","immutable":true,"data":{"color":"VALUE"}}`
	fixedSecret    = `{"apiVersion":"v1","kind":"Secret","immutable":true,"stringData":{"color":"hunter2-VALUE"}}`
	fixedJob       = `{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{"spec":{"restartPolicy":"Never",
		"containers":[{"name":"main","image":"VALUE"}]}}}}`
	fixedBinding = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","roleRef":{
		"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"VALUE"}}`
	fixedService = `{"apiVersion":"v1","kind":"Service","spec":{"clusterIP":"10.0.0.ADDRESS","ports":[{"port":80}]}}`
	fixedPort    = `{"apiVersion":"v1","kind":"Service","spec":{"clusterIP":"10.0.0.ADDRESS","type":"NodePort",
		"ports":[{"port":80,"nodePort":3002PORT}]}}`
	fixedClaim = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","spec":{"accessModes":["ReadWriteOnce"],
		"storageClassName":"VALUE","resources":{"requests":{"storage":"2Gi"}}}}`
	fixedSet = `{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"replicas":0,"serviceName":"VALUE",
		"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},
		"spec":{"containers":[{"name":"main","image":"registry.example.org/app:1"}]}}}}`
	fixedPlot = `{"apiVersion":"GROUP/v1","kind":"Plot","spec":{"zone":"VALUE"}}`
)

// fixed returns a manifest of a resource that does not change, with a value: a or b.
func (w world) fixed(t *testing.T, text, value string) build.Manifest {
	t.Helper()
	scope := nodePort(w)[4:] // Addresses are those of one cluster.
	return w.made(t, "fixed", strings.NewReplacer("VALUE", value, "GROUP", w.target+".example.org", "PORT", scope,
		"ADDRESS", map[string]string{"7a": "11", "7b": "12", "8a": "13", "8b": "14"}[scope+value]).Replace(text))
}

// recreates makes an Object of a manifest that recreates its resource, and waits until it is ready.
func (w world) recreates(t *testing.T, m build.Manifest) build.Object {
	t.Helper()
	o := w.object(m)
	o.Desired().ForProvider.OnImmutableChange = commonv1.ImmutableChangeRecreate
	createReady(t, w.c, o)
	return o
}

// liveOf returns the resource of a manifest.
func (w world) liveOf(t *testing.T, m build.Manifest) *unstructured.Unstructured {
	t.Helper()
	u := (&unstructured.Unstructured{Object: m}).DeepCopy()
	kube.Get(t, w.tc, client.ObjectKeyFromObject(u), u)
	return u
}

// awaitRecreated waits until there is another resource than one that was.
func (w world) awaitRecreated(t *testing.T, was *unstructured.Unstructured) {
	t.Helper()
	now := was.DeepCopy()
	kube.Eventually(t, "another "+was.GetKind(), func() (bool, string) {
		err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(was), now)
		return err == nil && now.GetUID() != was.GetUID(), message(err)
	})
}

// TestImmutableIsRecreated shows that a resource whose change the target never makes is deleted and made again, in
// whatever words the target says so, that an event names the fields, and that of a Secret no value is repeated.
func TestImmutableIsRecreated(t *testing.T) {
	for name, tc := range map[string]struct{ manifest, fields string }{
		"Job":         {fixedJob, "spec.template"},
		"Service":     {fixedService, "spec.clusterIPs"},
		"RoleBinding": {fixedBinding, "roleRef"},
		"ConfigMap":   {fixedConfigMap, "data"},
		"Secret":      {fixedSecret, "data"},
		"Plot":        {fixedPlot, "spec.zone"},
	} {
		t.Run(name, func(t *testing.T) {
			forWorldsBeside(t, func(t *testing.T, w world) {
				if name == "Plot" {
					d := build.Definition(w.target+".example.org", "plots", "zone")
					fields := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
					zone := fields["zone"]
					zone.XValidations = apiextensionsv1.ValidationRules{{Rule: "self == oldSelf", Message: "zone is immutable"}}
					fields["zone"] = zone
					kube.Create(t, w.tc, d)
				}
				o := w.object(w.fixed(t, tc.manifest, "a"))
				o.Desired().ForProvider.OnImmutableChange = commonv1.ImmutableChangeRecreate
				o.SetAnnotations(map[string]string{commonv1.AnnotationKeyRunOnce: "true"}) // A changed manifest runs again.
				createReady(t, w.c, o)
				was := w.liveOf(t, w.fixed(t, tc.manifest, "a"))
				setManifest(t, w.c, o, w.fixed(t, tc.manifest, "b"))
				w.awaitRecreated(t, was)
				awaitReady(t, w.c, o)
				said := awaitEvent(t, w.c, o, "RecreatingResource")
				if !strings.Contains(said, "cannot change it: ") || !strings.Contains(said, tc.fields) {
					t.Errorf("event: want it to name %s, got %q", tc.fields, said)
				}
				if all := strings.Join(events(t, w.c, o, ""), "\n"); strings.Contains(all, "hunter2") {
					t.Errorf("events: want no value of a Secret, got %s", all)
				}
				kube.Remove(t, w.c, o)
				w.exists(t, was, false)
			})
		})
	}
}

// An unfollowed is why a resource stays although its Object recreates.
type unfollowed struct {
	manifest string
	// before is what happens before the Object is made, and after when it has made its resource.
	before func(t *testing.T, w world, o build.Object)
	after  func(t *testing.T, w world, o build.Object, was *unstructured.Unstructured)
	// change is what the author makes of the manifest, its other value if nil.
	change func(m build.Manifest) build.Manifest
	want   string
}

// allUnfollowed are why resources stay, one for each condition.
func allUnfollowed() map[string]unfollowed {
	return map[string]unfollowed{
		"Frozen": { // Its name has the word by which servers refuse.
			manifest: strings.Replace(fixedConfigMap, `"immutable":true,`, "", 1),
			after: func(t *testing.T, w world, _ build.Object, _ *unstructured.Unstructured) {
				deny(t, w.tc, w.target+"-immutable", `{
					"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"`+w.target+`"}},
					"resourceRules":[{"apiGroups":[""],"apiVersions":["*"],"operations":["UPDATE"],"resources":["configmaps"]}]}`,
					"false")
				kube.Eventually(t, "the policy", func() (bool, string) {
					cm := w.kept("fixed")
					err := w.tc.Patch(t.Context(), cm, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"a":"b"}}`)),
						client.DryRunAll)
					return apierrors.IsInvalid(err), message(err)
				})
			},
			want: "the target does not report that a field is immutable",
		},
		"Drift": {
			manifest: strings.Replace(fixedConfigMap, `"immutable":true,`, "", 1),
			after: func(t *testing.T, w world, _ build.Object, was *unstructured.Unstructured) {
				kube.Patch(t, w.tc, was, `{"immutable":true,"data":{"color":"red"}}`)
			},
			change: func(m build.Manifest) build.Manifest { return m },
			want:   "the manifest has not changed since it was applied",
		},
		"NeverDelete": {
			manifest: fixedJob,
			before:   func(_ *testing.T, _ world, o build.Object) { o.SetManagementPolicies(neverDelete) },
			want:     "managementPolicies must allow",
		},
		"Orphan": {
			manifest: fixedJob,
			before: func(_ *testing.T, _ world, o build.Object) {
				o.SetManagementPolicies(neverDelete)
				if o, ok := o.(*objectv1alpha2.Object); ok {
					o.SetManagementPolicies(xpv2.ManagementPolicies{"*"})
					o.Spec.DeletionPolicy = xpv2.DeletionOrphan
				}
			},
			want: "deletionPolicy must not be Orphan",
		},
		"Foreign": {
			manifest: fixedConfigMap,
			after: func(t *testing.T, w world, o build.Object, was *unstructured.Unstructured) {
				pause(t, w.c, o)
				kube.Delete(t, w.tc, was.DeepCopy())
				theirs := w.kept("fixed")
				theirs.Immutable, theirs.Data = new(true), map[string]string{"color": "red"}
				kube.Create(t, w.tc, theirs)
				was.SetUID(theirs.GetUID())
				unpause(t, w.c, o)
			},
			want: "the Object has not applied the existing resource",
		},
		"Claim": {manifest: fixedClaim, want: "a PersistentVolumeClaim is never recreated"},
		"Set":   {manifest: fixedSet, want: "deletionPropagationPolicy Orphan"},
		"Finalizer": {
			manifest: fixedJob,
			after: func(t *testing.T, w world, _ build.Object, was *unstructured.Unstructured) {
				kube.Patch(t, w.tc, was, `{"metadata":{"finalizers":["`+theirFinalizer+`"]}}`)
			},
			want: "the resource has finalizers: " + theirFinalizer,
		},
		"Shared": {
			manifest: fixedJob,
			after: func(t *testing.T, w world, _ build.Object, _ *unstructured.Unstructured) {
				other := w.scope.Object(w.namespace, w.target+"-other", w.config, nameOf("batch/v1", "Job", w.target, "fixed"))
				other.SetManagementPolicies(observeOnly)
				createReady(t, w.c, other)
			},
			want: "-other also manages the resource",
		},
		"Referred": {
			manifest: fixedJob,
			after: func(t *testing.T, w world, o build.Object, _ *unstructured.Unstructured) {
				other := w.keeper("other", commonv1.Reference{DependsOn: &commonv1.DependsOn{Name: o.GetName()}})
				createReady(t, w.c, other)
				awaitPinned(t, w.c, other, o, true)
			},
			want: "another Object refers to this one",
		},
		"Invalid": {
			manifest: fixedJob,
			change: func(m build.Manifest) build.Manifest {
				_ = unstructured.SetNestedField(m, "Sometimes", "spec", "template", "spec", "restartPolicy")
				return m
			},
			want: "the target also rejects the manifest for a new resource",
		},
		"Taken": {manifest: fixedPort, want: "provided port is already allocated"},
	}
}

// TestImmutableStays shows for each condition of onImmutableChange that the resource stays where it does not hold, and
// that condition Synced says which does not.
func TestImmutableStays(t *testing.T) {
	for name, tc := range allUnfollowed() {
		t.Run(name, func(t *testing.T) {
			forWorldsBeside(t, func(t *testing.T, w world) {
				o := w.object(w.fixed(t, tc.manifest, "a"))
				o.Desired().ForProvider.OnImmutableChange = commonv1.ImmutableChangeRecreate
				if tc.before != nil {
					tc.before(t, w, o)
				}
				createReady(t, w.c, o)
				was := w.liveOf(t, w.fixed(t, tc.manifest, "a"))
				if tc.after != nil {
					tc.after(t, w, o, was)
				}
				m := w.fixed(t, tc.manifest, "b")
				if tc.change != nil {
					m = tc.change(w.fixed(t, tc.manifest, "a"))
				}
				setManifest(t, w.c, o, m)
				awaitCondition(t, w.c, o, failed(commonv1.ReasonInvalidManifest), "the resource is not recreated by "+
					"onImmutableChange: ", tc.want)
				holds(t, w.c, "the resource stays", func() (bool, string) {
					now := w.liveOf(t, w.fixed(t, tc.manifest, "a"))
					return now.GetUID() == was.GetUID() && now.GetDeletionTimestamp() == nil, string(now.GetUID())
				}, o)
			})
		})
	}
}

// TestAdoptedIsNotRecreated shows that a resource which was there before its Object stays until the Object has applied
// it once, and that what is refused as new is no matter of onImmutableChange.
func TestAdoptedIsNotRecreated(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		theirs := w.kept("fixed")
		theirs.Immutable, theirs.Data = new(true), map[string]string{"color": "red"}
		kube.Create(t, w.tc, theirs)
		o := w.object(w.fixed(t, fixedConfigMap, "a"))
		o.Desired().ForProvider.OnImmutableChange = commonv1.ImmutableChangeRecreate
		kube.Create(t, w.c, o)
		awaitCondition(t, w.c, o, failed(commonv1.ReasonInvalidManifest),
			"the resource is not recreated by onImmutableChange: the Object has not applied the existing resource")
		was := theirs.GetUID()
		w.exists(t, theirs, true)
		if theirs.GetUID() != was {
			t.Error("want the resource of others kept")
		}
		setManifest(t, w.c, o, build.ConfigMap(w.target, "other", "a key with spaces", "x"))
		said := awaitCondition(t, w.c, o, failed(commonv1.ReasonInvalidManifest), "a key with spaces")
		if strings.Contains(said, "onImmutableChange") {
			t.Errorf("want no word of what is there, got %s", said)
		}
	})
}

// TestRecreationWaits shows that a resource is gone before it is made again, also if the Object is not to recreate it
// any more, and that of a StatefulSet what depends on it stays.
func TestRecreationWaits(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		o := w.object(w.fixed(t, fixedSet, "a"))
		o.Desired().ForProvider.OnImmutableChange = commonv1.ImmutableChangeRecreate
		o.Desired().ForProvider.DeletionPropagationPolicy = metav1.DeletePropagationOrphan
		createReady(t, w.c, o)
		was := w.liveOf(t, w.fixed(t, fixedSet, "a"))
		setManifest(t, w.c, o, w.fixed(t, fixedSet, "b"))
		awaitMessage(t, w.c, o, replacing,
			"Waiting for the deletion of StatefulSet "+w.target+"/fixed, which is replaced; finalizers: orphan")
		kube.Edit(t, w.c, o, func() { o.Desired().ForProvider.OnImmutableChange = commonv1.ImmutableChangeFail })
		awaitCondition(t, w.c, o, failed(commonv1.ReasonWaitingForDeletion))
		unpin(t, w.tc, was.DeepCopy()) // As the garbage collector does.
		w.awaitRecreated(t, was)
		awaitReady(t, w.c, o)
	})
}

// TestPreviewOfARecreation shows that an Object on a dry run says whether it would recreate its resource, and does not.
func TestPreviewOfARecreation(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		o := w.recreates(t, w.fixed(t, fixedConfigMap, "a"))
		was := w.liveOf(t, w.fixed(t, fixedConfigMap, "a"))
		kube.Patch(t, w.tc, was, `{"metadata":{"finalizers":["`+theirFinalizer+`"]}}`)
		setDryRun(t, w.c, o, `"true"`)
		awaitCondition(t, w.c, o, noDifference)
		setManifest(t, w.c, o, w.fixed(t, fixedConfigMap, "b"))
		awaitCondition(t, w.c, o, cannotCompare, "the resource is not recreated by onImmutableChange: the resource has "+
			"finalizers")
		unpin(t, w.tc, was.DeepCopy())
		awaitCondition(t, w.c, o, cannotCompare, "onImmutableChange would recreate the resource: ")
		w.exists(t, was.DeepCopy(), true)
		setDryRun(t, w.c, o, "null")
		w.awaitRecreated(t, was)
		awaitReady(t, w.c, o)
	})
}
