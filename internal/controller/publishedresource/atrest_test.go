package publishedresource_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

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
			return o.Status.Workspaces != nil && o.Status.Workspaces.Bound == 1 && o.Status.Objects != nil &&
				o.GetCondition(v1alpha1.TypeEndpointsReady).Status == corev1.ConditionTrue &&
				o.GetCondition(v1alpha1.TypeClaimsAccepted).Reason == v1alpha1.ReasonPending &&
				o.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue, describe(o)
		})
	}
	// All that a status has to say is said now. kcp serves an API some time after it calls it bound.
	localAudit, kcpAudit := local.Audit(t), kube.AuditOf(t, workspaces.AuditLog())
	kube.EventuallyBy(t, 2*inTime, "all to be watched", func() (bool, string) {
		watched := kcpAudit.Watches(kube.Mark{}).By(agentUser).Count()
		missing := slices.DeleteFunc(slices.Clone(names), func(plural string) bool {
			return watched["watch "+plural+"."+s.group] > 0
		})
		return len(missing) == 0, fmt.Sprint(missing)
	})
	var l, k kube.Mark
	asked := func() (bool, string) {
		r := append(localAudit.Since(l).By(user), kcpAudit.Since(k).By(agentUser)...)
		return len(r) == 0, r.String()
	}
	pass := func() { lookAgain(t, s.c, all...) }
	kube.EventuallyBy(t, 2*inTime, "rest", func() (bool, string) {
		l, k = localAudit.Mark(), kcpAudit.Mark()
		pass()
		return asked()
	})
	kube.Holds(t, "nothing is asked", asked, pass)
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

// lookAgain has PublishedResources reconciled once more, by a change that means nothing.
func lookAgain(t *testing.T, c client.Client, all ...*v1alpha1.PublishedResource) {
	t.Helper()
	before := reconciles(t)
	each(all, func(o *v1alpha1.PublishedResource) {
		kube.Patch(t, c, o, fmt.Sprintf(`{"metadata":{"labels":{"look":"%v"}}}`, before))
	})
	kube.Eventually(t, "another look", func() (bool, string) {
		n := reconciles(t) - before
		return n >= float64(len(all)), fmt.Sprint(n)
	})
}

// reconciles returns how often PublishedResources have been reconciled.
func reconciles(t *testing.T) (sum float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "controller_runtime_reconcile_total" && strings.Contains(m.String(), "publishedresource") {
				sum += valueOf(m)
			}
		}
	}
	return sum
}
