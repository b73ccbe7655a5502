package reference

import (
	"cmp"
	"context"
	"slices"
	"sync"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
)

// Options of a Resolver.
type Options struct {
	// Cluster is the control plane.
	Cluster *clusters.Cluster
	// Cache reads Objects without a request.
	Cache client.Reader
	// Kinds are the kinds of Objects the cache holds, each from when Serve is called for it.
	Kinds []Kind
	// Owned reports whether the cache holds a whole Object. Fields of others are read by a request.
	Owned func(client.Object) bool
	// Wake is called when something has changed for an owner. It must not block.
	Wake func(informer.Owner)
	// CrossNamespace lets Objects of a namespace refer to other namespaces and to cluster-scoped resources.
	CrossNamespace bool
	// Sanitized says that the status of an Object does not show the values of Secrets.
	Sanitized bool
}

// A Resolver follows the references of all Objects. Its methods may be called concurrently. The index of the manager's
// cache is the only record of who refers to whom.
type Resolver struct {
	options Options
	editor  *editor
	kinds   map[schema.GroupKind]Kind
	served  sync.Map // the GroupKinds that the cache can be asked for
	others  sync.Map // node to *unstructured.Unstructured: Objects of other slots, read whole
}

// NewResolver returns a Resolver.
func NewResolver(o Options) *Resolver {
	kinds := map[schema.GroupKind]Kind{}
	for _, k := range o.Kinds {
		kinds[k.GVK.GroupKind()] = k
	}
	return &Resolver{options: o, editor: newEditor(o.Cluster.Resource), kinds: kinds}
}

// Resolve follows the references of an Object. The first that leads nowhere is the error; the Resolution then holds
// what the others lead to. An error for which IsAwaited is true ends with a change that the owner is told about; a
// conflict means that it is too early to tell. Nothing is requested from the control plane as long as its watches work.
func (r *Resolver) Resolve(ctx context.Context, f Referrer) (*Resolution, error) {
	refs, err := r.locate(ctx, f)
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
	r.options.Cluster.Watches().Done(f.owner(), purposeReferences)
	return res, first
}

// locate returns the references of an Object, and how the control plane serves their kinds.
func (r *Resolver) locate(ctx context.Context, f Referrer) ([]Reference, error) {
	refs := r.references(f)
	var kinds []schema.GroupVersionKind
	for _, l := range refs {
		if l.Err == nil {
			kinds = append(kinds, l.GVK)
		}
	}
	served, err := r.options.Cluster.Mappings(ctx, kinds...)
	if err != nil {
		return nil, refused(errors.Wrap(err, "cannot find the kinds of the references"))
	}
	for i := range refs {
		l := &refs[i]
		if l.Err != nil {
			continue
		}
		m, ok := served[l.GVK]
		l.mapping = m
		switch {
		case l.Query != "" && !f.hasResource() && readiness.CheckQuery(l.Query) != nil:
			l.Err = invalid("%s.celQuery: %v", l.At, readiness.CheckQuery(l.Query))
		case !ok:
			l.Err = waiting("the control plane to serve kind %s of %s", l.GVK.Kind, l.GVK.GroupVersion())
		case m.Namespaced && l.Namespace == "":
			l.Err = invalid("%s: namespace is not set, and kind %s is namespaced", l.At, l.GVK.Kind)
		case !m.Namespaced && f.GetNamespace() != "" && !r.options.CrossNamespace:
			l.Err = invalid("%s: kind %s is cluster-scoped, and references out of the namespace of the Object need "+
				"the provider's flag "+crossNamespaceFlag, l.At, l.GVK.Kind)
		case !m.Namespaced:
			l.Namespace = ""
		}
	}
	return refs, nil
}

