package object_test

import (
	"slices"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A published is an Object with a connection secret, its sources and what it takes from them.
type published struct {
	world

	object build.Object
	secret types.NamespacedName
}

// publish makes an Object that keeps a ConfigMap and has a connection secret of some details. Its user on the target is
// its own.
func publish(t *testing.T, s build.Scope, details ...commonv1.ConnectionDetail) published {
	t.Helper()
	return publishIn(newWorldAs(t, provide(t), s, "system:masters"), details...)
}

// publishIn is publish in a world.
func publishIn(w world, details ...commonv1.ConnectionDetail) published {
	p := published{world: w, secret: types.NamespacedName{Namespace: w.namespace, Name: "connection"}}
	p.object = w.object(build.ConfigMap(p.target, "settings", "color", "blue"))
	build.WriteConnectionSecret(p.object, p.secret)
	p.want(details...)
	return p
}

// want has the Object take details, of resources in the namespace of its world.
func (p published) want(details ...commonv1.ConnectionDetail) {
	details = slices.Clone(details)
	for i := range details {
		details[i].Namespace = p.target
	}
	p.object.Desired().ConnectionDetails = details
}

// from returns a connection detail: the value of a field of a resource in the namespace of a test, under a key.
func from(apiVersion, kind, name, path, key string) commonv1.ConnectionDetail {
	return commonv1.ConnectionDetail{
		ObjectReference:       corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Name: name, FieldPath: path},
		ToConnectionSecretKey: key,
	}
}

// fromSecret returns a connection detail from a Secret.
func fromSecret(name, path, key string) commonv1.ConnectionDetail {
	return from("v1", "Secret", name, path, key)
}

// source returns a Secret on the target with keys and values in turn.
func (p published) source(name string, data ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: build.Meta(p.target, name), Data: map[string][]byte{}}
	for i := 0; i+1 < len(data); i += 2 {
		s.Data[data[i]] = []byte(data[i+1])
	}
	return s
}

// awaitPublished waits until the connection secret holds keys and values, and nothing else.
func (p published) awaitPublished(t *testing.T, want map[string]string) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{}
	kube.Eventually(t, "connection secret", func() (bool, string) {
		if err := p.c.Get(t.Context(), p.secret, s); err != nil {
			return false, err.Error()
		}
		got := map[string]string{}
		for k, v := range s.Data {
			got[k] = string(v)
		}
		return cmp.Equal(want, got), cmp.Diff(want, got)
	})
	return s
}

// setDetails replaces the connection details of the Object.
func (p published) setDetails(t *testing.T, details ...commonv1.ConnectionDetail) {
	t.Helper()
	kube.Edit(t, p.c, p.object, func() { p.want(details...) })
}

// TestConnectionDetails shows what of a resource arrives in the connection secret, and that the Object controls it. One
// without a controller, such as one from a backup, is taken over.
func TestConnectionDetails(t *testing.T) {
	forScopes(t, func(t *testing.T, s build.Scope) {
		p := publish(t, s,
			fromSecret("database", "data.password", "password"),
			fromSecret("database", "data[tls.crt]", "tls.crt"),
			from("v1", "ConfigMap", "settings", "data.color", "color"), // the Object's own
			// provider-kubernetes gives lists and maps as Go prints them.
			from("v1", "Service", "web", "spec.ports", "ports"),
			from("v1", "Service", "web", "spec.ports[0].port", "port"),
		)
		web := &corev1.Service{ObjectMeta: build.Meta(p.target, "web"), Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}},
		}}
		kube.Create(t, p.tc, p.source("database", "password", "hunter2", "tls.crt", "cert"), web)
		kube.Create(t, p.c, &corev1.Secret{
			ObjectMeta: build.Meta(p.secret.Namespace, p.secret.Name), Type: "connection.crossplane.io/v1alpha1",
			Data: map[string][]byte{"color": []byte("red"), "shape": []byte("round")},
		})
		createReady(t, p.c, p.object)
		got := p.awaitPublished(t, map[string]string{
			"password": "hunter2", "tls.crt": "cert", "color": "blue", "port": "80",
			"ports": `[{"port":80,"protocol":"TCP","targetPort":80}]`,
		})
		if got.Type != "connection.crossplane.io/v1alpha1" {
			t.Errorf("type of the connection secret: got %q", got.Type)
		}
		if !metav1.IsControlledBy(got, p.object) {
			t.Errorf("the Object must control its connection secret, owners: %v", got.OwnerReferences)
		}
	})
}

// TestConnectionSecretFollows shows that a settled Object asks neither server for its connection details, that a change
// of a source arrives, and that a connection secret that was changed or deleted by somebody is mended. A defect of
// provider-kubernetes: it asks for them at each look, and patches the secret with each update.
func TestConnectionSecretFollows(t *testing.T) {
	forScopes(t, func(t *testing.T, s build.Scope) {
		p := publish(t, s, fromSecret("database", "data.password", "password"),
			fromSecret("database", "data.user", "user"))
		source := p.source("database", "password", "0", "user", "admin")
		kube.Create(t, p.tc, source)
		createReady(t, p.c, p.object)
		want := map[string]string{"password": "0", "user": "admin"}
		p.awaitPublished(t, want)

		mark := local.Audit(t).Mark()
		p.asksNothing(t, p.object)
		setManifest(t, p.c, p.object, build.ConfigMap(p.target, "settings", "color", "red"))
		p.awaitData(t, "settings", "color", "red")
		passes(t, p.c, p.object)
		for _, e := range local.Audit(t).Since(mark).By(user) {
			if e.Subject() == "secrets" && e.Namespace == p.namespace {
				t.Errorf("reconciles and an update: want no request about secrets, got %s %s", e.Verb, e.Name)
			}
		}

		want["password"] = "1"
		kube.Patch(t, p.tc, source, `{"stringData":{"password":"1"}}`)
		mine := p.awaitPublished(t, want)
		mine.Data["password"] = []byte("changed")
		mine.Data["more"] = []byte("x")
		mine.Labels = map[string]string{"theirs": "stays"}
		kube.Update(t, p.c, mine)
		if mended := p.awaitPublished(t, want); mended.Labels["theirs"] != "stays" {
			t.Errorf("labels of others must stay, got %v", mended.Labels)
		}
		kube.Delete(t, p.c, mine)
		p.awaitPublished(t, want)
	})
}

