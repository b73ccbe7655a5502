package publishedresource

import (
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// countsEvery is how often a status is written at most in which nothing but counts has changed. Each write makes those
// who have read the PublishedResource before, and update it, start anew.
const countsEvery = 5 * time.Second

// publishedCalm is for how long nothing but a failure is written after a publication, so that who has waited for that
// can update the PublishedResource.
const publishedCalm = 2 * time.Second

// wait returns how long a status that differs from the last one is not to be written. Zero counts as written.
func (m *memory) wait(was, is *v1alpha1.PublishedResource, now time.Time) time.Duration {
	left := m.published.Add(publishedCalm).Sub(now)
	if equality.Semantic.DeepEqual(withoutCounts(was), withoutCounts(is)) {
		left = max(left, m.countsWritten.Add(countsEvery).Sub(now))
	} else if fails(is) || is.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionFalse {
		left = 0
	}
	if left > 0 && is.GetDeletionTimestamp() == nil {
		return left
	}
	m.countsWritten = now
	return 0
}

func fails(o *v1alpha1.PublishedResource) bool {
	return o.Status.Objects != nil && o.Status.Objects.Failed > 0
}

// withoutCounts returns the part of a status that does not count. That there are counts, and whether any object fails,
// is more than a count.
func withoutCounts(o *v1alpha1.PublishedResource) *v1alpha1.PublishedResourceStatus {
	s := o.Status.DeepCopy()
	if s.Objects != nil {
		s.Objects = &v1alpha1.ObjectCounts{Failed: min(s.Objects.Failed, 1)}
	}
	if s.Workspaces != nil {
		s.Workspaces = &v1alpha1.WorkspaceCounts{}
	}
	if s.Claims != nil {
		s.Claims = &v1alpha1.ClaimCounts{}
	}
	return s
}

// postpone reports whether a status is to be written later, and has the PublishedResource looked at again then.
func (p *pass) postpone(was, is client.Object) bool {
	before, ok := was.(*v1alpha1.PublishedResource)
	after, also := is.(*v1alpha1.PublishedResource)
	if !ok || !also {
		return false
	}
	wait := p.memory.wait(before, after, time.Now())
	p.lookAgain(wait)
	return wait > 0
}