// follow adds to a resolution what a reference leads to. What it names stays pinned if it is pinned already.
func (r *Resolver) follow(ctx context.Context, f Referrer, res *Resolution, ref *Reference) error {
	if ReasonOf(ref.Err) == commonv1.ReasonInvalidReference {
		return ref.Err
	}
	var all []*found
	err := ref.Err
	if err == nil {
		all, err = r.find(ctx, f, ref)
	}
	switch {
	case err != nil:
	case len(all) == 0:
		err = waiting("%s to exist", ref)
	case len(all) > 1:
		err = waiting("exactly one %s: there are %d", ref, len(all))
	}
	if err != nil {
		res.unsure = append(res.unsure, ref)
		return err
	}
	x := all[0]
	if x.GetDeletionTimestamp() != nil && !slices.Contains(x.GetFinalizers(), f.finalizer()) {
		return waiting("%s, which is being deleted, to be recreated", ref)
	}
	if !slices.ContainsFunc(res.found, func(other *found) bool { return other.pin == x.pin }) && r.mayPin(f, ref.GVK) {
		res.found = append(res.found, x)
	}
	return ref.use(f, res, x)
}

// mayPin reports whether an Object may keep resources of a kind from going. Rights that are revoked count until they
// are gone, so that no author of a namespaced Object keeps them.
func (r *Resolver) mayPin(f Referrer, gvk schema.GroupVersionKind) bool {
	return gvk.Group != rbacv1.GroupName || f.GetNamespace() == "" || r.options.CrossNamespace
}

// find returns the resources that a reference names.
func (r *Resolver) find(ctx context.Context, f Referrer, ref *Reference) ([]*found, error) {
	var all []*found
	if !r.has(ref.node()) {
		us, err := r.stream(ctx, f.owner(), ref)
		for _, u := range us {
			all = append(all, &found{u, pinOf(ref.GVK, u), func() (map[string]any, error) { return u.Object, nil }})
		}
		return all, err
	}
	objs, err := r.lookup(ctx, ref.node(), ref.selector)
	for _, o := range objs {
		all = append(all, &found{o, pinOf(ref.GVK, o), func() (map[string]any, error) { return r.contentOf(ctx, f, o, ref) }})
	}
	return all, refused(err)
}

// contentOf returns the content of an Object that a reference of another one names.
func (r *Resolver) contentOf(ctx context.Context, f, o Referrer, ref *Reference) (c map[string]any, err error) {
	if ref.From == "" && !ref.inspects(f) || r.options.Owned(o.Object) {
		c = content(o.Object, ref.GVK)
	} else {
		c, err = r.readObject(ctx, o, ref)
	}
	if err == nil && r.options.Sanitized && ref.readsHidden(c) {
		return nil, invalid("%s: field %s of %s is hidden by the provider's flag --sanitize-secrets: have its "+
			"connectionDetails write a Secret, and refer to that", ref.At, ref.From, ref)
	}
	return c, err
}

// readObject returns the content of an Object that the cache does not hold whole. It asks the control plane once for
// each resourceVersion that the cache shows.
func (r *Resolver) readObject(ctx context.Context, o Referrer, ref *Reference) (map[string]any, error) {
	is, _ := r.others.Load(o.node())
	known, _ := is.(*unstructured.Unstructured)
	if known == nil || known.GetUID() != o.GetUID() || known.GetResourceVersion() != o.GetResourceVersion() {
		i := ref.watchRequest()
		i.NamespacedName, i.Stream, i.Selector = o.node().name, informer.StreamByName, ""
		u, err := r.options.Cluster.Read(ctx, i)
		if err != nil || u == nil {
			return nil, cmp.Or(refused(errors.Wrapf(err, "cannot read %s", ref)), waiting("%s to exist", ref))
		}
		known = u
		r.others.Store(o.node(), known)
	}
	return known.Object, nil
}

// use reads from a resource what a reference wants of it.
func (r *Reference) use(f Referrer, res *Resolution, x *found) error {
	waits := (r.WaitFor == commonv1.WaitForReady || r.inspects(f)) && !f.hasResource()
	if r.From == "" && !waits {
		return nil
	}
	if err := informer.Unreadable(x); err != nil {
		return err
	}
	c, err := x.content()
	if err != nil {
		return err
	}
	if waits {
		if err := r.await(x, c); err != nil {
			return err
		}
	}
	if r.From == "" {
		return nil
	}
	v, ok, err := read(c, r.From)
	if err != nil {
		return invalid("%s: field %s of %s: %v", r.At, r.From, r, err)
	}
	if !ok {
		return waiting("%s to have field %s", r, r.From)
	}
	written, err := transformed(v, r.Transforms, &res.texts)
	if err != nil {
		return invalid("%s: cannot transform field %s of %s: %v", r.At, r.From, r, err)
	}
	if r.To == "" {
		return nil
	}
	return res.take(value{written: written, secret: holdsSecret(c), ref: r})
}

