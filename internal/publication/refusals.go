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
	p.mu.Lock()
	by, was := p.refused[item]
	r := objectsync.RefusalOf(err)
	switch {
	case r != nil && !r.Workspace && r.Cause == objectsync.RefusedByRights:
		p.refused[item] = refuser{rights: r.Resource}
	case r != nil:
		p.refused[item] = refuser{cluster: item.Cluster, above: r.Workspace}
	case err == nil:
		delete(p.refused, item)
	}
	p.mu.Unlock()
	retry := func() { p.retryRefused(func(other refuser) bool { return other == by }) }
	switch {
	case err != nil || !was:
	case by.cluster == "":
		p.rights.Do(retry)
	default:
		retry()
	}
}

// retryRefused tries again all objects whose refusal is cured, with new pauses.
func (p *publication) retryRefused(cured func(refuser) bool) {
	var items []objectsync.Primary
	p.mu.Lock()
	for item, by := range p.refused {
		if cured(by) {
			items = append(items, item)
			delete(p.refused, item) // It is known again after the next try.
		}
	}
	p.mu.Unlock()
	for _, item := range items {
		p.retry(item)
	}
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
	p.mu.Lock()
	defer p.mu.Unlock()
	tried := set[refuser]{}
	for item, by := range p.refused {
		if _, is := tried[by]; by.cluster == "" && !is {
			tried[by] = struct{}{}
			p.queue.Add(item)
		}
	}
}
