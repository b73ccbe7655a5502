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
	// Server is the URL of the workspace.
	Server string
	// Name of the APIExport.
	Name string
	// Read returns the APIExport as it was last seen, nil if it is thought not to exist. It should show what a Writer
	// has written.
	Read func(context.Context) (*unstructured.Unstructured, error)
	// Client writes APIExports of v1alpha2.
	Client dynamic.ResourceInterface
	// Put takes in what the server answers to a write, before anybody reads again.
	Put func(answer *unstructured.Unstructured)
	// MayCreate allows to create the APIExport.
	MayCreate bool
}

// ErrNoExport is the cause of the error if an APIExport does not exist and must not be created.
var ErrNoExport = errors.New("APIExport does not exist: make it, or set apiExport.create")

// A Writer makes Changes to APIExports, one at a time to each. Its methods may be called concurrently.
type Writer struct {
	locks sync.Map // *sync.Mutex by server and name of an APIExport
}

// Write makes a Change to an APIExport until it is written on what is there, and returns the APIExport as it is then.
func (w *Writer) Write(ctx context.Context, p Place, c Change) (*unstructured.Unstructured, error) {
	lock, _ := w.locks.LoadOrStore([2]string{p.Server, p.Name}, &sync.Mutex{})
	mu, _ := lock.(*sync.Mutex)
	mu.Lock()
	defer mu.Unlock()
	u, err := p.Read(ctx)
	for err == nil {
		var written *unstructured.Unstructured
		written, err = write(ctx, p, u, c)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && (u == nil || !apierrors.IsNotFound(err)) {
			return written, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Wrapf(err, "cannot write APIExport %q, which others keep changing", p.Name)
		case <-time.After(rand.N(conflictPause)): //nolint:gosec // Pauses need no secrecy.
		}
		if u, err = p.Client.Get(ctx, p.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			u, err = nil, nil
		}
	}
	return nil, errors.Wrapf(err, "cannot get APIExport %q", p.Name)
}

// write makes a Change once. It sends nothing if the Change changes nothing.
func write(ctx context.Context, p Place, u *unstructured.Unstructured, c Change) (*unstructured.Unstructured, error) {
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
	answer, err := send(ctx, p, d)
	if err == nil {
		p.Put(answer)
	}
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
