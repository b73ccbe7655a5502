package objectsync

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

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

// hold puts our finalizer on an object of the workspace, and returns what that is then. The patch fails if the list has
// changed meanwhile. A finalizer that does not stay is a refusal: without it the copy would outlive the object.
func (in Input) hold(ctx context.Context, o Ref, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	now, err := in.setFinalizers(ctx, o, u, append(slices.Clone(u.GetFinalizers()), Finalizer))
	if err == nil && !HasFinalizer(now) {
		err = &RefusalError{
			Workspace: true, Resource: o.GVR().GroupResource(),
			error: errors.Errorf("the workspace, such as a webhook in it, removes the finalizer of the provider from %s", o),
		}
	}
	return now, err
}

// letGo takes our finalizer off an object of the workspace.
func (in Input) letGo(ctx context.Context, o Ref, u *unstructured.Unstructured) error {
	if !HasFinalizer(u) {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(u.GetFinalizers()), func(f string) bool { return f == Finalizer })
	_, err := in.setFinalizers(ctx, o, u, rest)
	if IsMissing(err, o.Name) {
		return nil
	}
	return err
}

func (in Input) setFinalizers(ctx context.Context, o Ref, u *unstructured.Unstructured, list []string,
) (*unstructured.Unstructured, error) {
	return in.Workspace.patch(ctx, o, u, map[string]any{"metadata": map[string]any{
		"finalizers": list, "resourceVersion": u.GetResourceVersion(), "uid": string(u.GetUID()),
	}})
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

// confirmCopyGone returns an error if the server does not confirm that the copy of a related object is gone, which a
// cache has not shown. A workspace may just have hidden it, and the cache may lag behind a creation that was not
// answered. It asks nothing for a workspace that is gone, which has no writer.
func (in Input) confirmCopyGone(ctx context.Context, r recorded, to Ref) error {
	_, other := in.of(r.Origin)
	if other.Writer == nil || r.Origin == v1alpha1.OriginKCP && !r.Pending {
		return nil
	}
	return confirmMissing(ctx, other, to)
}

// get returns an object, nil if it is not there.
func get(side Side, o Ref) (*unstructured.Unstructured, error) {
	return side.Cache(o.GVR()).Get(o.NamespacedName())
}

// read returns an object with its content, which is asked for if the cache holds metadata alone. Nil stays nil. What
// the server has no more is awaited: the cache is about to tell, and until then it is not gone.
func (s Side) read(ctx context.Context, o Ref, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if u == nil || u.Object["kind"] != nil {
		return u, nil
	}
	u, err := s.Writer.Live(ctx, o)
	switch {
	case apierrors.IsNotFound(err):
		return nil, awaited(o)
	case apierrors.IsForbidden(err) && s.ofWorkspace:
		return nil, NewClaimRefusal(o.GVR().GroupResource())
	}
	return u, err
}

// patchOf sends a patch of an object as it was read. It is a conflict if another one has taken its place.
func (s Side) patchOf(ctx context.Context, o Ref, u *unstructured.Unstructured, body map[string]any,
) (*unstructured.Unstructured, error) {
	return s.patch(ctx, o, u, merged(body, at([]string{"metadata", "uid"}, string(u.GetUID()))))
}

// patchStatus does the same with a status. Servers compare versions there, and not always UIDs.
func (s Side) patchStatus(ctx context.Context, o Ref, u *unstructured.Unstructured, body map[string]any,
) (*unstructured.Unstructured, error) {
	body = merged(body, at([]string{"metadata", "resourceVersion"}, u.GetResourceVersion()))
	return s.patch(ctx, o, u, body, statusField)
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
	return errors.Wrapf(err, "cannot tell whether %s is deleted", o)
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

// A namespaceTemplate has the templates of labels and annotations of namespaces, by these words and their keys.
type namespaceTemplate map[string]map[string]*gotemplate.Template

func newNamespaceTemplate(c *v1alpha1.CreatedNamespaces, agent string) (namespaceTemplate, error) {
	t := namespaceTemplate{"labels": {}, "annotations": {}}
	if c == nil {
		return t, nil
	}
	texts := map[string]map[string]string{"annotations": c.Annotations, "labels": c.Labels}
	for _, field := range slices.Sorted(maps.Keys(texts)) {
		for _, key := range slices.Sorted(maps.Keys(texts[field])) {
			text, wrong := texts[field][key], validation.IsQualifiedName(key)
			if field == "labels" && !strings.Contains(text, "{{") {
				wrong = append(wrong, validation.IsValidLabelValue(text)...)
			}
			if len(wrong) > 0 {
				return nil, errors.Errorf("spec.createdNamespaces.%s[%s]: %s", field, key, wrong[0])
			}
			var err error
			if t[field][key], err = gotemplate.Parse(text); err != nil {
				return nil, errors.Wrapf(err, "spec.createdNamespaces.%s[%s]", field, key)
			}
		}
	}
	var err error
	if c.WhenEmpty == xpv2.DeletionDelete { // It carries the name of who has made it.
		t["labels"][LabelCreatedFor], err = gotemplate.Parse(agent)
	}
	return t, err
}

// make returns a namespace for copies of the objects of a workspace.
func (t namespaceTemplate) make(name string, data map[string]any) (*unstructured.Unstructured, error) {
	metadata := map[string]any{"name": name}
	for field, templates := range t {
		texts := map[string]any{}
		for key, template := range templates {
			var err error
			if texts[key], err = template.Render(data); err != nil {
				return nil, errors.Wrapf(err, "cannot render %q of a namespace", key)
			}
		}
		metadata[field] = texts
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": metadata,
	}}, nil
}
