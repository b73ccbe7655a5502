package kube_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var local, target kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

func TestAudit(t *testing.T) {
	ns := target.Namespace(t)
	c := newUser(t, "audited")
	other := newUser(t, "other")
	audit := target.Audit(t)

	// Clients ask for the kinds that the server has when they need them first.
	create(t, c, ns, "web")
	get(t, other, ns, "web")
	before := audit.Mark()
	create(t, c, ns, "zero")
	mark := audit.Mark()
	w, err := c.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(ns))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for range 3 {
		get(t, c, ns, "web")
		get(t, other, ns, "web")
	}
	create(t, c, ns, "one")
	create(t, c, ns, "two")

	assertCount(t, "Since(mark)", audit.Since(mark).By("audited"),
		map[string]int{"get configmaps": 3, "create configmaps": 2})
	assertCount(t, "Since(mark) of another user", audit.Since(mark).By("other"), map[string]int{"get configmaps": 3})
	assertCount(t, "Since(before)", audit.Since(before).By("audited"),
		map[string]int{"get configmaps": 3, "create configmaps": 3})
	assertCount(t, "Since now", audit.Since(audit.Mark()).By("audited"), nil)
	assertCount(t, "Watches", audit.Watches(mark).By("audited"), map[string]int{"watch configmaps": 1})

	s := audit.Since(mark).By("audited").String()
	for _, line := range []string{"     3 get configmaps\n", " audited: create configmaps " + ns + "/two 201\n"} {
		if !strings.Contains(s, line) {
			t.Errorf("String: want a line with %q, got:\n%s", line, s)
		}
	}
}

func assertCount(t *testing.T, what string, got kube.Requests, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, got.Count()); diff != "" {
		t.Errorf("%s: -want, +got:\n%s\n%s", what, diff, got)
	}
}

func newUser(t *testing.T, name string) client.WithWatch {
	t.Helper()
	c, err := client.NewWithWatch(target.User(t, name, "system:masters"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func create(t *testing.T, c client.Client, namespace, name string) {
	t.Helper()
	if err := c.Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, c client.Client, namespace, name string) {
	t.Helper()
	if err := c.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name},
		&corev1.ConfigMap{}); err != nil {
		t.Error(err)
	}
}
