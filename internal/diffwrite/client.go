package diffwrite

import (
	"context"
	"maps"
	"reflect"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// A Pass is one reconcile of one object.
type Pass struct {
	// Amend, if set, may change the status of the object before it is compared and written.
	Amend func(client.Object)
	// Shrink, if set, drops from the status of an object that is too large what it can do without, and reports whether
	// there was anything.
	Shrink func(client.Object) bool
	// Postpone, if set, reports whether a status that differs from the last one is to be written later. Who sets it
	// sees to it that there is a later pass.
	Postpone func(was, is client.Object) bool
	// Unsaved is set when the status could not be written. crossplane-runtime does not tell of that if the cause is a
	// conflict.
	Unsaved bool
	// Gone is set when the object no longer exists.
	Gone bool

	last client.Object // the object as the server last gave it
}

type passKey struct{}

// WithPass returns a context that carries a pass.
func WithPass(ctx context.Context, p *Pass) context.Context {
	return context.WithValue(ctx, passKey{}, p)
}

func passOf(ctx context.Context) *Pass {
	p, ok := ctx.Value(passKey{}).(*Pass)
	if !ok {
		return &Pass{}
	}
	return p
}

// Last returns the object as the server last gave it, nil if it has not.
func (p *Pass) Last() client.Object { return p.last }

// Timed returns a condition as it is to be set on the object. One that says what it said before the pass keeps the time
// of its last transition, although crossplane-runtime has meanwhile set it to something else.
func (p *Pass) Timed(c xpv2.Condition) xpv2.Condition {
	last, ok := p.last.(interface {
		GetCondition(t xpv2.ConditionType) xpv2.Condition
	})
	if !ok {
		return c
	}
	if was := last.GetCondition(c.Type); was.Equal(c) {
		c.LastTransitionTime = was.LastTransitionTime
	}
	return c
}

// saw remembers what the server has said about the object.
func (p *Pass) saw(obj client.Object) {
	if last, ok := obj.DeepCopyObject().(client.Object); ok {
		p.last = last
	}
}

// keep remembers what the server has answered if that is about the object of the pass.
func (p *Pass) keep(obj client.Object) {
	if p.last != nil && p.last.GetUID() == obj.GetUID() {
		p.saw(obj)
	}
}

// concerns reports whether an object is the one of the pass, in the version the server last gave.
func (p *Pass) concerns(obj client.Object) bool {
	return p.last != nil && p.last.GetUID() == obj.GetUID() && p.last.GetResourceVersion() == obj.GetResourceVersion()
}

// A Client drops updates that change nothing, and never shows an object of a pass as it was before our own last write
// to it. Only the metadata and the status of the object of a pass are compared: our reconcilers never change a spec.
type Client struct {
	client.Client

	written *writtenVersions
}

// Get gets an object. The first of a pass is its object, for which it waits until the cache has seen our last write.
func (c Client) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	p := passOf(ctx)
	if p.last != nil {
		return c.Client.Get(ctx, key, obj, o...)
	}
	err := c.waitForCache(ctx, key, obj)
	if err == nil {
		err = c.Client.Get(ctx, key, obj, o...)
	}
	p.Gone = apierrors.IsNotFound(err)
	if err == nil {
		p.saw(obj)
	}
	return err
}

// waitForCache waits until the cache has seen our last write to an object. It looks at what the cache holds without a
// copy.
func (c Client) waitForCache(ctx context.Context, key client.ObjectKey, obj client.Object) error {
	held, ok := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
	if !ok {
		return errors.Errorf("%T is not an object", obj)
	}
	return c.written.await(ctx, key, func(ctx context.Context) (string, error) {
		err := c.Client.Get(ctx, key, held, client.UnsafeDisableDeepCopy)
		return held.GetResourceVersion(), err
	})
}

// Update writes the metadata of the object of a pass if it has changed.
func (c Client) Update(ctx context.Context, obj client.Object, o ...client.UpdateOption) error {
	p := passOf(ctx)
	if p.concerns(obj) && sameMetadata(p.last, obj) {
		return nil
	}
	if err := c.Client.Update(ctx, obj, o...); err != nil {
		return err
	}
	if p.last != nil && p.last.GetUID() == obj.GetUID() {
		p.saw(obj)
		c.written.note(obj)
	}
	return nil
}

// Patch patches an object.
func (c Client) Patch(ctx context.Context, obj client.Object, patch client.Patch, o ...client.PatchOption) error {
	if err := c.Client.Patch(ctx, obj, patch, o...); err != nil {
		return err
	}
	if p := passOf(ctx); p.last != nil && p.last.GetUID() == obj.GetUID() {
		p.saw(obj)
		c.written.note(obj)
	}
	return nil
}

// Status returns a writer of status that drops updates which change nothing.
func (c Client) Status() client.SubResourceWriter {
	return statusWriter{SubResourceWriter: c.Client.Status(), written: c.written}
}

type statusWriter struct {
	client.SubResourceWriter

	written *writtenVersions
}

// Update writes the status of the object of a pass if it has changed.
func (w statusWriter) Update(ctx context.Context, obj client.Object, o ...client.SubResourceUpdateOption) error {
	p := passOf(ctx)
	if p.Amend != nil {
		p.Amend(obj)
	}
	keepSame(p.last, obj)
	if p.concerns(obj) && (SameStatus(p.last, obj) || p.Postpone != nil && p.Postpone(p.last, obj)) {
		return nil
	}
	err := w.SubResourceWriter.Update(ctx, obj, o...)
	if IsTooLarge(err) && p.Shrink != nil && p.Shrink(obj) {
		err = w.SubResourceWriter.Update(ctx, obj, o...)
	}
	if err != nil {
		p.Unsaved = true
		return err
	}
	p.keep(obj)
	w.written.note(obj)
	return nil
}

// Patch patches the status of an object.
func (w statusWriter) Patch(ctx context.Context, obj client.Object, patch client.Patch,
	o ...client.SubResourcePatchOption,
) error {
	if err := w.SubResourceWriter.Patch(ctx, obj, patch, o...); err != nil {
		return err
	}
	passOf(ctx).keep(obj)
	w.written.note(obj)
	return nil
}

// SameStatus reports whether two objects of one kind have the same status.
func SameStatus(a, b client.Object) bool { return equality.Semantic.DeepEqual(status(a), status(b)) }

func status(obj client.Object) any {
	return reflect.ValueOf(obj).Elem().FieldByName("Status").Interface()
}

func sameMetadata(a, b client.Object) bool {
	return maps.Equal(a.GetLabels(), b.GetLabels()) &&
		maps.Equal(annotations(a), annotations(b)) &&
		equality.Semantic.DeepEqual(a.GetFinalizers(), b.GetFinalizers()) &&
		equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences())
}

// annotations returns those that count.
func annotations(obj client.Object) map[string]string {
	all := maps.Clone(obj.GetAnnotations())
	for _, k := range []string{
		meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded,
		meta.AnnotationKeyExternalCreateFailed,
	} {
		delete(all, k)
	}
	return all
}

// A Manager is a manager whose client is quiet, for reconcilers that take their client from it.
type Manager struct {
	manager.Manager

	client Client
}

// NewManager returns a Manager for the reconciler of one kind.
func NewManager(m manager.Manager) Manager {
	return Manager{Manager: m, client: Client{Client: m.GetClient(), written: newWrittenVersions()}}
}

// GetClient returns a quiet client.
func (m Manager) GetClient() client.Client { return m.client }
