package publication

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// echoMax is how long a deletion is waited for to be seen.
	echoMax = 5 * time.Second
	// recheckAfter is when an object is looked for again of which nothing is known.
	recheckAfter = 10 * time.Second
)

// compositeFinalizer is what Crossplane has on each composite resource that it has composed.
const compositeFinalizer = "composite.apiextensions.crossplane.io"

// A side is one workspace or, without an endpoint, the service cluster, as one pass sees it and writes to it.
type side struct {
	pass     *pass
	client   dynamic.Interface
	endpoint *endpoint
	cluster  string
}

// of returns the side as objectsync knows it.
func (s *side) of() objectsync.Side {
	return objectsync.Side{
		Cache:  func(r schema.GroupVersionResource) objectsync.Cache { return reader{side: s, resource: r} },
		Writer: s,
	}
}

// name returns the name by which streams know a resource.
func (s *side) name(n types.NamespacedName) types.NamespacedName {
	if s.endpoint == nil {
		return n
	}
	return inCluster(s.cluster, n)
}

// streamOf is the need of the stream that carries a related resource: that of a namespace of the service cluster, or of
// the namespace itself, or all of an endpoint.
func (s *side) streamOf(r schema.GroupVersionResource, n types.NamespacedName) need {
	if s.endpoint != nil {
		return streamOf(s.endpoint.url, types.NamespacedName{}, r)
	}
	if r != objectsync.Namespaces {
		n.Name = ""
	}
	return streamOf("", n, r)
}

// own returns the stream of the objects, copies or states, if it carries a resource.
func (s *side) own(r schema.GroupVersionResource, n types.NamespacedName) *informer.Table {
	c := s.pass.worker.config.Sync
	switch {
	case s.endpoint != nil && r == c.Primary.Workspace.GroupVersionResource:
		return s.endpoint.objects
	case s.endpoint != nil:
		return nil
	case r == objectsync.Secrets && s.pass.worker.syncer.NamesState(n):
		return s.pass.worker.streams.states
	case r == c.Primary.Service.GroupVersionResource:
		return s.pass.worker.streams.copies
	}
	return nil
}

// carriers returns the streams that are open and carry a resource.
func (s *side) carriers(r schema.GroupVersionResource, n types.NamespacedName) []*informer.Table {
	all := []*informer.Table{s.own(r, n), s.pass.worker.streams.relatedIfOpen(s.streamOf(r, n))}
	return slices.DeleteFunc(all, func(t *informer.Table) bool { return t == nil })
}

func (s *side) resource(r schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	return s.client.Resource(r).Namespace(namespace)
}

// A reader reads one resource of one side. Without a side there is nothing.
type reader struct {
	side     *side
	resource schema.GroupVersionResource
}

// tables returns the streams by which a resource is looked for, in this order, and notes that it has been looked at.
// What may be a related object may be in another one than objects, copies and states. It fails if the workspace hides
// the resource, as it has not accepted the permission claim. What is hidden is not known, and never gone.
func (rd reader) tables(n types.NamespacedName) ([]*informer.Table, error) {
	s, r := rd.side, rd.resource
	w, own, all := s.pass.worker, s.own(r, n), []*informer.Table(nil)
	s.pass.need(lookAt(n, s.cluster, r))
	if s.endpoint != nil && own == nil && w.workspaces.hides(s.cluster, r.GroupResource().String()) {
		return nil, objectsync.NewClaimRefusal(r.GroupResource())
	}
	if own != nil {
		all = append(all, own)
		relates := func(p objectsync.Pair) bool { return p.Service.GroupVersionResource == r }
		if s.endpoint != nil || own == w.streams.states ||
			!slices.ContainsFunc(slices.Collect(maps.Values(w.config.Sync.Related)), relates) {
			return all, nil
		}
	}
	k := s.streamOf(r, n)
	if s.endpoint == nil {
		s.pass.need(k) // So that nobody closes it.
	}
	t, err := w.streams.relatedBy(k)
	return append(all, t), err
}

