package collection

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// writers is how many members of one collection are written at a time.
const writers = 10

// applyMember applies a member.
func (r *Reconciler[T]) applyMember(ctx context.Context, p *pass[T], a application) error {
	u, err := p.template.apply(a.name, a.uid, a.resource)
	if err != nil {
		return err
	}
	opts := []client.ApplyOption{client.FieldOwner(commonv1.FieldManagerCollection)}
	if a.uid != "" {
		opts = append(opts, client.ForceOwnership)
	}
	if err := r.local.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), opts...); err != nil {
		return targetresource.OfControlPlane(errors.Wrapf(err, "cannot apply Object %q", a.name))
	}
	r.written.note(p.owner.NamespacedName, a.name, write{uid: u.GetUID(), version: u.GetResourceVersion()})
	return nil
}

// deleteMember deletes the very member there is, and no successor. That it is gone is no error.
func (r *Reconciler[T]) deleteMember(ctx context.Context, p *pass[T], m member) error {
	o := r.kind.NewMember()
	o.SetNamespace(p.collection.GetNamespace())
	o.SetName(m.name)
	err := r.local.Delete(ctx, o, client.Preconditions{UID: &m.uid})
	if err != nil && !apierrors.IsNotFound(err) {
		return targetresource.OfControlPlane(errors.Wrapf(err, "cannot delete Object %q", m.name))
	}
	r.written.note(p.owner.NamespacedName, m.name, write{uid: m.uid})
	return nil
}

// inTurn calls do for each number below count, some at a time, and begins at most one other once one has failed. It
// returns the error of the lowest number: while the same ones fail, it is always the same.
func inTurn(count int, do func(i int) error) error {
	errs := make([]error, count)
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(writers)
	for i := 0; i < count && ctx.Err() == nil; i++ {
		group.Go(func() error {
			errs[i] = do(i)
			return errs[i]
		})
	}
	_ = group.Wait() // It returns the error that came first.
	return cmp.Or(errs...)
}

// lag is for how long a reconcile waits for the cache to show our own writes. A cache that is later than that may never
// show them, because somebody has undone them meanwhile.
const lag = 5 * time.Second

// written remembers what was written of each collection until the cache shows it.
type written struct {
	now func() time.Time

	mu     sync.Mutex
	writes map[types.NamespacedName]map[string]write // by collection and name of the member
}

// A write is the last one to a member.
type write struct {
	uid     types.UID
	version string // the resource version after it, empty for a deletion
	at      time.Time
}

func newWritten() *written {
	return &written{now: time.Now, writes: map[types.NamespacedName]map[string]write{}}
}

// note remembers the write to the member of a name, and when it was.
func (w *written) note(collection types.NamespacedName, name string, last write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writes[collection] == nil {
		w.writes[collection] = map[string]write{}
	}
	last.at = w.now()
	w.writes[collection][name] = last
}

// forget forgets a collection.
func (w *written) forget(collection types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.writes, collection)
}

// isShown reports whether cached members show all that was written, and forgets what they show.
func (w *written) isShown(collection types.NamespacedName, cached map[string]member) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.writes[collection], func(name string, last write) bool {
		m, ok := cached[name]
		return w.now().Sub(last.at) > lag || last.isShownBy(m, ok)
	})
	if len(w.writes[collection]) > 0 {
		return false
	}
	delete(w.writes, collection)
	return true
}

// isShownBy reports whether a cached member, if it exists, shows a write or what came after it.
func (w write) isShownBy(m member, exists bool) bool {
	if w.version == "" {
		return !exists || m.uid != w.uid || m.terminating
	}
	c, err := resourceversion.CompareResourceVersion(m.version, w.version)
	return exists && (err != nil || c >= 0)
}
