package objectsync

import (
	"cmp"
	"context"
	"maps"
	"slices"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

// of returns the side of the origin of related objects, and that of their copies.
func (in Input) of(o v1alpha1.Origin) (origin, other Side) {
	if o == v1alpha1.OriginService {
		return in.Service, in.Workspace.Side
	}
	return in.Workspace.Side, in.Service
}

// hold puts our finalizer on an object of the workspace. The patch fails if the list has changed meanwhile. A finalizer
// that does not stay is a refusal: without it the copy would outlive the object.
func (in Input) hold(ctx context.Context, o Ref, u *unstructured.Unstructured) error {
	if err := in.setFinalizers(ctx, o, u, append(slices.Clone(u.GetFinalizers()), Finalizer)); err != nil {
		return err
	}
	now, err := get(in.Workspace.Side, o)
	if err == nil && now != nil && !HasFinalizer(now) {
		err = &RefusalError{
			Workspace: true, Resource: o.GVR().GroupResource(),
			error: errors.Errorf("the workspace takes the finalizer of the provider off %s again, as webhooks do", o),
		}
	}
	return err
}

// letGo takes our finalizer off an object of the workspace.
func (in Input) letGo(ctx context.Context, o Ref, u *unstructured.Unstructured) error {
	if !HasFinalizer(u) {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(u.GetFinalizers()), func(f string) bool { return f == Finalizer })
	err := in.setFinalizers(ctx, o, u, rest)
	if IsMissing(err, o.Name) {
		return nil
	}
	return err
}

func (in Input) setFinalizers(ctx context.Context, o Ref, u *unstructured.Unstructured, list []string) error {
	return patch(ctx, in.Workspace.Writer, o, map[string]any{"metadata": map[string]any{
		"finalizers": list, "resourceVersion": u.GetResourceVersion(), "uid": string(u.GetUID()),
	}})
}

// create creates an object, and its namespace if that is missing: as configured on the service cluster, without
// anything in a workspace.
func (in Input) create(ctx context.Context, side Side, r schema.GroupVersionResource,
	u *unstructured.Unstructured,
) error {
	err := side.Writer.Create(ctx, r, u)
	if d := missing(err); d == nil || d.Kind != Namespaces.Resource || u.GetNamespace() == "" {
		return err
	}
	t := in.namespaces
	if side.ofWorkspace {
		t = namespaceTemplate{}
	}
	ns, err := t.make(u.GetNamespace(), in.Workspace.Data())
	if err != nil {
		return err
	}
	if err := side.Writer.Create(ctx, Namespaces, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return errors.Wrapf(err, "cannot create namespace %q", u.GetNamespace())
	}
	return side.Writer.Create(ctx, r, u)
}

// releaseOrigin takes our finalizer off a related object, unless that has a copy of its own by another rule, without
// which it goes.
func (in Input) releaseOrigin(ctx context.Context, o Ref, u *unstructured.Unstructured) error {
	p := Primary{NamespacedName: o.NamespacedName(), Cluster: in.Workspace.Cluster}
	keyed, err := in.Service.Cache(Secrets).States(p.Key())
	if err != nil || slices.ContainsFunc(keyed,
		func(u *unstructured.Unstructured) bool { return slotIn(u, p.Cluster, o) != nil }) {
		return err
	}
	return in.letGo(ctx, o, u)
}

// confirmGone fails if it is not certain that a related object of the workspace is gone which our finalizer has held:
// what a workspace hides by a permission claim is not. That is asked first: kcp shows objects before it calls a claim
// applied.
func (in Input) confirmGone(ctx context.Context, now Record) error {
	if now.Origin != v1alpha1.OriginKCP || in.Workspace.Writer == nil {
		return nil
	}
	shown, err := in.Workspace.ShowsAll(ctx, now.From.GVR().GroupResource())
	if err == nil && !shown {
		err = newHiddenRefusal(now.From)
	}
	if err != nil {
		return err
	}
	return confirmMissing(ctx, in.Workspace.Side, now.From)
}

// confirmCopyGone returns an error if the server does not confirm that the copy of a related object is gone, which a
// cache has not shown. A workspace may just have hidden it, and the cache may lag behind a creation that was not
// answered. It asks nothing for a workspace that is gone, which has no writer.
func (in Input) confirmCopyGone(ctx context.Context, r recorded, to Ref) error {
	_, other := in.of(r.Origin)
	if other.Writer == nil || r.Origin == v1alpha1.OriginKCP && !r.Pending {
		return nil
	}
	_, err := other.Cache(to.GVR()).Get(to.NamespacedName())
	if r.Origin == v1alpha1.OriginKCP && apierrors.IsNotFound(err) {
		return nil // The service cluster does not serve it.
	}
	if err != nil {
		return err
	}
	return confirmMissing(ctx, other, to)
}

// get returns an object, nil if it is not there. What the service cluster does not serve is not there.
func get(side Side, o Ref) (*unstructured.Unstructured, error) {
	u, err := side.Cache(o.GVR()).Get(o.NamespacedName())
	if apierrors.IsNotFound(err) && !side.ofWorkspace {
		return nil, nil //nolint:nilnil // So is none told.
	}
	return u, err
}

// patchOf sends a JSON merge patch of an object as it was read. It is a conflict if another one has taken its place.
func patchOf(ctx context.Context, w Writer, o Ref, u *unstructured.Unstructured, body map[string]any) error {
	return patch(ctx, w, o, merged(body, at([]string{"metadata", "uid"}, string(u.GetUID()))))
}

// patchStatus does the same with a status. Servers compare versions there, and not always UIDs.
func patchStatus(ctx context.Context, side Side, o Ref, u *unstructured.Unstructured, body map[string]any) error {
	now, err := get(side, o)
	if err != nil {
		return err
	}
	if now == nil || now.GetUID() != u.GetUID() {
		return awaited(o)
	}
	body = merged(body, at([]string{"metadata", "resourceVersion"}, now.GetResourceVersion()))
	return patch(ctx, side.Writer, o, body, statusField)
}

// patch sends a JSON merge patch.
func patch(ctx context.Context, w Writer, o Ref, body map[string]any, subresources ...string) error {
	return errors.Wrapf(w.Patch(ctx, o, encoded(body), subresources...), "cannot patch %s", o)
}

// confirmMissing asks the server for an object that the cache does not show. It returns nil only if there is none.
func confirmMissing(ctx context.Context, side Side, o Ref) error {
	_, err := side.Writer.Live(ctx, o)
	switch {
	case IsMissing(err, o.Name):
		return nil
	case err == nil: // It is about to be shown again.
		return awaited(o)
	case apierrors.IsForbidden(err) && side.ofWorkspace:
		return NewClaimRefusal(o.GVR().GroupResource())
	}
	return errors.Wrapf(err, "cannot tell whether %s is gone", o)
}

// confirmHidden returns why a copy that is there is not seen: the watch does not show it yet, or the workspace hides
// it. A permission claim may show only objects with some labels.
func confirmHidden(ctx context.Context, side Side, o Ref) error {
	if side.ofWorkspace && confirmMissing(ctx, side, o) == nil {
		return newHiddenRefusal(o)
	}
	return awaited(o)
}

// awaited returns an error that says to wait for an object: the watch does not show it yet, or it is being deleted. It
// is a conflict, which no consumer is told of.
func awaited(o Ref) error {
	why := errors.New("the watch does not show it yet, or it is being deleted")
	return apierrors.NewConflict(o.GVR().GroupResource(), o.Name, why)
}

// IsMissing reports whether an error means that the server has no object of a name. It is false if something else is
// missing that a write needs, such as a namespace, and if the server knows no such workspace, as a kcp that has just
// started.
func IsMissing(err error, name string) bool {
	d := missing(err)
	return d != nil && d.Name == name && d.Kind != "workspaces" && d.Kind != "logicalclusters"
}

// missing returns what a server that has not found something says of that, nil if an error means something else.
func missing(err error) *metav1.StatusDetails {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return nil
	}
	return status.Status().Details
}