// Get returns a resource.
func (rd reader) Get(n types.NamespacedName) (*unstructured.Unstructured, error) {
	if rd.side == nil {
		return nil, nil //nolint:nilnil // So is none told.
	}
	tables, err := rd.tables(n)
	if err != nil {
		return nil, err
	}
	t := tables[0]
	if t.Get(rd.side.name(n)) == nil {
		t = tables[len(tables)-1]
	}
	u := t.Get(rd.side.name(n))
	return u, rd.known(t, u)
}

// known returns nil if what a stream shows of a resource is what there is.
func (rd reader) known(t *informer.Table, u *unstructured.Unstructured) error {
	err := rd.ready(t)
	if u != nil && rd.side.endpoint != nil && informer.IsFailing(err) {
		err = nil
	}
	return cmp.Or(err, rd.usable(u))
}

// usable returns why an object cannot be used, nil if it can. One that is being deleted in a workspace has nothing more
// to say than that.
func (rd reader) usable(u *unstructured.Unstructured) error {
	if u == nil || rd.side.endpoint != nil && u.GetDeletionTimestamp() != nil {
		return nil
	}
	if err := informer.Unreadable(u); err != nil {
		return objectsync.NewUnreadRefusal(rd.side.endpoint != nil, rd.resource.GroupResource(), err)
	}
	return nil
}

// Select returns the resources of a namespace that a selector selects.
func (rd reader) Select(namespace string, s labels.Selector) ([]*unstructured.Unstructured, error) {
	if rd.side == nil {
		return nil, nil
	}
	n := types.NamespacedName{Namespace: namespace}
	tables, err := rd.tables(n)
	if err != nil {
		return nil, err
	}
	t := tables[len(tables)-1]
	all := t.Select(rd.side.name(n).Namespace, s)
	for _, u := range all {
		if err := rd.known(t, u); err != nil {
			return nil, err
		}
	}
	return all, rd.ready(t)
}

// ready returns nil if a stream shows what there is. What the service cluster does not serve is not there for who is to
// take finalizers off, and deletes nothing.
func (rd reader) ready(t *informer.Table) error {
	err := t.Ready()
	if rd.side.endpoint == nil && rd.side.pass.worker.config.RemoveFinalizers && clusters.IsUnserved(err) {
		return nil
	}
	return err
}

// Copies returns the copies with a key.
func (rd reader) Copies(key string) ([]*unstructured.Unstructured, error) {
	return rd.keyed(rd.side.pass.worker.streams.copies, key)
}

// States returns the states with a key.
func (rd reader) States(key string) ([]*unstructured.Unstructured, error) {
	return rd.keyed(rd.side.pass.worker.streams.states, key)
}

// keyed returns what a stream of the service cluster has with a key, and notes that it has been looked at.
func (rd reader) keyed(t *informer.Table, key string) ([]*unstructured.Unstructured, error) {
	all := t.Keyed(key)
	for _, u := range all {
		rd.side.pass.need(lookAt(cache.MetaObjectToName(u).AsNamespacedName(), rd.side.cluster, rd.resource))
		if err := rd.usable(u); err != nil {
			return nil, err
		}
	}
	return all, rd.ready(t)
}

// put shows the answer to a write.
func (s *side) put(r schema.GroupVersionResource, u *unstructured.Unstructured) {
	for _, t := range s.carriers(r, cache.MetaObjectToName(u).AsNamespacedName()) {
		if t == s.pass.worker.streams.states {
			s.pass.update(func(o *object) { o.stateVersion = u.GetResourceVersion() })
		}
		// What only has the name of a state is none.
		if t != s.pass.worker.streams.states || u.GetLabels()[objectsync.LabelState] != "" {
			t.Put(u)
		}
	}
}

