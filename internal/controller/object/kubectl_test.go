package object_test

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// service returns the manifest of a Service.
func service(namespace string, ports ...any) build.Manifest {
	m := nameOf("v1", "Service", namespace, "web")
	m["spec"] = map[string]any{"ports": ports, "selector": map[string]any{"app": "web"}}
	return m
}

// pods returns the manifest of a Deployment whose pods have some fields, with an image in each container.
func pods(t *testing.T, namespace, fields string) build.Manifest {
	t.Helper()
	m, spec := build.Deployment(namespace, "web"), map[string]any{}
	if err := utiljson.Unmarshal([]byte(fields), &spec); err != nil {
		t.Fatal(err)
	}
	for _, c := range spec["containers"].([]any) {
		c.(map[string]any)["image"] = "registry.example.org/web:1"
	}
	m["spec"].(map[string]any)["template"].(map[string]any)["spec"] = spec
	return m
}

// asKubectl makes a resource as kubectl apply does without --server-side, with labels.
func (w world) asKubectl(t *testing.T, m build.Manifest, labels map[string]string) {
	t.Helper()
	u := &unstructured.Unstructured{Object: m}
	u.SetLabels(labels)
	if err := w.tc.Create(t.Context(), u, client.FieldOwner("kubectl-client-side-apply")); err != nil {
		t.Fatal(err)
	}
}

// port returns a port of a Service, without a name if that is empty.
func port(name string, number int64) map[string]any {
	p := map[string]any{"port": number}
	if name != "" {
		p["name"] = name
	}
	return p
}

// TestAdoptedFromKubectl shows that fields and items which kubectl apply has written are those of the Object that gives
// them, and go when they leave its manifest, and that others stay.
func TestAdoptedFromKubectl(t *testing.T) {
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	w.asKubectl(t, service(w.target, port("http", 80)), map[string]string{"team": "theirs"})
	o := w.keep(t, service(w.target, port("http", 80)))
	setManifest(t, c, o, service(w.target, port("http", 8080)))
	w.awaitPorts(t, 8080)
}

// awaitPorts waits until the Service of a test has ports, and checks that it has the label of others.
func (w world) awaitPorts(t *testing.T, want ...int32) {
	t.Helper()
	s := &corev1.Service{ObjectMeta: build.Meta(w.target, "web")}
	kube.Await(t, w.tc, s, "the ports", func() (bool, string) {
		var got []int32
		for _, p := range s.Spec.Ports {
			got = append(got, p.Port)
		}
		return slices.Equal(want, got), fmt.Sprint(got)
	})
	if s.Labels["team"] != "theirs" {
		t.Errorf("want the label of others left alone, got %v", s.Labels)
	}
}

// TestPortOfTheManifestAlone shows that a Service of kubectl apply has the port of the manifest alone if that gives
// another port of the same name, and keeps what is not in the way.
func TestPortOfTheManifestAlone(t *testing.T) {
	c := provide(t)
	for name, labels := range map[string]map[string]string{
		"Unseen": {"team": "theirs"}, "Labelled": {"team": "theirs", commonv1.LabelKeyManaged: "true"},
	} {
		for _, named := range []string{"http", ""} {
			t.Run(name+named, func(t *testing.T) {
				w := newWorld(t, c, build.Namespaced())
				w.asKubectl(t, service(w.target, port("http", 80)), labels)
				w.keep(t, service(w.target, port(named, 8080)))
				w.awaitPorts(t, 8080)
			})
		}
	}
}

// TestListsOfTheManifestAlone shows that of a Deployment of kubectl apply the lists that the server refuses together
// with those of the manifest are as the manifest gives them, and that others are left alone.
func TestListsOfTheManifestAlone(t *testing.T) {
	c := provide(t)
	for name, tc := range map[string]struct {
		theirs, ours string // fields of the pod, as JSON
		check        func(corev1.PodSpec) bool
	}{
		"Ports": {
			theirs: `{"containers":[{"name":"web","ports":[{"name":"http","containerPort":80}]},{"name":"side"}]}`,
			ours:   `{"containers":[{"name":"web","ports":[{"name":"http","containerPort":8080}]}]}`,
			check: func(s corev1.PodSpec) bool {
				p := s.Containers[0].Ports
				return len(p) == 1 && p[0].ContainerPort == 8080
			},
		},
		"Env": {
			theirs: `{"containers":[{"name":"web","env":[{"name":"A","value":"x"}]},{"name":"side"}]}`,
			ours: `{"containers":[{"name":"web","env":[{"name":"A",` +
				`"valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}]}`,
			check: func(s corev1.PodSpec) bool {
				e := s.Containers[0].Env
				return len(e) == 1 && e[0].Value == "" && e[0].ValueFrom != nil
			},
		},
		"Volumes": {
			theirs: `{"containers":[{"name":"web"},{"name":"side"}],"volumes":[{"name":"v","configMap":{"name":"x"}}]}`,
			ours:   `{"containers":[{"name":"web"}],"volumes":[{"name":"v","emptyDir":{}}]}`,
			check: func(s corev1.PodSpec) bool {
				return len(s.Volumes) == 1 && s.Volumes[0].EmptyDir != nil && s.Volumes[0].ConfigMap == nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c, build.Namespaced())
			w.asKubectl(t, pods(t, w.target, tc.theirs), nil)
			createReady(t, c, w.object(pods(t, w.target, tc.ours)))
			d := &appsv1.Deployment{}
			kube.Get(t, w.tc, types.NamespacedName{Namespace: w.target, Name: "web"}, d)
			if s := d.Spec.Template.Spec; len(s.Containers) != 2 || !tc.check(s) {
				t.Errorf("want both containers, and the list of the manifest, got %v", s)
			}
		})
	}
}

// TestRefusedManifestTakesNothing shows that a manifest which the server refuses for what is in it takes no field from
// kubectl apply.
func TestRefusedManifestTakesNothing(t *testing.T) {
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	w.asKubectl(t, service(w.target, port("http", 80)), map[string]string{"team": "theirs"})
	o := w.object(service(w.target, port("No Name", 8080)))
	kube.Create(t, c, o)
	awaitCondition(t, c, o, failed(commonv1.ReasonInvalidManifest))
	setManifest(t, c, o, service(w.target, port("more", 8080)))
	awaitReady(t, c, o)
	w.awaitPorts(t, 80, 8080)
}

// TestKubectlKeepsItsOwn shows that an Object which keeps some fields of a resource of others takes none from kubectl
// apply: they stay when the Object goes.
func TestKubectlKeepsItsOwn(t *testing.T) {
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	w.asKubectl(t, build.ConfigMap(w.target, "settings", "color", "blue"), nil)
	o := w.object(build.ConfigMap(w.target, "settings", "color", "blue", "size", "big"))
	o.SetManagementPolicies(observeUpdate)
	kube.Create(t, c, o)
	awaitReady(t, c, o)
	w.awaitData(t, "settings", "color", "blue", "size", "big")
	kube.Remove(t, c, o)
	w.awaitData(t, "settings", "color", "blue")
}
