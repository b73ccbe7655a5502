package xpkg

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// shards is how many replicas examples/install/shards.yaml has, and configs are enough for each to have some.
	shards  = 3
	configs = 12
)

// shares shows that three replicas share the work by the example and the command of docs/scaling.md, with no more
// rights than those, that one takes over again, and that what was there is not touched.
func (s *stage) shares(t *testing.T) {
	before := s.identities(t)
	s.apply(t, "install/shards.yaml", func(u *unstructured.Unstructured) {
		if u.GetKind() == "DeploymentRuntimeConfig" { // With the flag that the steps before have set.
			changeArguments(t, u, func(args []any) []any { return append(args, "--allowed-target-cidrs=127.0.0.0/8") })
		}
	})
	lines := strings.Split(guide.Commands(t, filepath.Join(top, "docs", "scaling.md"), "## Share the work")[0], "\n")
	s.shell.Run(t, lines[1])
	s.awaitReplicas(t, shards)
	for i := range configs {
		name := "shared-" + strconv.Itoa(i)
		scope := build.Namespaced()
		kube.Create(t, s.c, scope.Config(s.ns, name, build.FromSecret(s.ns, "target")))
		kube.Create(t, s.c, scope.Object(s.ns, name, name, build.ConfigMap(s.ns, name, "color", "blue")))
	}
	for i := range configs {
		s.awaitReady(t, build.Namespaced().Object(s.ns, "shared-"+strconv.Itoa(i), "", nil))
	}
	s.shell.Run(t, strings.ReplaceAll(lines[1], "provider-kcp-shards", "provider-kcp"))
	s.awaitReplicas(t, 1)
	for i := range configs {
		o := build.Namespaced().Object(s.ns, "shared-"+strconv.Itoa(i), "", nil)
		s.awaitReady(t, o)
		kube.Remove(t, s.c, o)
	}
	s.assertIdentities(t, before)
}

// awaitReplicas waits until a number of replicas run, and each holds a Lease.
func (s *stage) awaitReplicas(t *testing.T, want int) {
	t.Helper()
	kube.Eventually(t, strconv.Itoa(want)+" replicas, each with a Lease", func() (bool, string) {
		leases := &coordinationv1.LeaseList{}
		err := s.c.List(t.Context(), leases, client.InNamespace("crossplane-system"))
		var held []string
		for _, l := range leases.Items {
			slot := strings.Contains(l.GetName(), fmt.Sprintf("-%d-", want)) || want == 1 &&
				l.GetName() == "crossplane-leader-election-provider-kubernetes"
			holder := ptr.Deref(l.Spec.HolderIdentity, "")
			if slot && holder != "" && !strings.HasPrefix(holder, "slots=") {
				held = append(held, l.GetName()+" by "+holder)
			}
		}
		return s.kubelet.Processes() == want && len(held) == want,
			fmt.Sprintf("%d processes, Leases held: %v, read: %s", s.kubelet.Processes(), held, fmt.Sprint(err))
	})
	s.awaitProvider(t, "Installed", "Healthy")
}