// Create makes an object as the field manager that it names. The namespace of states is made if it is missing.
func (s *side) Create(ctx context.Context, r schema.GroupVersionResource, u *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	write := hashOf(r, u.Object)
	if err := s.pass.mayWrite(s, r, write); err != nil {
		return nil, err
	}
	options := metav1.CreateOptions{}
	for _, by := range u.GetManagedFields() { // The server finds the fields.
		options.FieldManager = by.Manager
	}
	answer, err := s.resource(r, u.GetNamespace()).Create(ctx, u, options)
	isState := s.own(r, cache.MetaObjectToName(u).AsNamespacedName()) == s.pass.worker.streams.states
	if apierrors.IsNotFound(err) && isState {
		ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		ns.SetName(u.GetNamespace())
		_, err = s.resource(objectsync.Namespaces, "").Create(ctx, ns, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
		answer, err = s.resource(r, u.GetNamespace()).Create(ctx, u, options)
	}
	if err == nil {
		s.pass.wrote = append(s.pass.wrote, write)
		s.put(r, answer)
	}
	return answer, err
}

// Patch changes an object. A patch that changes nothing is undone by nobody.
func (s *side) Patch(ctx context.Context, o objectsync.Ref, patch []byte, subresources ...string,
) (*unstructured.Unstructured, error) {
	write := hashOf(o, string(versions.ReplaceAll(patch, nil)))
	if err := s.pass.mayWrite(s, o.GVR(), write); err != nil {
		return nil, err
	}
	was := ""
	for _, t := range s.carriers(o.GVR(), o.NamespacedName()) {
		if u := t.Get(s.name(o.NamespacedName())); u != nil {
			was = u.GetResourceVersion()
		}
	}
	answer, err := s.resource(o.GVR(), o.Namespace).Patch(ctx, o.Name, objectsync.PatchType(patch), patch,
		metav1.PatchOptions{}, subresources...)
	if err != nil {
		return nil, err
	}
	if answer.GetResourceVersion() != was {
		s.pass.wrote = append(s.pass.wrote, write)
	}
	if answer.GetDeletionTimestamp() == nil || len(answer.GetFinalizers()) > 0 {
		s.put(o.GVR(), answer)
		return answer, nil
	}
	for _, t := range s.carriers(o.GVR(), o.NamespacedName()) {
		t.Drop(answer)
	}
	return answer, nil
}

// Delete deletes an object, and waits until that is seen. A composite resource stays until all that it is composed of
// is gone: its consumer is to see that.
func (s *side) Delete(ctx context.Context, o objectsync.Ref, uid types.UID, propagation metav1.DeletionPropagation,
) error {
	options, known := metav1.DeleteOptions{}, s.carriers(o.GVR(), o.NamespacedName())
	for _, t := range known {
		u := t.Get(s.name(o.NamespacedName()))
		if propagation == "" && u != nil && slices.Contains(u.GetFinalizers(), compositeFinalizer) {
			propagation = metav1.DeletePropagationForeground
		}
	}
	if propagation != "" {
		options.PropagationPolicy = &propagation
	}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	if err := s.resource(o.GVR(), o.Namespace).Delete(ctx, o.Name, options); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, echoMax)
	defer cancel()
	for _, t := range known {
		was := t.Get(s.name(o.NamespacedName()))
		t.Until(ctx, s.name(o.NamespacedName()), func(u *unstructured.Unstructured) bool {
			return u == nil || u.GetDeletionTimestamp() != nil || was != nil && u.GetUID() != was.GetUID()
		})
	}
	return nil
}

// Live reads an object from the server. That is noted as a look: what has the name of a copy may go.
func (s *side) Live(ctx context.Context, o objectsync.Ref) (*unstructured.Unstructured, error) {
	s.pass.need(lookAt(o.NamespacedName(), s.cluster, o.GVR()))
	u, err := s.resource(o.GVR(), o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return u, reader{side: s, resource: o.GVR()}.usable(u)
}
