package object_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// secretWith returns the manifest of a Secret with some stringData.
func secretWith(namespace string, stringData map[string]any) build.Manifest {
	m := nameOf("v1", "Secret", namespace, "login")
	m["stringData"] = stringData
	return m
}

// awaitSecret waits until the Secret of the target has these values.
func (w world) awaitSecret(t *testing.T, want map[string]string) {
	t.Helper()
	kube.Eventually(t, "values of the Secret", func() (bool, string) {
		s, got := &corev1.Secret{}, map[string]string{}
		err := w.tc.Get(t.Context(), types.NamespacedName{Namespace: w.target, Name: "login"}, s)
		for k, v := range s.Data {
			got[k] = string(v)
		}
		return err == nil && cmp.Equal(want, got), cmp.Diff(want, got) + message(err)
	})
}

// TestStringData shows that stringData of a Secret is kept as data is: a value that somebody changes or removes comes
// back, and one that leaves the manifest goes, whatever the policies.
func TestStringData(t *testing.T) {
	c := provide(t)
	for name, policies := range map[string]xpv2.ManagementPolicies{"All": nil, "Update": observeUpdate} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c, build.Namespaced())
			if name == "Update" {
				kube.Create(t, w.tc, &corev1.Secret{ObjectMeta: build.Meta(w.target, "login")})
			}
			o := w.object(secretWith(w.target, map[string]any{"a": "1", "b": "2"}))
			o.SetManagementPolicies(policies)
			kube.Create(t, c, o)
			w.awaitSecret(t, map[string]string{"a": "1", "b": "2"})
			awaitReady(t, c, o)
			for _, drift := range []string{`{"data":{"a":"eA=="}}`, `{"data":{"a":null}}`} {
				s := &corev1.Secret{ObjectMeta: build.Meta(w.target, "login")}
				kube.Patch(t, w.tc, s, drift)
				w.awaitSecret(t, map[string]string{"a": "1", "b": "2"})
			}
			setManifest(t, c, o, secretWith(w.target, map[string]any{"a": "1"}))
			w.awaitSecret(t, map[string]string{"a": "1"})
		})
	}
}

// TestCopiedManifest shows that a manifest that was copied from a live resource is applied without what only a server
// sets, and that nothing is written at rest.
func TestCopiedManifest(t *testing.T) {
	c := provide(t)
	w := newWorldAs(t, c, build.Namespaced(), "system:masters")
	m := build.ConfigMap(w.target, "settings", "color", "blue")
	metadata := m["metadata"].(map[string]any)
	metadata["uid"], metadata["resourceVersion"] = "0d0e5b36-7a4d-4b71-a1e5-9b1f52b5b9f0", "12345"
	metadata["creationTimestamp"], metadata["generation"] = "2020-01-01T00:00:00Z", int64(3)
	metadata["managedFields"] = []any{map[string]any{"manager": "kubectl", "operation": "Update", "apiVersion": "v1"}}
	o := w.object(m)
	createReady(t, c, o)
	staysUnwritten(t, c, o)
	w.asksNothing(t, o)
	setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "red"))
	w.awaitData(t, "settings", "color", "red")
}

