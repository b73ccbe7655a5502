package publication

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// rightsEvery is how often objects of all workspaces are tried again at most because one of them is allowed by now.
	rightsEvery = 10 * time.Second
	// probeEvery is how often objects are tried that lack rights of the provider on the service cluster, one for each
	// resource: nothing tells when these are given. If one is synced then, all others are tried, too.
	probeEvery = 30 * time.Second
)

// A refuser is what objects are refused by that are cured together: a workspace, or the service cluster for the objects
// of a workspace. Without a logical cluster it is the rights of the provider on a resource of the service cluster, on
// which no consumer decides.
type refuser struct {
	cluster string
	above   bool // in the workspace
	rights  schema.GroupResource
}

// noteRefusal records whether an object has been refused. What cures one cures others: if it is refused no more, the
// others that the same server has refused are tried again.
func (p *publication) noteRefusal(item objectsync.Primary, err error) {
	if r := objectsync.RefusalOf(err); r != nil {
		by := refuser{cluster: item.Cluster, above: r.Workspace}
		if !r.Workspace && r.Cause == objectsync.RefusedByRights {
			by = refuser{rights: r.Resource}
		}
		p.refused.set(item, set[refuser]{by: {}})
		return
	}
	if err != nil {
		return
	}
	for _, by := range p.refused.by(item) {
		p.refused.set(item, nil)
		p.retryRefused(by)
	}
}

// retryRefused tries again all objects that a server has refused, with new pauses.
func (p *publication) retryRefused(by refuser) {
	retry := func() {
		for _, item := range p.refused.of(by) {
			p.refused.set(item, nil) // It is known again after the next try.
			p.retry(item)
		}
	}
	if by.cluster != "" {
		retry()
		return
	}
	p.rights.Do(retry)
}

// streamError returns why a stream does not show what its server has, or does so late, nil if all are well.
func (p *publication) streamError() (first error) {
	p.mu.Lock()
	streams := append(slices.Collect(maps.Values(p.related)), p.copies, p.states)
	for _, e := range p.endpoints {
		streams = append(streams, e.objects)
	}
	p.mu.Unlock()
	for _, t := range streams {
		if err := t.Steady(); err != nil && (first == nil || err.Error() < first.Error()) {
			first = err
		}
	}
	return first
}

// probe tries objects that lack rights, again and again, and looks whether all streams are well, until nothing more is
// to be begun.
func (p *publication) probe() {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.working.Done():
			return
		case <-tick.C:
			if is := p.streamError() != nil; p.denied.Swap(is) != is {
				p.changed()
			}
			p.probeOnce()
		}
	}
}

func (p *publication) probeOnce() {
	for _, by := range p.refused.keys() {
		if all := p.refused.of(by); by.cluster == "" && len(all) > 0 {
			p.queue.Add(all[0])
		}
	}
}
