package reference

import (
	"context"
	"slices"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// Options of a Resolver.
type Options struct {
	// Cluster is the control plane.
	Cluster *target.Cluster
	// Cache reads Objects without a request.
	Cache client.Reader
	// Kinds are the kinds of Objects the cache holds, each from when Serve is called for it.
	Kinds []Kind
	// Wake is called when something has changed for an owner. It must not block.
	Wake func(informer.Owner)
	// CrossNamespace lets Objects of a namespace refer to other namespaces and to cluster-scoped resources.
	CrossNamespace bool
	// Sanitized says that the status of an Object does not show the values of Secrets. Show gives them.
	Sanitized bool
}

// A Resolver follows the references of all Objects. Its methods may be called concurrently.
type Resolver struct {
	cluster        *target.Cluster
	objects        *objects
	editor         *editor
	withheld       *hiddenResources
	crossNamespace bool
	sanitized      bool
}

// NewResolver returns a Resolver.
func NewResolver(o Options) *Resolver {
	return &Resolver{
		cluster: o.Cluster, objects: newObjects(o), editor: newEditor(o.Cluster, o.Wake),
		withheld:       newHiddenResources(),
		crossNamespace: o.CrossNamespace, sanitized: o.Sanitized,
	}
}

// A Referrer is an Object whose references are followed.
type Referrer struct {
	Object

	// Owner is who is woken when something that is referred to changes.
	Owner informer.Owner
	// GVK is the kind of the Object.
	GVK schema.GroupVersionKind
}

// finalizer returns the finalizer on all that an Object refers to.
func (f Referrer) finalizer() string { return commonv1.FinalizerReferredPrefix + string(f.GetUID()) }

// made reports whether the Object has a resource on its target already.
func (f Referrer) made() bool { return len(f.Observed().Manifest.Raw) > 0 }

// A located reference is one whose kind the control plane serves, or may refuse to follow.
type located struct {
	Reference

	mapping target.Mapping
	known   bool // the mapping is
}

// A found resource is one a reference leads to.
type found struct {
	metav1.Object

	pin     commonv1.PinnedReference
	mapping target.Mapping
	content func() (map[string]any, error)
}

// Handler hears of changes of one kind of Objects, and wakes those that refer to them.
func (r *Resolver) Handler(gvk schema.GroupVersionKind) handler.EventHandler {
	return r.objects.handler(gvk.GroupKind())
}

// Forget ends what an owner is told.
func (r *Resolver) Forget(o informer.Owner) {
	r.objects.track(o, "", nil)
	r.cluster.Watches().Track(o, purposeReferences)
	r.editor.forget(o)
}

// Resolve follows the references of an Object. The first that leads nowhere is the error; the Resolution then holds
// what the others lead to. An error for which IsAwaited is true ends with a change that the owner is told about; a
// conflict means that it is too early to tell. Nothing is requested from the control plane as long as its watches work.
func (r *Resolver) Resolve(ctx context.Context, f Referrer) (*Resolution, error) {
	refs := r.locate(ctx, f)
	r.track(f, refs, nil)
	circles, err := r.circles(ctx, f, refs)
	if err != nil {
		return nil, err
	}
	res := &Resolution{}
	var first error
	for i := range refs {
		if err := r.follow(ctx, f, res, &refs[i]); err != nil && first == nil {
			first = err
		}
	}
	if len(circles) > 0 {
		r.track(f, refs, circles) // Each of them can break the circle.
	}
	return res, first
}

// locate finds how the control plane serves the kinds of references. Behind the first kind it does not serve none is
// looked for, as an owner waits for one kind at a time.
func (r *Resolver) locate(ctx context.Context, f Referrer) []located {
	refs := Normalise(f.Desired(), Rules{GVK: f.GVK, Namespace: f.GetNamespace(), CrossNamespace: r.crossNamespace})
	out := make([]located, 0, len(refs))
	missing := false
	for _, ref := range refs {
		l := located{Reference: ref}
		if l.Err == nil && !missing {
			r.locateOne(ctx, f, &l)
			missing = !l.known
		}
		if l.Err == nil && !l.known {
			l.Err = waiting("the control plane to serve kind %s of %s", l.GVK.Kind, l.GVK.GroupVersion())
		}
		out = append(out, l)
	}
	return out
}

func (r *Resolver) locateOne(ctx context.Context, f Referrer, l *located) {
	if k, ok := r.objects.kinds[l.GVK.GroupKind()]; ok {
		l.GVK = k.GVK // Every version of an Object shows the same.
	}
	m, err := r.cluster.Mapping(ctx, f.Owner, l.GVK)
	switch {
	case target.IsNoKind(err):
		return
	case err != nil:
		l.Err = refused(errors.Wrapf(err, "cannot find kind %s", l.GVK.Kind))
	case m.Namespaced && l.Namespace == "":
		l.Err = invalid("%s: namespace is not set, and kind %s is namespaced", l.At, l.GVK.Kind)
	case !m.Namespaced && f.GetNamespace() != "" && !r.crossNamespace:
		l.Err = invalid("%s: kind %s is cluster-scoped, and references out of the namespace of the Object need "+
			"the provider's flag "+crossNamespaceFlag,
			l.At, l.GVK.Kind)
	case !m.Namespaced:
		l.Namespace = ""
	}
	l.mapping, l.known = m, err == nil
}

// track makes an owner be told of what its references name, and of Objects besides.
func (r *Resolver) track(f Referrer, refs []located, besides []objectInterest) {
	wants := make([]fieldInterest, 0, len(besides)+len(refs))
	for _, w := range besides {
		wants = append(wants, fieldInterest{objectInterest: w})
	}
	var interests []informer.Interest
	for _, l := range refs {
		switch {
		case l.Err != nil:
		case r.isObject(l.GVK):
			wants = append(wants, fieldInterest{objectInterest: r.want(&l.Reference), field: l.From})
		case l.mapping.Watchable:
			interests = append(interests, l.interest())
		}
	}
	r.objects.track(f.Owner, f.finalizer(), wants)
	r.cluster.Watches().Track(f.Owner, purposeReferences, interests...)
}

func (r *Resolver) isObject(gvk schema.GroupVersionKind) bool {
	_, ok := r.objects.kinds[gvk.GroupKind()]
	return ok
}

// want returns what a reference to an Object names.
func (r *Resolver) want(ref *Reference) objectInterest {
	w := objectInterest{NamespacedName: ref.NamespacedName, kind: ref.GVK.GroupKind(), selector: ref.Selector}
	if !r.objects.kinds[w.kind].Namespaced {
		w.Namespace = ""
	}
	return w
}

// follow adds to a resolution what a reference leads to. What it names stays pinned if it is pinned already.
func (r *Resolver) follow(ctx context.Context, f Referrer, res *Resolution, ref *located) error {
	if ref.Err != nil {
		reason := ReasonOf(ref.Err)
		if reason == commonv1.ReasonReferenceCycle {
			return r.loosen(ctx, f, res, ref)
		}
		if reason != commonv1.ReasonInvalidReference {
			res.claim(ref)
		}
		return ref.Err
	}
	x, err := r.find(ctx, f, ref)
	if err != nil {
		res.claim(ref)
		return err
	}
	if x.GetDeletionTimestamp() != nil && !slices.Contains(x.GetFinalizers(), f.finalizer()) {
		return waiting("%s, which is being deleted, to be made anew", &ref.Reference)
	}
	if !slices.ContainsFunc(res.found, func(other *found) bool { return other.pin == x.pin }) {
		res.found = append(res.found, x)
	}
	return ref.use(f, res, x)
}

// loosen adds to a resolution what a reference in a cycle has pinned, before there was a cycle or by an earlier
// provider.
func (r *Resolver) loosen(ctx context.Context, f Referrer, res *Resolution, ref *located) error {
	all, err := r.lookup(ctx, f, ref)
	if err != nil {
		return err
	}
	for _, x := range all {
		if slices.Contains(x.GetFinalizers(), f.finalizer()) && !slices.Contains(f.Observed().References, x.pin) {
			res.loose = append(res.loose, x.pin)
		}
	}
	return ref.Err
}

// find returns the one resource that a reference names.
func (r *Resolver) find(ctx context.Context, f Referrer, ref *located) (*found, error) {
	all, err := r.lookup(ctx, f, ref)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, waiting("%s to exist", &ref.Reference)
	case len(all) > 1:
		return nil, waiting("exactly one %s: there are %d", &ref.Reference, len(all))
	}
	return all[0], nil
}

