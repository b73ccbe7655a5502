package object_test

import (
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
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

	who    string
	object build.Object
	secret types.NamespacedName
}

// publish makes an Object that keeps an empty ConfigMap and has a connection secret of some details. Its user on the
// target is its own.
func publish(t *testing.T, s build.Scope, details ...commonv1.ConnectionDetail) published {
	t.Helper()
	return publishAs(t, s, "system:masters", details...)
}

// publishAs is publish for a user of a group.
func publishAs(t *testing.T, s build.Scope, group string, details ...commonv1.ConnectionDetail) published {
	t.Helper()
	c := provide(t)
	p := published{world: world{c: c, tc: target.Client(t), scope: s, target: target.Namespace(t)}}
	p.who = p.target + "-publisher"
	p.namespace, p.config = connect(t, c, s, target.User(t, p.who, group))
	p.secret = types.NamespacedName{Namespace: p.namespace, Name: "connection"}
	p.object = p.world.object(build.ConfigMap(p.target, "settings", "color", "blue"))
	build.WriteConnectionSecret(p.object, p.secret)
	for _, d := range details {
		d.Namespace = p.target
		p.object.Desired().ConnectionDetails = append(p.object.Desired().ConnectionDetails, d)
	}
	return p
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
	kube.Get(t, p.c, client.ObjectKeyFromObject(p.object), p.object)
	for i := range details {
		details[i].Namespace = p.target
	}
	edit(t, p.c, p.object, func() { p.object.Desired().ConnectionDetails = details })
}

