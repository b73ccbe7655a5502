package publication

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// versions are where a patch has the version of an object, which differs each time.
var versions = regexp.MustCompile(`"resourceVersion":"[^"]*"`)

// hashOf returns what tells a write from others.
func hashOf(write ...any) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, write...) // A hash takes all.
	return h.Sum64()
}

// mayWrite fails if it is too early for a write that others have undone: the last pass that has written anything has
// written the same.
func (p *pass) mayWrite(s *side, r schema.GroupVersionResource, write uint64) error {
	x := p.worker.objects
	if !slices.Contains(x.get(p.item).wrote, write) {
		return nil
	}
	by := fighter(p.item)
	if p.waits == nil {
		p.waits = new(x.fights.Wait(by)) // Once in a pass: what is undone together is repeated together.
	}
	if x.fights.Fights(by) > 0 {
		p.contested = objectsync.NewContestedRefusal(s.endpoint != nil, r.GroupResource())
	}
	if *p.waits > 0 {
		p.wrote = append(p.wrote, write)
		return p.contested
	}
	return nil
}

// settleFight records what has been written, and has an object that others have changed too often synced again when it
// is its turn.
func (p *pass) settleFight() {
	if len(p.wrote) > 0 {
		p.update(func(o *object) { o.wrote = p.wrote })
	}
	if p.waits != nil && *p.waits > 0 {
		p.worker.objects.queue.AddAfter(p.item, *p.waits)
	}
}
