package platform

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// lacksComposition shows that an order for which there is no Composition says so in the workspace, and becomes Ready
// once there is one. An order that was Ready keeps its proxy.
func (b *bed) lacksComposition(t *testing.T) {
	in := b.consumer(t, teamA)
	b.Run(t, "kubectl delete -f examples/platform/composition.yaml")
	kube.Create(t, in, order("early"))
	in.await(t, "early", "Synced", "False", "cannot get Composition", "networkings.platform.example.com")
	b.Run(t, "kubectl apply -f examples/platform/composition.yaml")
	in.await(t, "early", "Ready", "True")
	in.await(t, "web", "Synced", "True")
	b.wantProxies(t, in, 2)
	kube.Remove(t, in, order("early"))
}

// lacksTarget shows that an order of a workspace without a ProviderConfig says so in the workspace, and whom to ask,
// and becomes Ready once there is one.
func (b *bed) lacksTarget(t *testing.T) {
	in := b.consumer(t, teamC)
	b.bind(t, in)
	kube.Create(t, in, order("web"))
	in.await(t, "web", "Ready", "False")
	in.await(t, "web", "ClusterAvailable", "False", "has no cluster yet", "platform team")
	b.Run(t, "sed 's/name: eu$/name: us/' examples/platform/target.yaml | kubectl apply -f -")
	in.await(t, "web", "Ready", "True")
	in.await(t, "web", "ClusterAvailable", "True")
	kube.Remove(t, in, order("web"))
	b.wantNothing(t, in)
	b.Run(t, "kubectl delete clusterproviderconfigs/us --timeout=60s")
}

// outlasts shows that orders say in the workspace that the target is down, that one which is deleted meanwhile stays
// until its proxy is gone, and that all of it ends when the target is back. So does a workspace that is deleted. What
// fails is found by the commands of the guide.
func (b *bed) outlasts(t *testing.T) {
	in := b.consumer(t, teamA)
	kube.Create(t, in, order("outage"))
	in.await(t, "outage", "Ready", "True")
	target.Stop(t)
	in.await(t, "web", "ClusterAvailable", "False", "does not answer", "platform team")
	b.traces(t)
	kube.Delete(t, in, order("outage"))
	b.isTeamBGone = workspaces.DeleteWorkspace(b.whole, teamB)
	in.await(t, "outage", "ClusterAvailable", "False", "does not answer")
	kube.Throughout(t, 3*time.Second, "an order whose proxy may still be there", func() (bool, string) {
		o := order("outage")
		err := in.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		copies := list(t, b.c, networkings, b.second.cluster)
		return err == nil && len(copies) == 1, fmt.Sprint(err, len(copies))
	})
	target.Restart(t)
	kube.AwaitGone(t, in, order("outage"))
	in.await(t, "web", "ClusterAvailable", "True")
	b.wantProxies(t, in, 1)
}

// traces shows that the commands of the guide lead from an order to what fails.
func (b *bed) traces(t *testing.T) {
	t.Helper()
	out := b.follow(t, "## Find a failure")
	for _, want := range []string{"Networking/", "Object/proxy-", "TargetUnreachable", "connection refused"} {
		if !strings.Contains(out, want) {
			t.Errorf("the trace does not show %q:\n%s", want, out)
		}
	}
}

// leavesNothing shows that a workspace that was deleted while the target was down leaves nothing on control plane and
// target, and that the order of the same name in another one stays.
func (b *bed) leavesNothing(t *testing.T) {
	kube.Eventually(t, "the workspace to be gone", b.isTeamBGone)
	b.wantNothing(t, b.second)
	first := b.consumer(t, teamA)
	b.wantComposed(t, first)
	first.await(t, "web", "Ready", "True")
}