// HasFinalizer reports whether our finalizer is on an object of a workspace.
func HasFinalizer(u *unstructured.Unstructured) bool {
	return slices.Contains(u.GetFinalizers(), Finalizer)
}

// oneOf returns the first error but for conflicts, which stand for all others: the next pass finds those again.
func oneOf(errs ...error) error {
	if i := slices.IndexFunc(errs, apierrors.IsConflict); i >= 0 {
		return errs[i]
	}
	return cmp.Or(errs...)
}

// Namespaces is the resource of namespaces, on both sides.
var Namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// A namespaceTemplate makes namespaces.
type namespaceTemplate struct {
	labels, annotations map[string]*gotemplate.Template
	creator             string // whose name they carry because they go when they are empty; none if empty
}

func newNamespaceTemplate(c *v1alpha1.CreatedNamespaces, agent string) (t namespaceTemplate, err error) {
	if c == nil {
		return t, nil
	}
	if c.WhenEmpty == xpv2.DeletionDelete {
		t.creator = agent
	}
	if t.labels, err = parseValues(c.Labels); err != nil {
		return t, errors.Wrap(err, "spec.createdNamespaces.labels")
	}
	t.annotations, err = parseValues(c.Annotations)
	return t, errors.Wrap(err, "spec.createdNamespaces.annotations")
}

func parseValues(m map[string]string) (map[string]*gotemplate.Template, error) {
	out := map[string]*gotemplate.Template{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		t, err := gotemplate.Parse(m[key])
		if err != nil {
			return nil, errors.Wrapf(err, "%q", key)
		}
		out[key] = t
	}
	return out, nil
}

// make returns a namespace for copies of the objects of a workspace.
func (t namespaceTemplate) make(name string, data map[string]any) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	u.SetName(name)
	l, err := renderValues(t.labels, data)
	if err != nil {
		return nil, err
	}
	if t.creator != "" {
		l[LabelCreatedFor] = t.creator
	}
	u.SetLabels(l)
	a, err := renderValues(t.annotations, data)
	u.SetAnnotations(a)
	return u, err
}

func renderValues(m map[string]*gotemplate.Template, data map[string]any) (map[string]string, error) {
	out := map[string]string{}
	for key, t := range m {
		v, err := t.Render(data)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot make %q of a namespace", key)
		}
		out[key] = v
	}
	return out, nil
}