// twoVersions returns a definition whose version v1 has a default that v1beta1 does not know.
func twoVersions(group string) *apiextensionsv1.CustomResourceDefinition {
	d := build.Definition(group, "gates", "more")
	newer := d.Spec.Versions[0].DeepCopy()
	spec := newer.Schema.OpenAPIV3Schema.Properties["spec"]
	spec.Properties["access"] = apiextensionsv1.JSONSchemaProps{
		Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"deny"`)},
	}
	d.Spec.Versions[0].Name, d.Spec.Versions[0].Storage = "v1beta1", false
	d.Spec.Versions = append(d.Spec.Versions, *newer)
	return d
}

// gates returns a world whose target serves twoVersions, in a group of its own.
func gates(t *testing.T) (w world, group string) {
	t.Helper()
	w = newWorld(t, provide(t), build.Namespaced())
	group = w.target + ".example.org"
	kube.Create(t, w.tc, twoVersions(group))
	return w, group
}

// gate returns the manifest of a resource of twoVersions.
func gate(group, version, namespace string, spec ...string) build.Manifest {
	m := nameOf(group+"/"+version, "Gate", namespace, "gate")
	m["spec"] = build.ConfigMap("", "", spec...)["data"]
	return m
}

// awaitGate waits until a resource of twoVersions has a spec, and returns it.
func (w world) awaitGate(t *testing.T, group string, want map[string]any) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(group + "/v1")
	u.SetKind("Gate")
	kube.Eventually(t, "the spec of the resource", func() (bool, string) {
		err := w.tc.Get(t.Context(), types.NamespacedName{Namespace: w.target, Name: "gate"}, u)
		return err == nil && cmp.Equal(want, u.Object["spec"]), cmp.Diff(want, u.Object["spec"]) + message(err)
	})
	return u
}

// TestVersionMovesOn shows that a manifest moves to a version of its API that has more defaults than the one before,
// and that the resource stays the same.
func TestVersionMovesOn(t *testing.T) {
	w, group := gates(t)
	c, o := w.c, w.object(gate(group, "v1beta1", w.target, "size", "big", "more", "x"))
	createReady(t, c, o)
	before := w.awaitGate(t, group, map[string]any{"size": "big", "more": "x", "access": "deny"})
	setManifest(t, c, o, gate(group, "v1", w.target, "size", "small"))
	after := w.awaitGate(t, group, map[string]any{"size": "small", "access": "deny"})
	awaitReady(t, c, o)
	if before.GetUID() != after.GetUID() {
		t.Error("the resource was made again")
	}
}

// TestLostManagedFields shows that a server which drops all managed fields with each write of the status, as it cannot
// convert them before Kubernetes 1.37, is not written to for each of these, that drift is seen all the same, and that a
// field which leaves the manifest goes.
func TestLostManagedFields(t *testing.T) {
	w, group := gates(t)
	c, o := w.c, w.object(gate(group, "v1beta1", w.target, "size", "big", "more", "x"))
	whole := map[string]any{"size": "big", "more": "x", "access": "deny"}
	createReady(t, c, o)
	info, err := discovery.NewDiscoveryClientForConfigOrDie(target.Config()).ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	version, keepsFields := utilversion.MustParseGeneric(info.GitVersion), utilversion.MajorMinor(1, 37)
	report := func(phase string) {
		t.Helper()
		u := w.awaitGate(t, group, whole)
		kube.PatchStatus(t, w.tc, u, `{"status":{"phase":"`+phase+`"}}`)
		if fields := u.GetManagedFields(); len(fields) > 0 && version.LessThan(keepsFields) {
			t.Errorf("want the server to drop all managed fields, got %v", fields)
		}
		kube.Eventually(t, "the phase to be seen", func() (bool, string) {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
			return err == nil && strings.Contains(string(o.Observed().Manifest.Raw), `"phase":"`+phase+`"`), message(err)
		})
		awaitReady(t, c, o)
	}
	const losses, most = 6, 9 // Two are made good by three requests each, and a slow machine has time for one more.
	audit := target.Audit(t)
	mark := audit.Mark()
	for i := range losses {
		report(strconv.Itoa(i))
	}
	n := 0
	for _, e := range audit.Since(mark).By(user) {
		if e.Namespace == w.target {
			n++
		}
	}
	if n > most {
		t.Errorf("want at most %d requests, got %d", most, n)
	}
	u := w.awaitGate(t, group, whole)
	kube.Patch(t, w.tc, u, `{"spec":{"size":"small"}}`)
	w.awaitGate(t, group, whole)
	report("last")
	setManifest(t, c, o, gate(group, "v1beta1", w.target, "size", "big"))
	w.awaitGate(t, group, map[string]any{"size": "big", "access": "deny"})
}

// TestFieldThatOthersLack shows that a resource to which nobody can apply, as somebody else has written in a version
// that lacks a field, is kept again once its managed fields are reset.
func TestFieldThatOthersLack(t *testing.T) {
	w, group := gates(t)
	c, o := w.c, w.object(gate(group, "v1", w.target, "size", "big", "access", "allow"))
	createReady(t, c, o)
	u := &unstructured.Unstructured{Object: gate(group, "v1beta1", w.target)}
	kube.PatchStatus(t, w.tc, u, `{"status":{"phase":"lit"}}`)
	setManifest(t, c, o, gate(group, "v1", w.target, "size", "small", "access", "allow"))
	awaitCondition(t, c, o, failed(xpv2.ReasonReconcileError))
	u = &unstructured.Unstructured{Object: gate(group, "v1", w.target)}
	kube.Patch(t, w.tc, u, `{"metadata":{"managedFields":[{}]}}`)
	w.awaitGate(t, group, map[string]any{"size": "small", "access": "allow"})
	awaitReady(t, c, o)
}

// TestFieldLeavesAfterLoss shows that a field which leaves the manifest goes although the server has once lost who owns
// it, and that what others have written stays.
func TestFieldLeavesAfterLoss(t *testing.T) {
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	o := w.object(build.ConfigMap(w.target, "settings", "color", "blue", "size", "big"))
	createReady(t, c, o)
	key := types.NamespacedName{Namespace: w.target, Name: "settings"}
	cm := w.awaitData(t, "settings", "color", "blue", "size", "big")
	kube.Patch(t, w.tc, cm, `{"metadata":{"managedFields":[{}],"labels":{"team":"theirs"}},"data":{"theirs":"too"}}`)
	kube.Eventually(t, "fields to be ours again", func() (bool, string) {
		err := w.tc.Get(t.Context(), key, cm)
		return err == nil && slices.ContainsFunc(cm.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
			return e.Operation == metav1.ManagedFieldsOperationApply
		}), message(err)
	})
	awaitReady(t, c, o)
	setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "red"))
	cm = w.awaitData(t, "settings", "color", "red", "theirs", "too")
	if cm.Labels["team"] != "theirs" {
		t.Errorf("want the label of others left alone, got %v", cm.Labels)
	}
}

// TestFieldLeavesUnseenLoss shows that a field which leaves the manifest goes although the server has lost who owns it
// while nobody looked, and that an event says so if nobody knows.
func TestFieldLeavesUnseenLoss(t *testing.T) {
	c := provide(t)
	for name, known := range map[string]bool{"Known": true, "Unknown": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c, build.Namespaced())
			o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue", "size", "big"))
			pause(t, c, o)
			cm := emptySettings(w.target)
			kube.Patch(t, w.tc, cm, `{"metadata":{"managedFields":[{}]}}`)
			if !known {
				u := &unstructured.Unstructured{}
				err := utiljson.Unmarshal(o.Observed().Manifest.Raw, &u.Object)
				if u.SetManagedFields(nil); err != nil {
					t.Fatal(err)
				}
				o.Observed().Manifest = build.Raw(u.Object)
				if err := c.Status().Update(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "red"))
			unpause(t, c, o)
			want := map[string]string{"color": "red"}
			if !known {
				awaitEvent(t, c, o, "FieldsMayStay")
				want["size"] = "big"
			}
			w.awaitMap(t, "settings", want)
		})
	}
}

// TestSpellings shows that what a server stores otherwise than it is written costs nothing at rest, and that a change
// of it is reverted.
func TestSpellings(t *testing.T) {
	c := provide(t)
	for name, tc := range map[string]struct {
		kind  string
		is    map[string]any // in the manifest
		path  []string       // what is compared of the resource
		want  any
		drift string // a merge patch that another one makes
	}{
		"Quantity": { // The server stores the shortest form.
			kind: "ResourceQuota", path: []string{"spec", "hard"},
			is:    map[string]any{"spec": map[string]any{"hard": map[string]any{"cpu": "2000m", "memory": "1024Mi"}}},
			want:  map[string]any{"cpu": "2", "memory": "1Gi"},
			drift: `{"spec":{"hard":{"cpu":"3"}}}`,
		},
		"Null": { // A field that is null is as one that is not there.
			kind: "ConfigMap", path: []string{"data"},
			is:    map[string]any{"data": map[string]any{"color": "blue"}, "immutable": nil, "binaryData": nil},
			want:  map[string]any{"color": "blue"},
			drift: `{"data":{"color":"red"}}`,
		},
		"DefaultInKey": { // The protocol, which the server sets, is part of the key of a port.
			kind: "Service", path: []string{"spec", "ports"},
			is:    map[string]any{"spec": map[string]any{"clusterIP": "None", "ports": []any{port("web", 80)}}},
			want:  []any{map[string]any{"name": "web", "port": int64(80), "protocol": "TCP", "targetPort": int64(80)}},
			drift: `{"spec":{"ports":[{"name":"other","port":80,"protocol":"TCP","targetPort":80}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldAs(t, c, build.Namespaced(), "system:masters")
			m := nameOf("v1", tc.kind, w.target, "settings")
			u := &unstructured.Unstructured{Object: nameOf("v1", tc.kind, w.target, "settings")}
			maps.Copy(m, tc.is)
			o := w.keep(t, m)
			stored := func() (bool, string) {
				got, _, _ := unstructured.NestedFieldNoCopy(u.Object, tc.path...)
				return cmp.Equal(tc.want, got), cmp.Diff(tc.want, got)
			}
			kube.Await(t, w.tc, u, "the resource as the server stores it", stored)
			staysUnwritten(t, c, o)
			w.asksNothing(t, o)
			kube.Patch(t, w.tc, u, tc.drift)
			kube.Await(t, w.tc, u, "the change to be reverted", stored)
		})
	}
}

// TestDefaultGivesWay shows that a manifest which sets what it has left to a default so far is applied although the
// server does not allow another default beside it, whoever has set more of the resource, and that nothing is written at
// rest.
func TestDefaultGivesWay(t *testing.T) {
	c := provide(t)
	for kind, tc := range map[string]struct{ is, set, want string }{
		"Deployment": {
			`"replicas":0`, `"strategy":{"type":"Recreate"}`,
			`{"strategy":{"type":"Recreate","rollingUpdate":null}}`,
		},
		"StatefulSet": {
			`"serviceName":"web"`, `"updateStrategy":{"type":"OnDelete"}`,
			`{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}`,
		},
	} {
		t.Run(kind, func(t *testing.T) {
			forScopes(t, func(t *testing.T, s build.Scope) {
				w := newWorldAs(t, c, s, "system:masters")
				manifest := func(spec string) build.Manifest {
					return w.made(t, "web", `{"apiVersion":"apps/v1","kind":"`+kind+`","spec":{`+spec+`,
						"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
						"spec":{"containers":[{"name":"main","image":"registry.example.org/app:1"}]}}}}`)
				}
				o := w.keep(t, manifest(tc.is))
				w.byHand(t, manifest(tc.is), "kubectl-edit", operation(`add /spec/minReadySeconds 5`))
				setManifest(t, c, o, manifest(tc.is+`,`+tc.set))
				live := parse(t, `{"apiVersion":"apps/v1","kind":"`+kind+`"}`)
				live.SetName("web")
				live.SetNamespace(w.target)
				want := parse(t, tc.want).Object
				want["minReadySeconds"] = int64(5)
				kube.Await(t, w.tc, live, "the spec of the manifest", func() (bool, string) {
					return has(live.Object["spec"], want), fmt.Sprint(live.Object["spec"])
				})
				awaitReady(t, c, o)
				staysUnwritten(t, c, o)
				w.asksNothing(t, o)
				setManifest(t, c, o, manifest(tc.is))
				kube.Await(t, w.tc, live, "the default again", func() (bool, string) {
					return !has(live.Object["spec"], want), "it is as before"
				})
				awaitReady(t, c, o)
			})
		})
	}
}
