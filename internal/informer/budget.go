package informer

import "sync"

const (
	// shareOfSet and shareOfOwner are how many bytes a Set and each of its owners may hold, whatever others hold: ten
	// times what most resources take, so that a few large ones have room, too.
	shareOfSet   = 1 << 20
	shareOfOwner = 64 << 10
)

// A Pool is how many bytes the Sets of many servers may hold together beside the shares that each has of its own. The
// number of servers is no bound of what they make us hold, but the number of owners is: each of them costs whoever makes
// it something, too. Its methods may be called concurrently.
type Pool struct {
	mu   sync.Mutex
	left int64
}

// NewPool returns a Pool of so many bytes.
func NewPool(bytes int64) *Pool { return &Pool{left: bytes} }

// lend changes what a Set has borrowed, and reports whether it does. Nobody gets more than a quarter of what the others
// leave: none has all of it, and the more there are that want much, the less each gets.
func (p *Pool) lend(before, now int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now > before && now > (p.left+before)/4 {
		return false
	}
	p.left -= now - before
	return true
}

// A budget bounds how many bytes all streams of a Set hold together.
type budget struct {
	max    int64
	pool   *Pool      // nil if the Set has all of max by itself
	owners func() int // of the Set

	mu         sync.Mutex
	used, lent int64 // lent is what of used comes from the pool
}

// newBudget returns a budget, nil for no bound if the options have none.
func newBudget(o Options, owners func() int) *budget {
	if o.MaxBytes == 0 {
		return nil
	}
	return &budget{max: o.MaxBytes, pool: o.Pool, owners: owners}
}

// take takes bytes, or gives some back, and reports whether there was room for them. To give back always succeeds.
func (b *budget) take(n int64) bool { return b.charge(n, n > 0) }

// hold is take for a caller that can do without what it has, too: it fails if there is no room for all of that, as when
// owners have gone.
func (b *budget) hold(n int64) bool { return b.charge(n, true) }

func (b *budget) charge(n int64, strict bool) bool {
	if b == nil {
		return true
	}
	own := b.own() // It takes the lock of the Set.
	b.mu.Lock()
	defer b.mu.Unlock()
	used := b.used + n
	if n > 0 && used > b.max {
		return false
	}
	if lent := max(used-own, 0); b.pool != nil {
		if b.pool.lend(b.lent, lent) {
			b.lent = lent
		} else if strict {
			return false
		}
	}
	b.used = used
	return true
}

// own returns how many bytes the Set may hold without the pool.
func (b *budget) own() int64 {
	if b.pool == nil {
		return b.max
	}
	return shareOfSet + int64(b.owners())*shareOfOwner
}