// TestConnectionDetails shows what of a resource arrives in the connection secret, and that the Object controls it.
func TestConnectionDetails(t *testing.T) {
	forScopes(t, func(t *testing.T, s build.Scope) {
		p := publish(t, s,
			fromSecret("database", "data.password", "password"),
			fromSecret("database", "data[tls.crt]", "tls.crt"),
			from("v1", "ConfigMap", "settings", "data.color", "color"), // the Object's own
			// provider-kubernetes gives lists and maps as Go prints them, and cannot give all data of a Secret.
			fromSecret("database", "data", "all"),
			from("v1", "Service", "web", "spec.ports", "ports"),
			from("v1", "Service", "web", "spec.ports[0].port", "port"),
		)
		web := &corev1.Service{ObjectMeta: build.Meta(p.target, "web"), Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}},
		}}
		kube.Create(t, p.tc, p.source("database", "password", "hunter2", "tls.crt", "cert"), web)
		kube.Create(t, p.c, p.object)
		awaitReady(t, p.c, p.object)
		got := p.awaitPublished(t, map[string]string{
			"password": "hunter2", "tls.crt": "cert", "color": "blue", "port": "80",
			"all":   `{"password":"hunter2","tls.crt":"cert"}`,
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
// of a source arrives within a second, and that a connection secret that was changed or deleted by somebody is mended.
// A defect of provider-kubernetes: it asks for them at each look, and patches the secret with each update.
func TestConnectionSecretFollows(t *testing.T) {
	const reconciles = 5
	forScopes(t, func(t *testing.T, s build.Scope) {
		p := publish(t, s, fromSecret("database", "data.password", "password"),
			fromSecret("database", "data.user", "user"))
		source := p.source("database", "password", "0", "user", "admin")
		kube.Create(t, p.tc, source)
		kube.Create(t, p.c, p.object)
		awaitReady(t, p.c, p.object)
		want := map[string]string{"password": "0", "user": "admin"}
		mine := p.awaitPublished(t, want)

		there, here := target.Audit(t), local.Audit(t)
		thereMark, hereMark := there.Mark(), here.Mark()
		for range reconciles {
			touch(t, p.c, p.object)
			passes(t, p.c, p.object)
		}
		if diff := cmp.Diff(map[string]int(nil), there.Since(thereMark).By(p.who).Count()); diff != "" {
			t.Errorf("requests to the target of %d reconciles: -want, +got:\n%s", reconciles, diff)
		}
		setManifest(t, p.c, p.object, build.ConfigMap(p.target, "settings", "color", "red"))
		awaitData(t, p.tc, types.NamespacedName{Namespace: p.target, Name: "settings"},
			map[string]string{"color": "red"})
		passes(t, p.c, p.object)
		for what, n := range here.Since(hereMark).By(user).Count() {
			if strings.Contains(what, "secrets") {
				t.Errorf("requests to the control plane of %d reconciles: and an update: want none about secrets, got %d %s",
					reconciles, n, what)
			}
		}

		kube.Figure(t, "a change of a source to its arrival", func() time.Duration {
			source.Data["password"][0]++
			begin := time.Now()
			kube.Update(t, p.tc, source)
			want["password"] = string(source.Data["password"])
			mine = p.awaitPublished(t, want)
			return time.Since(begin)
		})

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
// are published; and that the key keeps its value when its source goes, until it goes from the spec.
func TestAbsentSource(t *testing.T) {
	forScopes(t, func(t *testing.T, s build.Scope) {
		// In provider-kubernetes an absent source fails the whole Object.
		details := []commonv1.ConnectionDetail{
			from("v1", "ConfigMap", "settings", "data.color", "color"),
			fromSecret("database", "data.password", "password"),
			from("v1", "ConfigMap", "settings", "data.shape", "shape"),
			from("v1", "ConfigMap", "settings", "data.color", "not a key"),
		}
		p := publish(t, s, details...)
		kube.Create(t, p.c, p.object)
		awaitCondition(t, p.c, p.object, synced)
		want := "Connection details are missing: password (Secret " + p.target + "/database does not exist), " +
			"shape (ConfigMap " + p.target + "/settings: there is no field data.shape), " +
			"not a key (toConnectionSecretKey \"not a key\" is no key of a Secret)"
		if got := awaitCondition(t, p.c, p.object, unavailable, want); got != want {
			t.Errorf("message of condition Ready: want %q, got %q", want, got)
		}
		p.awaitPublished(t, map[string]string{"color": "blue"})

		p.setDetails(t, details[:2]...)
		source := p.source("database", "password", "hunter2")
		kube.Create(t, p.tc, source)
		awaitReady(t, p.c, p.object)
		all := map[string]string{"color": "blue", "password": "hunter2"}
		p.awaitPublished(t, all)

		kube.Delete(t, p.tc, source)
		awaitCondition(t, p.c, p.object, unavailable)
		awaitCondition(t, p.c, p.object, synced)
		p.awaitPublished(t, all)

		p.setDetails(t, details[1])
		p.awaitPublished(t, map[string]string{"password": "hunter2"})
		p.setDetails(t)
		p.awaitPublished(t, map[string]string{})
		awaitReady(t, p.c, p.object)

		p.setDetails(t, details[1])
		awaitCondition(t, p.c, p.object, unavailable)
		kube.Delete(t, p.c, p.object) // #345 of provider-kubernetes: a broken detail does not hold up deletion.
		kube.AwaitGone(t, p.c, p.object)
	})
}

// TestSourcesOfUnknownKinds shows that kinds which the target does not serve are waited for, however many.
func TestSourcesOfUnknownKinds(t *testing.T) {
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		p := publish(t, s)
		groups := []string{"one." + p.target + ".example.org", "two." + p.target + ".example.org"}
		for i, key := range []string{"one", "two"} {
			d := from(groups[i]+"/v1", "Gadget", "gadget", "spec.color", key)
			d.Namespace = p.target
			p.object.Desired().ConnectionDetails = append(p.object.Desired().ConnectionDetails, d)
		}
		kube.Create(t, p.c, p.object)
		want := "Connection details are missing: one (target does not serve kind Gadget of " + groups[0] + "/v1), " +
			"two (target does not serve kind Gadget of " + groups[1] + "/v1)"
		if got := awaitCondition(t, p.c, p.object, unavailable, want); got != want {
			t.Errorf("message of condition Ready: want %q, got %q", want, got)
		}
		for _, g := range groups {
			kube.Create(t, p.tc, gadgets(g))
			installGadget(t, p, g)
		}
		awaitReady(t, p.c, p.object)
		p.awaitPublished(t, map[string]string{"one": "blue", "two": "blue"})
	})
}

// installGadget creates a Gadget as soon as the target serves the kind.
func installGadget(t *testing.T, p published, group string) {
	t.Helper()
	u := unstructuredOf(build.Manifest{
		"apiVersion": group + "/v1", "kind": "Gadget",
		"metadata": map[string]any{"namespace": p.target, "name": "gadget"}, "spec": map[string]any{"color": "blue"},
	})
	kube.Eventually(t, "the target to serve Gadgets", func() (bool, string) {
		err := p.tc.Create(t.Context(), u)
		return err == nil, message(err)
	})
}

func unstructuredOf(m build.Manifest) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(m)}
}

// TestConnectionSecretOfOthers shows that a Secret which is not the Object's is left alone, and that the Object says
// whose it is.
func TestConnectionSecretOfOthers(t *testing.T) {
	t.Parallel()
	controller := true
	owner := metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "0b1c", Controller: &controller,
	}
	for name, tc := range map[string]struct {
		reason string
		secret corev1.Secret
		want   string
	}{
		"Controlled": {
			reason: "A Secret that somebody controls is theirs.",
			secret: corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{owner}},
				Type:       "connection.crossplane.io/v1alpha1",
			},
			want: `is controlled by Deployment "web": name another in spec.writeConnectionSecretToRef`,
		},
		"Opaque": {
			reason: "A Secret of another type is somebody's.",
			secret: corev1.Secret{Type: corev1.SecretTypeOpaque},
			want:   `exists, has type "Opaque" and no controller: name another in spec.writeConnectionSecretToRef`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			forScopesBeside(t, func(t *testing.T, s build.Scope) {
				p := publish(t, s, from("v1", "ConfigMap", "settings", "data.color", "color"))
				theirs := tc.secret.DeepCopy()
				theirs.Namespace, theirs.Name = p.secret.Namespace, p.secret.Name
				theirs.Data = map[string][]byte{"theirs": []byte("x")}
				kube.Create(t, p.c, theirs, p.object)
				want := "cannot create or update connection secret: cannot create object: Secret " + p.secret.String() +
					" " + tc.want
				if got := awaitCondition(t, p.c, p.object, failed(xpv2.ReasonReconcileError), want); got != want {
					t.Errorf("%s\nmessage of condition Synced: want %q, got %q", tc.reason, want, got)
				}
				staysUnwritten(t, p.c, p.object)
				p.awaitPublished(t, map[string]string{"theirs": "x"})

				kube.Delete(t, p.c, theirs)
				awaitReady(t, p.c, p.object)
				p.awaitPublished(t, map[string]string{"color": "blue"})
			})
		})
	}
}