// TestAbsentSource shows that a detail that is missing keeps the Object from being ready and says so, while the others
// are published; that it is waited for; that the key keeps its value when its source goes, until it goes from the spec;
// and that it does not hold up the deletion. In provider-kubernetes an absent source fails the whole Object.
func TestAbsentSource(t *testing.T) {
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		color := from("v1", "ConfigMap", "settings", "data.color", "color")
		password := fromSecret("database", "data.password", "password")
		p := publish(t, s, color, password, from("example.org/v1", "Gadget", "gadget", "spec.size", "size"),
			from("v1", "ConfigMap", "settings", "data.shape", "shape"),
			from("v1", "ConfigMap", "settings", "data.color", "not a key"))
		kube.Create(t, p.c, p.object)
		awaitCondition(t, p.c, p.object, synced)
		awaitMessage(t, p.c, p.object, unavailable,
			"Connection details are missing: password (Secret "+p.target+"/database does not exist), "+
				"size (target does not serve kind Gadget of example.org/v1), "+
				"shape (ConfigMap "+p.target+"/settings: there is no field data.shape), "+
				"not a key (toConnectionSecretKey \"not a key\" is not a valid key of a Secret)")
		p.awaitPublished(t, map[string]string{"color": "blue"})

		p.setDetails(t, color, password)
		source := p.source("database", "password", "hunter2")
		kube.Create(t, p.tc, source)
		awaitReady(t, p.c, p.object)
		kube.Delete(t, p.tc, source)
		awaitCondition(t, p.c, p.object, unavailable)
		awaitCondition(t, p.c, p.object, synced)
		p.awaitPublished(t, map[string]string{"color": "blue", "password": "hunter2"})
		p.setDetails(t, color)
		p.awaitPublished(t, map[string]string{"color": "blue"})
		awaitReady(t, p.c, p.object)

		p.setDetails(t, password)
		awaitCondition(t, p.c, p.object, unavailable)
		kube.Remove(t, p.c, p.object) // #345 of provider-kubernetes
	})
}

// TestDetailWithoutKind shows that a detail which does not say what it comes from is named, and keeps neither the
// others from being published nor drift from being reverted, and that nothing is asked for it.
func TestDetailWithoutKind(t *testing.T) {
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		p := publish(t, s,
			from("v1", "ConfigMap", "settings", "data.color", "color"), from("", "Secret", "database", "data.a", "version"),
			from("v1", "", "database", "data.a", "kind"), from("a/b/c", "Secret", "database", "data.a", "malformed"))
		kube.Create(t, p.c, p.object)
		awaitCondition(t, p.c, p.object, synced)
		awaitMessage(t, p.c, p.object, unavailable,
			"Connection details are missing: version (apiVersion, kind and name must be set), "+
				"kind (apiVersion, kind and name must be set), malformed (apiVersion, kind and name must be set)")
		p.awaitPublished(t, map[string]string{"color": "blue"})
		kube.Patch(t, p.tc, emptySettings(p.target), `{"data":{"color":"red"}}`)
		p.awaitData(t, "settings", "color", "blue")
		p.asksNothing(t, p.object)
	})
}

// installGadget creates a Gadget as soon as a server serves the kind.
func installGadget(t *testing.T, c client.Client, m build.Manifest) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	kube.Eventually(t, "Gadgets to be served", func() (bool, string) {
		u.Object = runtime.DeepCopyJSON(m)
		err := c.Create(t.Context(), u)
		return err == nil, message(err)
	})
	return u
}

// TestConnectionSecretOfOthers shows that a Secret which somebody else controls, or which has another type, is left
// alone, and that the Object says whose it is.
func TestConnectionSecretOfOthers(t *testing.T) {
	t.Parallel()
	controlled := &corev1.Secret{Type: "connection.crossplane.io/v1alpha1"}
	controlled.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "0b1c", Controller: new(true),
	}}
	for want, secret := range map[string]*corev1.Secret{
		`is controlled by Deployment "web"`:           controlled,
		`exists, has type "Opaque" and no controller`: {Type: corev1.SecretTypeOpaque},
	} {
		p := publish(t, build.Namespaced(), from("v1", "ConfigMap", "settings", "data.color", "color"))
		secret.Namespace, secret.Name = p.secret.Namespace, p.secret.Name
		secret.Data = map[string][]byte{"theirs": []byte("x")}
		kube.Create(t, p.c, secret, p.object)
		awaitMessage(t, p.c, p.object, failed(xpv2.ReasonReconcileError), "cannot create or update connection secret: "+
			"cannot create object: Secret "+p.secret.String()+" "+want+": name another in spec.writeConnectionSecretToRef")
		staysUnwritten(t, p.c, p.object)
		p.awaitPublished(t, map[string]string{"theirs": "x"})
		kube.Delete(t, p.c, secret)
		awaitReady(t, p.c, p.object)
		p.awaitPublished(t, map[string]string{"color": "blue"})
	}
}
