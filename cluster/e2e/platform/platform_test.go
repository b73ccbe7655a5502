package platform

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// page is the guide.
var page = filepath.Join(top, "docs", "tutorials", "platform.md")

// TestPlatform goes through the guide, and shows on the way what it promises.
func TestPlatform(t *testing.T) {
	b := newBed(t)
	kube.RunSteps(t, []kube.Step{
		{Name: "Order", Run: b.orders},
		{Name: "Isolation", Run: b.isolates},
		{Name: "TargetDown", Run: b.outlasts},
		{Name: "NoComposition", Run: b.lacksComposition},
		{Name: "NoTarget", Run: b.lacksTarget},
		{Name: "WorkspaceDeleted", Run: b.leavesNothing},
		{Name: "Remove", Run: b.removes},
	})
}

// follow runs the commands of the guide under a heading.
func (b *bed) follow(t *testing.T, heading string) (out string) {
	t.Helper()
	return b.RunAll(t, guide.Commands(t, page, heading))
}

// orders shows that the commands of the guide make an order Ready, and that its Secret has the address of the proxy.
func (b *bed) orders(t *testing.T) {
	b.follow(t, "## Offer the API")
	host := b.follow(t, "## Use it as a tenant")
	in := b.consumer(t, teamA)
	if want := address(t, in); !strings.HasSuffix(host, want) {
		t.Errorf("address of the proxy: want %s, the guide shows\n%s", want, host)
	}
	services := &corev1.ServiceList{}
	kube.List(t, b.tc, services, client.InNamespace("tenant-"+in.cluster))
	if len(services.Items) != 1 || services.Items[0].Spec.ClusterIP != address(t, in) {
		t.Errorf("want the address of the only Service, got %v", services.Items)
	}
	out := b.Run(t, "kubectl --kubeconfig=team-a.kubeconfig explain networking.spec")
	if !strings.Contains(out, "parameters") || strings.Contains(out, "crossplane") {
		t.Errorf("the consumer sees what is Crossplane's:\n%s", out)
	}
}

// removes shows that the commands of the guide remove everything.
func (b *bed) removes(t *testing.T) {
	in := b.consumer(t, teamA)
	b.follow(t, "## Clean up")
	left := &corev1.NamespaceList{}
	kube.List(t, b.tc, left)
	for _, ns := range left.Items {
		if strings.HasPrefix(ns.Name, "tenant-") {
			t.Errorf("namespace %s is left on the target", ns.Name)
		}
	}
	if made := list(t, b.c, objects, in.cluster); len(made) > 0 {
		t.Errorf("%d Objects are left", len(made))
	}
}