// TestConnectionSecretIsAdopted shows that a connection secret without a controller, such as one from a backup, is
// taken over.
func TestConnectionSecretIsAdopted(t *testing.T) {
	forScopes(t, func(t *testing.T, s build.Scope) {
		p := publish(t, s, from("v1", "ConfigMap", "settings", "data.color", "color"))
		old := &corev1.Secret{
			ObjectMeta: build.Meta(p.secret.Namespace, p.secret.Name), Type: "connection.crossplane.io/v1alpha1",
			Data: map[string][]byte{"color": []byte("red"), "shape": []byte("round")},
		}
		kube.Create(t, p.c, old, p.object)
		awaitReady(t, p.c, p.object)
		if got := p.awaitPublished(t, map[string]string{"color": "blue"}); !metav1.IsControlledBy(got, p.object) {
			t.Errorf("the Object must control its connection secret, owners: %v", got.OwnerReferences)
		}
	})
}

// TestDetailsWithoutWatch shows that sources which may be read but not watched are read, and that those which may not
// be read are named.
func TestDetailsWithoutWatch(t *testing.T) {
	forScopes(t, func(t *testing.T, s build.Scope) {
		p := publishAs(t, s, "nobody", fromSecret("database", "data.password", "password"),
			fromSecret("forbidden", "data.password", "other"))
		role, binding := namespaceRights(p.target, p.who)
		role.Rules = append(role.Rules, rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"database"},
			Verbs: []string{"get"},
		})
		kube.Create(t, p.tc, role, binding, p.source("database", "password", "hunter2"),
			p.source("forbidden", "password", "x"))
		kube.Create(t, p.c, p.object)
		awaitCondition(t, p.c, p.object, synced)
		want := "Connection details are missing: other (the target forbids to get Secret " + p.target + "/forbidden)"
		if got := awaitCondition(t, p.c, p.object, unavailable, want); got != want {
			t.Errorf("message of condition Ready: want %q, got %q", want, got)
		}
		p.awaitPublished(t, map[string]string{"password": "hunter2"})
	})
}
