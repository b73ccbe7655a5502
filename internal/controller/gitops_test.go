package controller_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/gitops"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// tracked is the label by which Argo CD may know what it has applied.
const tracked = "app.kubernetes.io/instance"

// A site is a control plane with all kinds.
type site struct {
	server *kube.Server
	c      client.Client
	ns     string
}

// TestGitOps shows that the health checks of the guide judge Objects by what the provider writes, and that the provider
// leaves what comes from Git as it is.
func TestGitOps(t *testing.T) {
	server := newServer(t)
	server.InstallCRDs(t, filepath.Join("..", "..", "package", "crds"))
	s := &site{server: server, c: server.Client(t, apis.AddToScheme), ns: server.Namespace(t)}
	create(t, s.c, &corev1.Secret{ObjectMeta: build.Meta(s.ns, "target"), Data: map[string][]byte{
		"kubeconfig": kube.Kubeconfig(t, s.server.User(t, "target", "system:masters")),
	}})
	for _, scope := range build.Scopes() {
		create(t, s.c, scope.Config(s.ns, "target", build.FromSecret(s.ns, "target")))
	}
	objects := map[string]*unstructured.Unstructured{}
	for _, scope := range build.Scopes() {
		for name := range verdicts {
			o := s.committed(t, scope, name)
			create(t, s.c, o)
			objects[scope.Name+" "+name] = o
		}
	}
	for name, o := range objects {
		wantHealth(t, name+", not seen", o, "Progressing", "InProgress")
	}
	run(t, server, "system:masters")
	for _, scope := range build.Scopes() {
		for name, v := range verdicts {
			o := objects[scope.Name+" "+name]
			s.awaitCondition(t, o, xpv2.TypeSynced, v.synced)
			if v.deleted {
				kube.Delete(t, s.c, o)
			}
			s.awaitCondition(t, o, xpv2.TypeReady, v.ready)
			wantHealth(t, scope.Name+" "+name, o, v.argo, v.flux)
			o.SetGeneration(o.GetGeneration() + 1)
			wantHealth(t, name+" in Git has changed", o, "Progressing", "InProgress")
		}
	}
	s.wantUntouched(t, objects["Namespaced Ready"])
}

// verdicts are what the checks say of Objects, by their names in lower case.
var verdicts = map[string]struct {
	synced, ready xpv2.ConditionReason
	deleted       bool
	argo, flux    string
}{
	"Ready":    {synced: "ReconcileSuccess", ready: "Available", argo: "Healthy", flux: "Current"},
	"Unready":  {synced: "ReconcileSuccess", ready: "Unavailable", argo: "Progressing", flux: "InProgress"},
	"Unknown":  {synced: "UnknownKind", argo: "Degraded", flux: "Failed"},
	"Waiting":  {synced: "WaitingForReference", argo: "Progressing", flux: "InProgress"},
	"Paused":   {synced: "ReconcilePaused", argo: "Suspended", flux: "InProgress"},
	"Deleting": {synced: "ReconcileSuccess", ready: "Deleting", deleted: true, argo: "Progressing", flux: "InProgress"},
}

// committed returns an Object as it is in Git, with the label by which Argo CD may know it.
func (s *site) committed(t *testing.T, scope build.Scope, name string) *unstructured.Unstructured {
	t.Helper()
	lower := strings.ToLower(name)
	m := build.ConfigMap(s.ns, strings.ToLower(scope.Name)+"-"+lower, "color", "blue")
	switch name {
	case "Unknown":
		m["apiVersion"], m["kind"] = "example.org/v1", "Nothing"
	case "Deleting":
		m["metadata"].(map[string]any)["finalizers"] = []any{"example.org/hold"}
	}
	o := scope.Object(s.ns, lower, "target", m)
	switch name {
	case "Unready":
		o.Desired().Readiness.Policy = "DeriveFromObject"
	case "Waiting":
		missing := commonv1.DependsOn{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.ns, Name: "missing"}
		o.Desired().References = []commonv1.Reference{{DependsOn: &missing}}
	case "Paused":
		o.SetAnnotations(map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
	}
	o.SetLabels(map[string]string{tracked: "shop"})
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	u := &unstructured.Unstructured{Object: content}
	gvk, err := s.c.GroupVersionKindFor(o)
	if err != nil {
		t.Fatal(err)
	}
	u.SetGroupVersionKind(gvk)
	return u
}

// awaitCondition waits until an Object has a condition with a reason, and reads it. No reason is waited for if there is
// none.
func (s *site) awaitCondition(t *testing.T, o *unstructured.Unstructured, of xpv2.ConditionType,
	reason xpv2.ConditionReason,
) {
	t.Helper()
	if reason == "" {
		return
	}
	kube.Await(t, s.c, o, o.GetName()+" to have "+string(of)+" "+string(reason), func() (bool, string) {
		conditioned := &xpv2.ConditionedStatus{}
		if status, ok := o.Object["status"].(map[string]any); ok {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, conditioned); err != nil {
				return false, err.Error()
			}
		}
		return conditioned.GetCondition(of).Reason == reason, fmt.Sprint(conditioned.Conditions)
	})
}

// wantHealth fails the test unless Argo CD and Flux judge a resource as said.
func wantHealth(t *testing.T, what string, u *unstructured.Unstructured, argo, flux string) {
	t.Helper()
	checks := filepath.Join("..", "..", "examples", "gitops")
	status, message := gitops.Argo(t, filepath.Join(checks, "argocd-cm.yaml"), u)
	if status != argo || (status == "Degraded" || status == "Suspended") && message == "" {
		t.Errorf("%s: health by Argo CD: want %s, got %s: %s\n%v", what, argo, status, message, u.Object["status"])
	}
	if got := gitops.Flux(t, filepath.Join(checks, "flux.yaml"), u); got != flux {
		t.Errorf("%s: health by Flux: want %s, got %s\n%v", what, flux, got, u.Object["status"])
	}
}

// wantUntouched fails the test if the provider has changed what is desired of an Object, or if its resource has its
// label.
func (s *site) wantUntouched(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	live := o.DeepCopy()
	kube.Get(t, s.c, client.ObjectKeyFromObject(o), live)
	if g := live.GetGeneration(); g != 1 {
		t.Errorf("generation of an Object that nobody has changed: want 1, got %d", g)
	}
	if diff := cmp.Diff(map[string]string{tracked: "shop"}, live.GetLabels()); diff != "" {
		t.Errorf("labels of the Object: -want, +got:\n%s", diff)
	}
	cm := &corev1.ConfigMap{}
	kube.Get(t, s.c, client.ObjectKey{Namespace: s.ns, Name: "namespaced-ready"}, cm)
	if v, ok := cm.GetLabels()[tracked]; ok {
		t.Errorf("the resource has the label of its Object: %s", v)
	}
}
