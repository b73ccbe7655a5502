package publication

import (
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// roomAgain is when objects are tried again that there may be room for by now.
const roomAgain = time.Second

// mayUse reports whether there is room in the workspace for what an object uses, beside the others. If not, it waits.
func (p *pass) mayUse(bytes int) (ok bool) {
	p.mu.Lock()
	o, w := p.object(p.item), p.publication.workspace(p.item.Cluster)
	more := max(0, bytes-o.used)
	if ok = more == 0 || w.used+more <= objectsync.RoomMost; ok {
		o.used, w.used, p.used = o.used+more, w.used+more, bytes
	}
	p.mu.Unlock()
	if !ok {
		p.need(need{cluster: p.item.Cluster, use: toWait})
	}
	return ok
}

// setUse makes so much all that an object uses. If that is less than before, those of its workspace that wait are tried
// again.
func (p *publication) setUse(item objectsync.Primary, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.objects[item]
	if o == nil || bytes >= o.used {
		return
	}
	p.workspace(item.Cluster).used -= o.used - bytes
	o.used = bytes
	for _, waiting := range p.needs.of(need{cluster: item.Cluster, use: toWait}) {
		p.queue.AddAfter(waiting, roomAgain)
	}
}
