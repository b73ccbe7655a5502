package publication

import (
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// probeEvery is how often one object is tried that lacks rights of the provider on the service cluster: nothing tells
// when they are given. If it is synced then, all others are tried, too.
const probeEvery = 30 * time.Second

// probe tries one object of those that lack rights, again and again, until nothing more is to be begun.
func (p *publication) probe() {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.quits:
			return
		case <-tick.C:
			p.probeOnce()
		}
	}
}

func (p *publication) probeOnce() {
	if item, lacks := p.refusals.nextLacking(); lacks {
		p.queue.Add(item)
	}
}

// nextLacking returns an object that lacks rights of the provider, and false if there is none. Of objects that lack
// rights to different resources each comes in turn, so that none is hidden behind another.
func (r *refusalIndex) nextLacking() (item objectsync.Primary, lacks bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, resource := range r.lacking {
		if at := r.probed[resource]; !lacks || at < r.probed[r.lacking[item]] {
			item, lacks = p, true
		}
	}
	if !lacks {
		clear(r.probed)
		return item, false
	}
	r.probes++
	r.probed[r.lacking[item]] = r.probes
	return item, true
}
