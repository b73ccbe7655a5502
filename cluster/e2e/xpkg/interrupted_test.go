package xpkg

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// links is how many Objects a chain has. The restart comes at the first gate of the chain, the upgrade at the second.
const (
	links     = 30
	atRestart = 10
	atUpgrade = 20
)

// interrupted shows that a chain of Objects is installed as if nothing had happened while its pod is made anew in the
// middle of it, and the package is upgraded somewhat later: each is there, in order, and applied once. So is its end,
// which another upgrade interrupts.
func (s *stage) interrupted(t *testing.T) {
	next, last := push(t, "v0.1.2"), push(t, "v0.1.3")
	chain := s.chain()
	mark := target.Audit(t).Mark()
	for _, o := range slices.Backward(chain) {
		create(t, s.c, o)
	}
	s.awaitFirst(t, mark, "patch", atRestart+1)
	s.restart(t)
	s.open(t, atRestart)
	s.awaitFirst(t, mark, "patch", atUpgrade+1)
	revision := s.revision(t)
	s.setPackage(t, next)
	s.open(t, atUpgrade)
	for _, o := range chain {
		s.awaitReady(t, o)
	}
	s.awaitRevision(t, revision)
	s.assertOrder(t, mark, "patch")

	mark = target.Audit(t).Mark()
	revision = s.revision(t)
	for _, o := range chain {
		if err := s.c.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	s.setPackage(t, last)
	for _, o := range chain {
		s.awaitGone(t, o)
	}
	s.awaitRevision(t, revision)
	s.assertOrder(t, mark, "delete")
}

// chain returns Objects. Each waits until the one before it is ready. Two of them are gates: ready once
// somebody opens them.
func (s *stage) chain() []build.Object {
	var chain []build.Object
	for i := range links {
		o := s.object(link(i), "blue")
		if i > 0 {
			o.Desired().References = []commonv1.Reference{{DependsOn: &commonv1.DependsOn{
				Name: link(i - 1), WaitFor: commonv1.WaitForReady,
			}}}
		}
		if i == atRestart || i == atUpgrade {
			o.Desired().Readiness = commonv1.Readiness{
				Policy: commonv1.ReadinessDeriveFromCelQuery, CelQuery: "has(object.data.open)",
			}
		}
		chain = append(chain, o)
	}
	return chain
}

// link returns the name of an Object of the chain, which is that of its ConfigMap.
func link(i int) string { return fmt.Sprintf("link-%02d", i) }

// open opens a gate.
func (s *stage) open(t *testing.T, gate int) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(s.ns, link(gate))}
	if err := s.tc.Patch(t.Context(), cm,
		client.RawPatch(types.MergePatchType, []byte(`{"data":{"open":"yes"}}`))); err != nil {
		t.Fatal(err)
	}
}

// firsts returns the ConfigMaps of the target on which the provider has used a verb since a mark, in the order of the
// first time.
func (s *stage) firsts(t *testing.T, since kube.Mark, verb string) []string {
	t.Helper()
	var names []string
	for _, e := range target.Audit(t).Since(since).By("provider") {
		if e.Verb == verb && e.Namespace == s.ns && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// awaitFirst waits until the provider has used a verb on as many ConfigMaps of the chain.
func (s *stage) awaitFirst(t *testing.T, since kube.Mark, verb string, n int) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%s of %d", verb, n), func() (bool, string) {
		got := len(s.firsts(t, since, verb))
		return got >= n, strconv.Itoa(got)
	})
}

// assertOrder fails the test if the provider has not used a verb on the chain from its begin to its end, or in reverse
// if it has deleted it.
func (s *stage) assertOrder(t *testing.T, since kube.Mark, verb string) {
	t.Helper()
	got := s.firsts(t, since, verb)
	if verb == "delete" {
		slices.Reverse(got)
	}
	if !slices.IsSorted(got) || len(got) != links {
		t.Errorf("%s: want the chain in order, got %v", verb, got)
	}
}

// restart deletes the pod of the provider, so that there will be another one.
func (s *stage) restart(t *testing.T) {
	t.Helper()
	if err := s.c.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("crossplane-system")); err != nil {
		t.Fatal(err)
	}
}
