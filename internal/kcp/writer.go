package kcp

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

const (
	// writeTimeout bounds how long one batch of changes is tried, which outlives who has begun it.
	writeTimeout = 30 * time.Second
	// conflictPause is the longest pause before changes are made again on what somebody else has written.
	conflictPause = 50 * time.Millisecond
)

// A Place is where an APIExport is, and how it is reached.
type Place struct {
	// Key tells places apart that are reached otherwise. It must be comparable.
	Key any
	// Client writes APIExports of v1alpha2.
	Client dynamic.ResourceInterface
	// Name of the APIExport.
	Name string
	// MayCreate allows to create the APIExport.
	MayCreate bool
}

// ErrNoExport is the cause of the error if an APIExport does not exist and must not be created.
var ErrNoExport = errors.New("APIExport does not exist")

// A Writer makes Changes to APIExports. Its methods may be called concurrently.
type Writer struct {
	mu     sync.Mutex
	queues map[queueKey]*queue
}

type queueKey struct {
	place any
	name  string
}

// A queue is who waits for a place to be written.
type queue struct{ waiting []*request }

// A request is a Change that somebody waits for.
type request struct {
	change    Change
	mayCreate bool
	observe   func() func(*unstructured.Unstructured)
	done      chan struct{}
	result    *unstructured.Unstructured
	err       error
}

// NewWriter returns a Writer.
func NewWriter() *Writer { return &Writer{queues: map[queueKey]*queue{}} }

// Write makes a Change to an APIExport, together with those of others that come at this time, and returns the APIExport
// as it is then. base is what it is thought to be, nil if it is thought not to exist. around brackets each request that
// writes: the function it returns gets the answer of the server, nil if there is none.
func (w *Writer) Write(ctx context.Context, p Place, base *unstructured.Unstructured, c Change,
	around func() func(*unstructured.Unstructured),
) (*unstructured.Unstructured, error) {
	r := &request{change: c, mayCreate: p.MayCreate, observe: around, done: make(chan struct{})}
	if w.enqueue(p, r) {
		go w.lead(context.WithoutCancel(ctx), p, base)
	}
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
		return nil, errors.Wrapf(ctx.Err(), "cannot write APIExport %q", p.Name)
	}
}

// enqueue adds a request to those of its place, and reports whether somebody has to lead.
func (w *Writer) enqueue(p Place, r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := queueKey{place: p.Key, name: p.Name}
	q, busy := w.queues[k]
	if !busy {
		q = &queue{}
		w.queues[k] = q
	}
	q.waiting = append(q.waiting, r)
	return !busy
}

// next returns who waits for a place. If nobody waits, the next one has to lead.
func (w *Writer) next(p Place) []*request {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := queueKey{place: p.Key, name: p.Name}
	batch := w.queues[k].waiting
	if len(batch) == 0 {
		delete(w.queues, k)
		return nil
	}
	w.queues[k].waiting = nil
	return batch
}

// lead writes batches until nobody waits.
func (w *Writer) lead(ctx context.Context, p Place, base *unstructured.Unstructured) {
	for batch := w.next(p); batch != nil; batch = w.next(p) {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		base = writeBatch(ctx, p, base, batch)
		cancel()
		for _, r := range batch {
			close(r.done)
		}
	}
}

// writeBatch makes the changes of a batch, and returns the APIExport as it was last seen. If the server finds the
// changes invalid together, each is made alone, so that nobody fails for another's mistake.
func writeBatch(ctx context.Context, p Place, base *unstructured.Unstructured,
	batch []*request,
) *unstructured.Unstructured {
	u, err := try(ctx, p, base, batch)
	if len(batch) == 1 || !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		conclude(batch, u, err)
		return u
	}
	for _, r := range batch {
		alone := []*request{r}
		u, err = try(ctx, p, u, alone)
		conclude(alone, u, err)
	}
	return u
}

// conclude tells the requests of a batch that have not failed for themselves how it went.
func conclude(batch []*request, u *unstructured.Unstructured, err error) {
	for _, r := range batch {
		if r.err == nil {
			r.result, r.err = u, err
		}
	}
}

// try makes changes until they are written on what is there, and returns the APIExport as it was last seen.
func try(ctx context.Context, p Place, u *unstructured.Unstructured,
	batch []*request,
) (*unstructured.Unstructured, error) {
	for {
		written, err := write(ctx, p, u, batch)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && (u == nil || !apierrors.IsNotFound(err)) {
			if written == nil {
				written = u
			}
			return written, err
		}
		select {
		case <-ctx.Done():
			return u, errors.Wrapf(err, "cannot write APIExport %q, which others keep changing", p.Name)
		case <-time.After(rand.N(conflictPause)): //nolint:gosec // Pauses need no secrecy.
		}
		fresh, err := p.Client.Get(ctx, p.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			u = nil
		case err != nil:
			return u, errors.Wrapf(err, "cannot get APIExport %q", p.Name)
		default:
			u = fresh
		}
	}
}

// write makes changes once. Those that cannot be made have their error in the request.
func write(ctx context.Context, p Place, u *unstructured.Unstructured,
	batch []*request,
) (*unstructured.Unstructured, error) {
	d := NewDraft(p.Name, u)
	made := 0
	var done []func(*unstructured.Unstructured)
	for _, r := range batch {
		if r.err = nil; u == nil && !r.mayCreate {
			r.err = errors.Wrapf(ErrNoExport, "cannot write APIExport %q", p.Name)
			continue
		}
		if r.err = d.Make(r.change); r.err == nil {
			made++
			done = append(done, r.observe())
		}
	}
	answer, err := send(ctx, p, d, made)
	for _, f := range done {
		f(answer)
	}
	return answer, err
}

// send sends a Draft if there is something to send.
func send(ctx context.Context, p Place, d *Draft, made int) (*unstructured.Unstructured, error) {
	if made == 0 || !d.Changed() {
		return d.base, nil
	}
	if d.base == nil {
		u, err := p.Client.Create(ctx, d.next, metav1.CreateOptions{})
		return u, errors.Wrapf(err, "cannot create APIExport %q", p.Name)
	}
	patch, err := d.patch()
	if err != nil {
		return nil, err
	}
	u, err := p.Client.Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return u, errors.Wrapf(err, "cannot patch APIExport %q", p.Name)
}
