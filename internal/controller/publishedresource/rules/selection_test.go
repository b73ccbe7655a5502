package rules_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectcontroller "github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	labelTeam      = "team"
	stateNamespace = "states"
	unsynced       = "\nsynchronization: {enabled: false}"
)

// TestSelection shows that two providers share a service cluster. Each serves the PublishedResources that its selector
// selects, leaves all others alone, also when they go, and takes over what comes to be its own.
func TestSelection(t *testing.T) {
	s := newWorld(t, &shared, "default", "billing")
	stop := s.serve(t, "a")
	defer s.serve(t, "b")()

	pr := s.describe(t, "gadgets", gadgets+"deletionPolicy: Delete")
	s.awaitReady(t, s.describe(t, "parts", parts+unsynced, "a"))
	s.awaitReady(t, s.describe(t, "plans", "resource: {apiGroup: billing.example.org, kind: Plan}"+unsynced, "b"))
	s.read(t, s.c, pr)
	if _, found := pr.Object["status"]; found || len(pr.GetFinalizers()) > 0 {
		t.Errorf("a PublishedResource that nobody selects: want it as it was made, got %v", pr.Object)
	}

	s.give(t, pr, "a")
	s.awaitReady(t, pr)
	above := object("rules.example.org/v1", "Gadget", namespace, "web")
	kcp.CreateServed(t, s.consumer, above)
	s.awaitSize(t, 3)
	if all := (&corev1.SecretList{}); s.c.List(t.Context(), all, client.InNamespace(stateNamespace)) != nil ||
		len(all.Items) != 1 {
		t.Errorf("want one state in the namespace of the flag, got %d", len(all.Items))
	}

	s.give(t, pr, "b")
	s.resize(t, above, 4)
	s.awaitSize(t, 4)
	stop() // From now on the other one is alone.
	s.resize(t, above, 5)
	s.awaitSize(t, 5)

	s.give(t, pr, "")
	publications := 0
	pass := func() { // Publishes one more API, after which the provider has seen what was before.
		publications++
		s.awaitReady(t, s.describe(t, fmt.Sprintf("portion%ds", publications), fmt.Sprintf(parts+
			"projection: {plural: portion%[1]ds, kind: Portion%[1]d}"+unsynced, publications), "b"))
	}
	pass()
	s.resize(t, above, 6)
	kube.Holds(t, "the copy to be left alone", func() (bool, string) { return s.hasSize(t, 5) }, pass)
	s.remove(t, pr)
	kube.Holds(t, "copy and API to stay", func() (bool, string) {
		s.read(t, s.in, above)
		return s.hasSize(t, 5)
	}, pass)
}

// serve runs a provider for a team. The function it returns ends it.
func (s *world) serve(t *testing.T, team string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	wait := provider.StartUntil(t, ctx, s.server.User(t, "provider", "system:masters"),
		func(o *objectcontroller.Options) {
			o.PublishedResourceSelector = labels.SelectorFromSet(labels.Set{labelTeam: team})
			o.StateNamespace = stateNamespace
		})
	return func() { cancel(); wait() }
}

// give labels a PublishedResource with a team, or takes its label away.
func (s *world) give(t *testing.T, pr *unstructured.Unstructured, team string) {
	t.Helper()
	value := "null"
	if team != "" {
		value = fmt.Sprintf("%q", team)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, labelTeam, value)
	kube.Patch(t, s.c, pr, string(patch))
}

// remove deletes a PublishedResource that nobody serves, and takes its finalizers off.
func (s *world) remove(t *testing.T, pr *unstructured.Unstructured) {
	t.Helper()
	s.read(t, s.c, pr)
	if !slices.Contains(pr.GetFinalizers(), "finalizer.managedresource.crossplane.io") {
		t.Errorf("want the finalizer to stay for who comes next, got %v", pr.GetFinalizers())
	}
	kube.Delete(t, s.c, pr)
	kube.Patch(t, s.c, pr, `{"metadata":{"finalizers":null}}`)
	kube.AwaitGone(t, s.c, pr)
}

func (s *world) read(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	kube.Get(t, c, client.ObjectKeyFromObject(o), o)
}

func (s *world) resize(t *testing.T, above *unstructured.Unstructured, size int) {
	t.Helper()
	kube.Patch(t, s.in, above, fmt.Sprintf(`{"spec":{"size":%d}}`, size))
}

// awaitSize waits until there is one Gadget on the service cluster, of a size.
func (s *world) awaitSize(t *testing.T, size int64) {
	t.Helper()
	kube.Eventually(t, "one copy of the right size", func() (bool, string) { return s.hasSize(t, size) })
}

// hasSize reports whether there is one Gadget on the service cluster, of a size.
func (s *world) hasSize(t *testing.T, size int64) (has bool, state string) {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("rules.example.org/v1")
	list.SetKind("GadgetList")
	if err := s.c.List(t.Context(), list); err != nil || len(list.Items) != 1 {
		return false, fmt.Sprint(err, len(list.Items))
	}
	got, _, err := unstructured.NestedInt64(list.Items[0].Object, "spec", "size")
	return got == size, fmt.Sprint(got, err)
}
