package e2e_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestKilledInTheMiddleOfAChain shows that a provider which is killed while it installs Objects that depend on each
// other, and again while it uninstalls them, goes on in the right order, makes nothing twice, and leaves no finalizer
// behind.
func TestKilledInTheMiddleOfAChain(t *testing.T) {
	const length = 20
	c, _ := clients(t)
	p := start(t)
	s, ns := build.Namespaced(), credentials(t, c)
	connect(t, c, s, ns)
	root := &corev1.ConfigMap{ObjectMeta: build.Meta(ns, "root")}
	kube.Create(t, c, root)
	f := newChain(s, ns, target.Namespace(t), length)
	all := []client.Object{root}
	for _, o := range f.objects {
		all = append(all, o)
	}
	m := mark(t)
	kube.Create(t, c, all[1:]...)
	awaitWrites(t, m, "patch", length/4)
	p.Kill()
	p = start(t)
	f.awaitReady(t, c)
	awaitSilence(t)
	if got := inOrder(t, m, f.namespace, "patch"); !slices.IsSorted(got) || len(got) != length {
		t.Errorf("order of creation: want 0 to %d, got %v", length-1, got)
	}
	m.checkMadeOnce(t)

	m = mark(t)
	kube.Delete(t, c, all...)
	awaitWrites(t, m, "delete", length/4)
	p.Kill()
	start(t)
	kube.AwaitGone(t, c, all...)
	got := inOrder(t, m, f.namespace, "delete")
	slices.Reverse(got)
	if !slices.IsSorted(got) || len(got) != length {
		t.Errorf("order of deletion, reversed: want 0 to %d, got %v", length-1, got)
	}
}

// newChain returns a chain of Objects. Each depends on the one before it, and the first on a ConfigMap of the control
// plane.
func newChain(s build.Scope, ns, tns string, n int) fleet {
	f := fleet{namespace: tns}
	for i := range n {
		name := fmt.Sprintf("%s-%d", tns, i)
		o := s.Object(ns, name, ns, build.ConfigMap(tns, strconv.Itoa(i), "color", "blue"))
		d := &commonv1.DependsOn{APIVersion: "v1", Kind: "ConfigMap", Namespace: ns, Name: "root"}
		if i > 0 {
			d = &commonv1.DependsOn{Name: fmt.Sprintf("%s-%d", tns, i-1), WaitFor: commonv1.WaitForReady}
		}
		o.Desired().References = []commonv1.Reference{{DependsOn: d}}
		f.objects = append(f.objects, o)
	}
	return f
}

// awaitWrites waits until the provider has written ConfigMaps of the target a number of times.
func awaitWrites(t *testing.T, m marks, verb string, n int) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%d times %s", n, verb), func() (bool, string) {
		got := len(that(m.onTarget(t), verb))
		return got >= n, strconv.Itoa(got)
	})
}

// inOrder returns the numbers by which ConfigMaps of a namespace of the target are named, in the order in which the
// provider has first used a verb on them.
func inOrder(t *testing.T, m marks, namespace, verb string) []int {
	t.Helper()
	var order []int
	for _, e := range that(m.onTarget(t), verb) {
		if e.Namespace != namespace {
			continue
		}
		n, err := strconv.Atoi(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(order, n) {
			order = append(order, n)
		}
	}
	return order
}
