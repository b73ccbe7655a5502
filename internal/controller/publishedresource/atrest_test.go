package publishedresource_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// many is how many APIs are published at once, and inTime how long that may take.
	many   = 100
	inTime = 60 * time.Second
	// atRest is how long a test watches that nothing is asked: longer than several poll intervals of these tests, 5 s.
	atRest = 15 * time.Second
)

// TestManyAtOnce shows that a hundred PublishedResources publish to one APIExport at a time and none is lost, and that
// nothing is asked of the control plane, which is the service cluster too, or of kcp once they are published and bound.
func TestManyAtOnce(t *testing.T) {
	s := openShop(t)
	var names []string
	for i := range many {
		names = append(names, fmt.Sprintf("thing%ds", i))
	}
	each(names, func(plural string) { kube.Create(t, s.c, definition(s.group, plural)) })
	var all []*v1alpha1.PublishedResource
	for _, plural := range names {
		all = append(all, s.published(plural, kindOf(plural)))
	}
	begin := time.Now()
	each(all, func(o *v1alpha1.PublishedResource) { kube.Create(t, s.c, o) })
	kube.EventuallyBy(t, 2*inTime, "all to be in the APIExport", func() (bool, string) {
		e := s.export(t)
		return len(e.Spec.Resources) == many, fmt.Sprintf("%d are", len(e.Spec.Resources))
	})
	for _, o := range all {
		awaitPublished(t, s.c, o)
	}
	kube.Figure(t, fmt.Sprintf("%d APIs to be published", many), func() time.Duration { return time.Since(begin) })
	var got []string
	for _, r := range s.export(t).Spec.Resources {
		got = append(got, r.Name)
	}
	slices.Sort(got)
	slices.Sort(names)
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("resources of APIExport: -want, +got:\n%s", diff)
	}

	_, consumer := workspaces.Workspace(t)
	kcp.Bind(t, consumer, s.path, exportName)
	for _, o := range all {
		kube.EventuallyBy(t, 2*inTime, o.GetName()+" to be bound", func() (bool, string) {
			if err := s.c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				return false, err.Error()
			}
			return o.Status.Workspaces != nil && o.Status.Workspaces.Bound == 1 &&
				o.GetCondition(v1alpha1.TypeEndpointsReady).Status == corev1.ConditionTrue &&
				o.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue, describe(o)
		})
	}
	localAudit, kcpAudit := local.Audit(t), kube.AuditOf(t, workspaces.AuditLog())
	asked := func(l, k kube.Mark) kube.Requests {
		return append(localAudit.Since(l).By(user), kcpAudit.Since(k).By(agentUser)...)
	}
	var l, k kube.Mark
	quiet := func() { l, k = localAudit.Mark(), kcpAudit.Mark() }
	quiet()
	kube.EventuallyBy(t, 2*inTime, "rest", func() (bool, string) {
		start := time.Now()
		quiet()
		for time.Since(start) < atRest/3 {
			if r := asked(l, k); len(r) > 0 {
				return false, r.String()
			}
			time.Sleep(atRest / 100)
		}
		return true, ""
	})
	quiet()
	kube.Throughout(t, atRest, "nothing is asked", func() (bool, string) {
		r := asked(l, k)
		return len(r) == 0, r.String()
	})
}

// agentUser is whom a publisher is in kcp.
const agentUser = "system:serviceaccount:default:agent"

// each does something for each element, several at a time.
func each[T any](list []T, do func(T)) {
	const atOnce = 20
	var all sync.WaitGroup
	tickets := make(chan struct{}, atOnce)
	for _, x := range list {
		tickets <- struct{}{}
		all.Go(func() {
			do(x)
			<-tickets
		})
	}
	all.Wait()
}
