package object_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// made returns a manifest of a name in the namespace of a world on the target, from JSON without metadata.
func (w world) made(t *testing.T, name, text string) build.Manifest {
	t.Helper()
	m := parse(t, text)
	m.SetNamespace(w.target)
	m.SetName(name)
	return build.Manifest(m.Object)
}

// byHand changes a resource on the target as somebody does who uses a command, by JSON patch.
func (w world) byHand(t *testing.T, m build.Manifest, manager, patch string) {
	t.Helper()
	u := &unstructured.Unstructured{Object: m}
	err := w.tc.Patch(t.Context(), u.DeepCopy(), client.RawPatch(types.JSONPatchType, []byte(patch)),
		client.FieldOwner(manager))
	if err != nil {
		t.Fatal(err)
	}
}

// TestKeyChangedByHand shows that a resource is as its manifest has it although somebody has changed there by what the
// server tells items of a list apart, or has set what may not be beside the manifest, and that items which others have
// added stay.
func TestKeyChangedByHand(t *testing.T) {
	const (
		web = `{"apiVersion":"v1","kind":"Service","spec":{"selector":{"app":"a"},"ports":[{"name":"http","port":80}]}}`
		app = `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":0,"selector":{"matchLabels":{"app":"a"}},
			"strategy":{"type":"Recreate"},"template":{"metadata":{"labels":{"app":"a"}},"spec":{
			"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"main","image":"registry.example.org/app:1",
			"ports":[{"name":"http","containerPort":8080}],"env":[{"name":"LEVEL","value":"info"}]}]}}}}`
		pod = "/spec/template/spec"
	)
	for name, tc := range map[string]struct {
		manifest string
		added    string // by somebody, before
		manager  string
		patch    string // as op, path and value
		want     string // of the spec, from JSON
	}{
		"Port": {
			web, `add /spec/ports/- {"name":"metrics","port":9090}`, "kubectl-edit", `replace /spec/ports/0/port 81`,
			`{"ports":[{"name":"http","port":80},{"name":"metrics","port":9090}]}`,
		},
		"PortReplaced": {
			web, "", "kubectl-replace", `replace /spec/ports [{"name":"http","port":81},{"name":"more","port":82}]`,
			`{"ports":[{"name":"http","port":80},{"name":"more","port":82}]}`,
		},
		"PortWithoutName": {
			strings.Replace(web, `"name":"http",`, "", 1), "", "kubectl-patch", `replace /spec/ports/0/port 81`,
			`{"ports":[{"port":80}]}`,
		},
		"Protocol": {
			web, "", "kubectl-edit", `replace /spec/ports/0/protocol "UDP"`,
			`{"ports":[{"name":"http","port":80,"protocol":"TCP"}]}`,
		},
		"PortWithNodePort": {
			strings.Replace(web, `"port":80`, `"port":80,"nodePort":30007`, 1), "", "kubectl-edit",
			`replace /spec/ports/0/port 81`, `{"ports":[{"name":"http","port":80,"nodePort":30007}]}`,
		},
		"ContainerPort": {
			app, `add ` + pod + `/containers/- {"name":"side","image":"registry.example.org/side:1"}`, "kubectl-edit",
			`replace ` + pod + `/containers/0/ports/0/containerPort 9090`,
			`{"template":{"spec":{"containers":[{"name":"main","ports":[{"name":"http","containerPort":8080}]},
				{"name":"side"}]}}}`,
		},
		"Env": {
			app, "", "kubectl-edit", `replace ` + pod + `/containers/0/env ` +
				`[{"name":"LEVEL","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]`,
			`{"template":{"spec":{"containers":[{"env":[{"name":"LEVEL","value":"info"}]}]}}}`,
		},
		"Volume": {
			app, "", "kubectl-edit", `replace ` + pod + `/volumes [{"name":"v","configMap":{"name":"x"}}]`,
			`{"template":{"spec":{"volumes":[{"name":"v","emptyDir":{},"configMap":null}]}}}`,
		},
		"Strategy": {
			app, "", "kubectl-edit", `replace /spec/strategy {"type":"RollingUpdate","rollingUpdate":{"maxSurge":2}}`,
			`{"strategy":{"type":"Recreate","rollingUpdate":null}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorldsBeside(t, func(t *testing.T, w world) {
				text := tc.manifest
				if name == "PortWithNodePort" {
					text = strings.Replace(text, `"selector"`, `"type":"NodePort","selector"`, 1)
					text = strings.ReplaceAll(text, "30007", nodePort(w))
				}
				m := w.made(t, "web", text)
				w.keep(t, m)
				if tc.added != "" {
					w.byHand(t, m, "kubectl-patch", operation(tc.added))
				}
				w.byHand(t, m, tc.manager, operation(tc.patch))
				var want any
				if err := json.Unmarshal([]byte(strings.ReplaceAll(tc.want, "30007", nodePort(w))), &want); err != nil {
					t.Fatal(err)
				}
				live := parse(t, text)
				live.SetName("web")
				live.SetNamespace(w.target)
				kube.Await(t, w.tc, live, "the resource as the manifest has it", func() (bool, string) {
					got, _ := json.Marshal(live.Object["spec"])
					var is any
					_ = json.Unmarshal(got, &is)
					return has(is, want), string(got)
				})
			})
		})
	}
}

// nodePort returns a port of nodes that no other test has.
func nodePort(w world) string {
	if w.scope.Name == build.Namespaced().Name {
		return "30008"
	}
	return "30007"
}

// operation returns a JSON patch of one operation, given as op, path and value.
func operation(text string) string {
	parts := strings.SplitN(text, " ", 3)
	return fmt.Sprintf(`[{"op":%q,"path":%q,"value":%s}]`, parts[0], parts[1], parts[2])
}

// has reports whether a value has the fields of another one, and its lists just the items of that, in whichever order.
// Null is no value.
func has(is, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		m, _ := is.(map[string]any)
		for k, v := range want {
			if !has(m[k], v) {
				return false
			}
		}
		return true
	case []any:
		l, _ := is.([]any)
		return len(l) == len(want) && !slices.ContainsFunc(want, func(w any) bool {
			return !slices.ContainsFunc(l, func(i any) bool { return has(i, w) })
		})
	}
	return is == want
}

// TestOnlyTheChangeIsRefused shows that a change which a server does not make is refused with what cures it, in
// whatever words the server says so, and that of a Secret nothing is repeated.
func TestOnlyTheChangeIsRefused(t *testing.T) {
	const wayOut = "or delete the resource on the target, and the provider recreates it from the manifest"
	kinds := map[string]string{ // with what changes as VALUE, or as a number 1
		"binding": `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","roleRef":{
			"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"role-VALUE"},
			"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"ann"}]}`,
		"claim": `{"apiVersion":"v1","kind":"PersistentVolumeClaim","spec":{"accessModes":["ReadWriteOnce"],
			"storageClassName":"class-VALUE","resources":{"requests":{"storage":"2Gi"}}}}`,
		"class": `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","provisioner":"disks.example.org",
			"parameters":{"type":"VALUE"}}`,
		"priority": `{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","value":1}`,
		"service": `{"apiVersion":"v1","kind":"Service","spec":{"clusterIP":"10.0.0.ADDRESS","selector":{"app":"a"},
			"type":"NodePort","ports":[{"port":80,"nodePort":PORT}]}}`,
		"plot":   `{"apiVersion":"GROUP/v1","kind":"Plot","spec":{"zone":"VALUE"}}`,
		"type":   `{"apiVersion":"v1","kind":"Secret","type":"example.org/VALUE","stringData":{"a":"hunter2"}}`,
		"sealed": `{"apiVersion":"v1","kind":"Secret","immutable":true,"stringData":{"a":"hunter2-VALUE"}}`,
		"deployment": `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":0,
			"selector":{"matchLabels":{"app":"VALUE"}},"template":{"metadata":{"labels":{"app":"VALUE"}},
			"spec":{"containers":[{"name":"main","image":"registry.example.org/app:1"}]}}}}`,
	}
	forWorldsBeside(t, func(t *testing.T, w world) {
		group := w.target + ".example.org"
		d := build.Definition(group, "plots", "zone")
		fields := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
		zone := fields["zone"]
		zone.XValidations = apiextensionsv1.ValidationRules{{Rule: "self == oldSelf", Message: "the zone stays"}}
		fields["zone"] = zone
		kube.Create(t, w.tc, d)
		objs := map[string]build.Object{}
		manifest := func(kind, value, number string) build.Manifest {
			m := w.made(t, w.target, strings.NewReplacer("VALUE", value, `"value":1`, `"value":`+number, "GROUP", group,
				"ADDRESS", map[string]string{"71": "7", "72": "8", "81": "9", "82": "10"}[nodePort(w)[4:]+number],
				"PORT", "3001"+nodePort(w)[4:]).Replace(kinds[kind]))
			if kind == "class" || kind == "priority" {
				delete(m["metadata"].(map[string]any), "namespace")
			} else {
				m["metadata"].(map[string]any)["name"] = kind
			}
			return m
		}
		for kind := range kinds {
			objs[kind] = w.scope.Object(w.namespace, w.target+"-"+kind, w.config, manifest(kind, "a", "1"))
			kube.Create(t, w.c, objs[kind])
		}
		for kind, o := range objs {
			awaitReady(t, w.c, o)
			setManifest(t, w.c, o, manifest(kind, "b", "2"))
		}
		for kind, o := range objs {
			said := awaitCondition(t, w.c, o, failed(commonv1.ReasonInvalidManifest), wayOut)
			if strings.Contains(said, "hunter2") {
				t.Errorf("%s: want no value of a Secret, got %s", kind, said)
			}
		}
		awaitCondition(t, w.c, objs["type"], failed(commonv1.ReasonInvalidManifest), "reason Invalid", ": type")
		awaitCondition(t, w.c, objs["sealed"], failed(commonv1.ReasonInvalidManifest), "reason Invalid", ": data")

		wrong := manifest("deployment", "a", "1")
		wrong["spec"].(map[string]any)["replicas"] = int64(-1)
		setManifest(t, w.c, objs["deployment"], wrong)
		said := awaitCondition(t, w.c, objs["deployment"], failed(commonv1.ReasonInvalidManifest), "spec.replicas")
		if strings.Contains(said, wayOut) {
			t.Errorf("want a manifest that no server takes told from a change, got %s", said)
		}
	})
}

// TestSecretThatIsNotBase64 shows that the key of a Secret whose value is not base64 is named, and the value is not.
func TestSecretThatIsNotBase64(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		o := w.object(w.made(t, "database",
			`{"apiVersion":"v1","kind":"Secret","data":{"user":"YW5u","password":"hunter2!"}}`))
		kube.Create(t, w.c, o)
		said := awaitCondition(t, w.c, o, failed(commonv1.ReasonInvalidManifest), "data.password is not base64")
		if strings.Contains(said, "hunter2") || strings.Contains(said, "data.user") {
			t.Errorf("want the key alone, got %s", said)
		}
	})
}
