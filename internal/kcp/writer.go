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
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// conflictPause is the longest pause before a Change is made again on what somebody else has written.
const conflictPause = 50 * time.Millisecond

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

// A Writer makes Changes to APIExports, one at a time to each. Its methods may be called concurrently.
type Writer struct {
	mu     sync.Mutex
	queues map[queueKey]*queue
}

type queueKey struct {
	place any
	name  string
}

// A queue is who writes an APIExport and who waits to.
type queue struct {
	members int                        // guarded by the mutex of the Writer
	turn    chan struct{}              // holds one element while somebody writes
	last    *unstructured.Unstructured // what the one before has seen, nil for the first
}

// NewWriter returns a Writer.
func NewWriter() *Writer { return &Writer{queues: map[queueKey]*queue{}} }

// Write makes a Change to an APIExport, and returns the APIExport as it is then. base is what it is thought to be, nil
// if it is thought not to exist. around brackets each request that writes: the function it returns gets the answer of
// the server, nil if there is none.
func (w *Writer) Write(ctx context.Context, p Place, base *unstructured.Unstructured, c Change,
	around func() func(*unstructured.Unstructured),
) (*unstructured.Unstructured, error) {
	k := queueKey{place: p.Key, name: p.Name}
	q := w.join(k)
	defer w.leave(k)
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return nil, errors.Wrapf(ctx.Err(), "cannot write APIExport %q", p.Name)
	}
	if q.last != nil {
		base = q.last
	}
	u, err := try(ctx, p, base, c, around)
	if u != nil {
		q.last = u
	}
	return u, err
}

// join returns the queue of an APIExport with one more member.
func (w *Writer) join(k queueKey) *queue {
	w.mu.Lock()
	defer w.mu.Unlock()
	q, ok := w.queues[k]
	if !ok {
		q = &queue{turn: make(chan struct{}, 1)}
		w.queues[k] = q
	}
	q.members++
	return q
}

func (w *Writer) leave(k queueKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queues[k].members--; w.queues[k].members == 0 {
		delete(w.queues, k)
	}
}

// try makes a Change until it is written on what is there, and returns the APIExport as it is then, nil if it could not
// be written.
func try(ctx context.Context, p Place, u *unstructured.Unstructured, c Change,
	around func() func(*unstructured.Unstructured),
) (*unstructured.Unstructured, error) {
	for {
		written, err := write(ctx, p, u, c, around)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && (u == nil || !apierrors.IsNotFound(err)) {
			return written, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Wrapf(err, "cannot write APIExport %q, which others keep changing", p.Name)
		case <-time.After(rand.N(conflictPause)): //nolint:gosec // Pauses need no secrecy.
		}
		if u, err = p.Client.Get(ctx, p.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			u = nil
		} else if err != nil {
			return nil, errors.Wrapf(err, "cannot get APIExport %q", p.Name)
		}
	}
}

// write makes a Change once. It sends nothing if the Change changes nothing.
func write(ctx context.Context, p Place, u *unstructured.Unstructured, c Change,
	around func() func(*unstructured.Unstructured),
) (*unstructured.Unstructured, error) {
	if u == nil && !p.MayCreate {
		return nil, errors.Wrapf(ErrNoExport, "cannot write APIExport %q", p.Name)
	}
	d := NewDraft(p.Name, u)
	if err := c(d); err != nil {
		return nil, err
	}
	if !d.Changed() {
		return u, nil
	}
	answered := around()
	answer, err := send(ctx, p, d)
	answered(answer)
	return answer, err
}

func send(ctx context.Context, p Place, d *Draft) (*unstructured.Unstructured, error) {
	if d.base == nil {
		u, err := p.Client.Create(ctx, d.next, metav1.CreateOptions{})
		return u, errors.Wrapf(err, "cannot create APIExport %q", p.Name)
	}
	patch, err := client.MergeFromWithOptions(d.base, client.MergeFromWithOptimisticLock{}).Data(d.next)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode patch of APIExport")
	}
	u, err := p.Client.Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return u, errors.Wrapf(err, "cannot patch APIExport %q", p.Name)
}