// messageLetters is how much of what a resource says of its health is repeated.
const messageLetters = 1024

// await returns what an Object waits for before it has a resource, given the content of what it depends on.
func (r *Reference) await(x *found, content map[string]any) error {
	u := &unstructured.Unstructured{Object: content}
	switch r.WaitFor {
	case commonv1.WaitForReady:
		if !readiness.OfCondition(u, xpv2.TypeReady).Ready {
			return waiting("%s to be ready", r)
		}
	case commonv1.WaitForHealthy:
		if v := r.health(x, u); !v.Ready {
			return waiting("%s to be healthy: %.*s", r, messageLetters, v.Message)
		}
	case commonv1.WaitForExists:
	}
	if r.Query == "" {
		return nil
	}
	if v := readiness.Of(commonv1.Readiness{CelQuery: r.Query}, u, false); !v.Ready {
		return waiting("%s to satisfy %s.celQuery: %s", r, r.At, v.Message)
	}
	return nil
}

// health returns whether what a reference names works: of an Object what it shows of its resource.
func (r *Reference) health(x *found, u *unstructured.Unstructured) readiness.Verdict {
	if r.GVK.Group == workloadv1alpha1.GroupVersion.Group {
		return readiness.OfCondition(u, xpv2.TypeHealthy)
	}
	if _, isObject := x.Object.(Referrer); !isObject {
		return readiness.HealthOf(u, r.mapping.Status).Verdict()
	}
	seen, _, _ := read(u.Object, "status.atProvider.manifest")
	omitted, _, _ := read(u.Object, "status.atProvider.omittedBytes")
	switch shown, _ := seen.(map[string]any); {
	case omitted != nil:
		return readiness.Verdict{Message: "the status of the Object omits the resource, which is too large: use waitFor: " +
			"Ready"}
	case shown == nil:
		return readiness.Verdict{Message: "the Object has no resource yet"}
	default:
		u = &unstructured.Unstructured{Object: shown}
		return readiness.HealthOf(u, mayHaveStatus(u.GroupVersionKind())).Verdict()
	}
}

// mayHaveStatus reports whether a kind of a target may have a status. Only the target knows, which may be that of
// another replica. It is assumed of kinds that Kubernetes does not bring along: nothing counts as healthy before
// somebody has looked at it.
func mayHaveStatus(gvk schema.GroupVersionKind) bool {
	t, known := scheme.Scheme.AllKnownTypes()[gvk]
	if !known {
		return true
	}
	_, has := t.FieldByName("Status")
	return has
}

// purposeReferences are the resources an Object refers to.
const purposeReferences informer.Purpose = "references"

// watchRequest says through which stream the resource of a reference is seen.
func (r *Reference) watchRequest() informer.WatchRequest {
	i := informer.WatchRequest{
		Resource: r.mapping.Resource, NamespacedName: r.NamespacedName, Stream: informer.StreamByName,
	}
	if r.Selector != "" {
		i.Stream, i.Selector = informer.StreamBySelector, r.Selector
	}
	return i
}

// stream returns the shared resources that a reference names, from the watches. Where the control plane denies those,
// it is asked for one that has a name.
func (r *Resolver) stream(ctx context.Context, o informer.Owner, ref *Reference) ([]*unstructured.Unstructured, error) {
	if ref.mapping.Watchable || ref.Selector != "" {
		us, err := r.options.Cluster.Watches().List(ctx, o, purposeReferences, ref.watchRequest())
		switch {
		case !informer.IsDenied(err):
			return us, errors.Wrap(err, "cannot read the resource of a reference")
		case ref.Selector != "":
			return nil, refused(errors.Wrapf(err, "cannot read %s", ref))
		}
	}
	u, err := r.options.Cluster.Read(ctx, ref.watchRequest())
	if clusters.IsUnserved(err) {
		r.options.Cluster.InvalidateMapping(ref.GVK)
	}
	if err != nil || u == nil {
		return nil, refused(errors.Wrapf(err, "cannot read %s", ref))
	}
	return []*unstructured.Unstructured{u}, nil
}