func (r *Resolver) lookup(ctx context.Context, f Referrer, ref *located) ([]*found, error) {
	var all []*found
	if !r.isObject(ref.GVK) {
		us, err := r.stream(ctx, f.Owner, ref)
		for _, u := range us {
			all = append(all, ref.found(u, func() (map[string]any, error) { return u.Object, nil }))
		}
		return all, err
	}
	objs, err := r.objects.lookup(ctx, r.want(&ref.Reference))
	for _, o := range objs {
		all = append(all, ref.found(o, func() (map[string]any, error) { return r.contentOf(o, &ref.Reference) }))
	}
	return all, refused(err)
}

func (l *located) found(o metav1.Object, content func() (map[string]any, error)) *found {
	return &found{Object: o, mapping: l.mapping, content: content, pin: commonv1.PinnedReference{
		APIVersion: l.GVK.GroupVersion().String(), Kind: l.GVK.Kind, Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(),
	}}
}

// use reads from a resource what a reference wants of it.
func (r *Reference) use(f Referrer, res *Resolution, x *found) error {
	waits := r.WaitFor == commonv1.WaitForReady && !f.made()
	if r.From == "" && !waits {
		return nil
	}
	c, err := x.content()
	if err != nil {
		return err
	}
	if waits && !isReady(c) {
		return waiting("%s to be ready", r)
	}
	if r.From == "" {
		return nil
	}
	v, err := r.readValue(c)
	if err != nil || r.To == "" {
		return err
	}
	return res.take(v)
}

func isReady(content map[string]any) bool {
	v, err := readiness.Of(commonv1.Readiness{Policy: commonv1.ReadinessDeriveFromObject},
		&unstructured.Unstructured{Object: content})
	return err == nil && v.Ready
}
