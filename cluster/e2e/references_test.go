package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			p := start(t)
			ns := credentials(t, c)
			connect(t, c, s, ns)
			root := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "root"}}
			kube.Create(t, c, root)
			f := newChain(s, ns, target.Namespace(t), length)
			m := mark(t)
			if err := f.create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			awaitWrites(t, m, "patch", length/4)
			p.Kill()
			p = start(t)
			f.awaitReady(t, c)
			awaitSilence(t)
			if got := inOrder(t, m, f.namespace, "patch"); !slices.IsSorted(got) || len(got) != length {
				t.Errorf("order of creation: want 0 to %d, got %v", length-1, got)
			}
			made := perName(answered(that(m.onTarget(t), "patch"), http.StatusCreated))
			if slices.Max(values(made)) > 1 {
				t.Errorf("creations of each ConfigMap: want at most 1, got %v", made)
			}

			m = mark(t)
			for _, o := range append([]client.Object{root}, objectsOf(f)...) {
				kube.Delete(t, c, o)
			}
			awaitWrites(t, m, "delete", length/4)
			p.Kill()
			start(t)
			for _, o := range append(objectsOf(f), root) {
				kube.Eventually(t, o.GetName()+" to be gone", func() (bool, string) {
					err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
					return client.IgnoreNotFound(err) == nil && err != nil, strings.Join(o.GetFinalizers(), ", ")
				})
			}
			got := inOrder(t, m, f.namespace, "delete")
			slices.Reverse(got)
			if !slices.IsSorted(got) || len(got) != length {
				t.Errorf("order of deletion, reversed: want 0 to %d, got %v", length-1, got)
			}
		})
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

func objectsOf(f fleet) []client.Object {
	objs := make([]client.Object, 0, len(f.objects))
	for _, o := range f.objects {
		objs = append(objs, o)
	}
	return objs
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

// TestCrossNamespaceReferences shows that an operator may let Objects of a namespace refer to what lies outside of it.
func TestCrossNamespaceReferences(t *testing.T) {
	c, _ := clients(t)
	start(t, "--allow-cross-namespace-references")
	s := build.Namespaced()
	ns, other, tns := credentials(t, c), local.Namespace(t), target.Namespace(t)
	connect(t, c, s, ns)
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "site"}, Data: map[string]string{"region": "eu"},
	}
	kube.Create(t, c, cm)
	o := s.Object(ns, tns, ns, build.ConfigMap(tns, "settings"))
	o.Desired().References = []commonv1.Reference{
		{DependsOn: &commonv1.DependsOn{APIVersion: "v1", Kind: "Namespace", Name: other}},
		{PatchesFrom: &commonv1.PatchesFrom{
			APIVersion: "v1", Kind: "ConfigMap", Namespace: other, Name: "site", FieldPath: "data.region",
		}},
	}
	kube.Create(t, c, o)
	awaitReady(t, c, o)
	var pinned []string
	for _, p := range o.Observed().References {
		pinned = append(pinned, p.Kind+" "+p.Namespace+"/"+p.Name)
	}
	if diff := cmp.Diff([]string{"Namespace /" + other, "ConfigMap " + other + "/site"}, pinned); diff != "" {
		t.Errorf("what the Object refers to: -want, +got:\n%s", diff)
	}
	kube.Delete(t, c, o)
	kube.Await(t, c, cm, "the ConfigMap to be let go", func() (bool, string) {
		return len(cm.GetFinalizers()) == 0, strings.Join(cm.GetFinalizers(), ", ")
	})
}
