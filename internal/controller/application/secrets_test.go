package application_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// awaitCopy waits until a Secret of the world's namespace on the target has content, and returns it.
func (w world) awaitCopy(t *testing.T, name string, want map[string]string) *corev1.Secret {
	t.Helper()
	s := secret(w.tns, name)
	kube.Await(t, w.tc, s, "Secret "+name, func() (bool, string) {
		got := map[string]string{}
		for k, v := range s.Data {
			got[k] = string(v)
		}
		diff := cmp.Diff(want, got)
		return diff == "", "-want, +got:\n" + diff
	})
	return s
}

// needing returns a template of a Deployment that needs Secrets.
func (w world) needing(name string, secrets ...string) workloadv1alpha1.ResourceTemplate {
	return build.ResourceTemplate(name, build.Deployment(w.tns, name), secrets...)
}

// TestSecretsOfTwoResources shows that two resources get a copy each of one Secret, that the copies follow it, and go
// with their resources.
func TestSecretsOfTwoResources(t *testing.T) {
	w := newWorld(t)
	sql := secret(w.ns, "sql", "username", "admin", "password", "first")
	sql.Type = "connection.crossplane.io/v1alpha1"
	kube.Create(t, w.c, sql)
	app := w.application("web", w.needing("front", "sql"), w.needing("back", "sql"))
	w.submit(t, app)
	for _, name := range []string{"front-sql", "back-sql"} {
		got := w.awaitCopy(t, name, map[string]string{"username": "admin", "password": "first"})
		if got.Type != sql.Type {
			t.Errorf("%s: want type %s, got %s", name, sql.Type, got.Type)
		}
	}
	front := w.resource(t, "front")
	raw, err := json.Marshal(front)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("first")) || bytes.Contains(raw, []byte("Zmlyc3Q=")) {
		t.Error("a resource must not show the values of Secrets")
	}

	change(t, w.c, sql, func(s *corev1.Secret) {
		s.Data = map[string][]byte{"username": []byte("admin"), "password": []byte("second"), "port": []byte("5432")}
	})
	want := map[string]string{"username": "admin", "password": "second", "port": "5432"}
	w.awaitCopy(t, "front-sql", want)
	w.awaitCopy(t, "back-sql", want)
	change(t, w.c, sql, func(s *corev1.Secret) { delete(s.Data, "port") })
	delete(want, "port")
	w.awaitCopy(t, "front-sql", want)

	change(t, w.c, app, func(app *application) { app.Spec.ResourceTemplates[0] = w.needing("front") })
	kube.AwaitGone(t, w.tc, secret(w.tns, "front-sql"))
	w.awaitCopy(t, "back-sql", want)
	kube.Remove(t, w.c, app)
	kube.AwaitGone(t, w.tc, secret(w.tns, "back-sql"))
	if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(sql), sql); err != nil {
		t.Errorf("the Secret itself must stay: %v", err)
	}
}

// TestSecretMissing shows that a resource waits for a Secret that does not exist and says so, and that one which goes
// later takes nothing with it.
func TestSecretMissing(t *testing.T) {
	w := newWorld(t)
	app := w.application("web", w.needing("front", "sql"), w.settings("other"))
	kube.Create(t, w.c, app)
	awaitState(t, w.c, app, workloadv1alpha1.StatePartiallySubmitted)
	r := w.awaitResource(t, "front", workloadv1alpha1.StateScheduled, workloadv1alpha1.ReasonWaitingForSecret)
	if m := r.GetCondition(xpv2.TypeSynced).Message; !strings.Contains(m, "sql") {
		t.Errorf("want a message that names the Secret, got %q", m)
	}
	kube.Eventually(t, "the application to say what waits", func() (bool, string) {
		awaitState(t, w.c, app, workloadv1alpha1.StatePartiallySubmitted)
		return strings.Contains(app.GetCondition(xpv2.TypeReady).Message,
			"front waits: waiting for Secrets that do not exist: sql"), said(app)
	})
	kube.Create(t, w.c, secret(w.ns, "sql", "password", "late"))
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
	w.awaitCopy(t, "front-sql", map[string]string{"password": "late"})

	kube.Delete(t, w.c, secret(w.ns, "sql"))
	w.awaitResource(t, "front", workloadv1alpha1.StateSubmitted, workloadv1alpha1.ReasonWaitingForSecret)
	w.awaitCopy(t, "front-sql", map[string]string{"password": "late"})
	kube.Create(t, w.c, secret(w.ns, "sql", "password", "later"))
	w.awaitCopy(t, "front-sql", map[string]string{"password": "later"})
	w.awaitResource(t, "front", workloadv1alpha1.StateSubmitted, xpv2.ReasonReconcileSuccess)
}

// TestSecretCopyIsMended shows that a copy which somebody changes, deletes or strips of our marks becomes as it was,
// and that a Secret whose type changes is replaced.
func TestSecretCopyIsMended(t *testing.T) {
	w := newWorld(t)
	sql := secret(w.ns, "sql", "password", "right")
	kube.Create(t, w.c, sql)
	app := w.application("web", w.needing("front", "sql"))
	w.submit(t, app)
	right := map[string]string{"password": "right"}
	s := w.awaitCopy(t, "front-sql", right)
	for name, spoil := range map[string]func(*corev1.Secret){
		"Changed":  func(s *corev1.Secret) { s.Data["password"] = []byte("wrong") },
		"Emptied":  func(s *corev1.Secret) { s.Data = nil },
		"Stripped": func(s *corev1.Secret) { s.Labels, s.Annotations = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			change(t, w.tc, s, spoil)
			w.awaitCopy(t, "front-sql", right)
			kube.Eventually(t, "our marks", func() (bool, string) {
				s = w.awaitCopy(t, "front-sql", right)
				return s.GetAnnotations()[workloadv1alpha1.AnnotationKeyResourceUID] != "" &&
					len(s.GetLabels()) > 0, "they are missing"
			})
		})
	}
	kube.Delete(t, w.tc, s)
	w.awaitCopy(t, "front-sql", right)
	kube.Delete(t, w.c, sql)
	sql = secret(w.ns, "sql", "username", "u", "password", "p")
	sql.Type = corev1.SecretTypeBasicAuth
	kube.Create(t, w.c, sql)
	kube.Await(t, w.tc, s, "a copy of the other type", func() (bool, string) {
		return s.Type == corev1.SecretTypeBasicAuth, string(s.Type)
	})
}

// TestSecretWithoutNamespace shows that a resource which lives in no namespace cannot have Secrets, and says so.
func TestSecretWithoutNamespace(t *testing.T) {
	w := newWorld(t)
	app := w.application("web", build.ResourceTemplate("space", build.Namespace(w.tns+"-more"), "sql"))
	kube.Create(t, w.c, app)
	r := w.awaitResource(t, "space", workloadv1alpha1.StateFailed, "InvalidManifest")
	if m := r.GetCondition(xpv2.TypeSynced).Message; !strings.Contains(m,
		"needs the namespace of the resource, but Namespace is cluster-scoped") {
		t.Errorf("want a message that tells why, got %q", m)
	}
	change(t, w.c, app, func(app *application) { app.Spec.ResourceTemplates[0].Spec.Secrets = nil })
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
	kube.Remove(t, w.c, app)
	ns := &corev1.Namespace{ObjectMeta: build.Meta("", w.tns+"-more")}
	if err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(ns), ns); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace must be gone: %v", err)
	}
}
