package objectsync

import (
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// What tells whose a copy of a related object is. It is written with the first content.
const (
	// LabelRelatedCluster is on each copy of a related object there, with the logical cluster that the object is in.
	LabelRelatedCluster = "syncagent.kcp.io/related-cluster"
	// AnnotationRelatedObject is on each copy of a related object there, and tells which one it is of.
	AnnotationRelatedObject = "syncagent.kcp.io/related-object"
	// FieldManagerRelated begins the name of the field manager that makes the copy of a related object in a workspace. A
	// hash follows, which tells which one it is of.
	FieldManagerRelated = "syncagent.kcp.io/related-object."
)

// A copySync is one copy in one pass, as it has been read: that of the object itself or, if its rule has names, of a
// related object.
type copySync struct {
	rule     *copyRule
	cluster  string // the logical cluster of the origin, empty for the service cluster
	from, to Ref

	origin, copied *unstructured.Unstructured // shared; nil if not there

	// All else is of related objects alone.

	unread          error     // why it is not known whether they are there, nil if it is
	closed          error     // why the consumer may not name it, nil if it may
	recorded        *recorded // how this object has recorded the copy, nil if it has not
	byAgent         bool      // api-syncagent has copied it, and remembers the object alone.
	hasSiblings     bool      // Other objects of the workspace have or make the same copy,
	siblingsKeep    bool      // and have recorded it.
	copyIsForeign   bool      // Another workspace has the copy.
	originIsForeign bool      // Another workspace has the object,
	othersRefer     bool      // or refers to it.
	owned           bool      // The copy of the consumer's object owns it.
	inStep          bool      // Nothing is to be done until one of both changes.
}

func (c *copySync) isPrimary() bool { return c.rule.names == nil }

func (c *copySync) record() Record {
	return Record{Identifier: c.rule.identifier, Origin: c.rule.origin, From: c.from, To: c.to}
}

// onService returns the object on the service cluster, the one at the origin or its copy, nil if it is not there.
func (c *copySync) onService() (Ref, *unstructured.Unstructured) {
	if c.rule.origin == v1alpha1.OriginService {
		return c.from, c.origin
	}
	return c.to, c.copied
}

// named adds to a refusal that an error is caused by what the consumer calls the related object.
func (c *copySync) named(err error) error {
	if r := RefusalOf(err); r != nil && !c.isPrimary() {
		if r.Object = c.to; c.rule.origin == v1alpha1.OriginKCP {
			r.Object = c.from
		}
	}
	return err
}

// isHere reports whether the object at the origin is there to be copied.
func (c *copySync) isHere() bool { return c.origin != nil && c.origin.GetDeletionTimestamp() == nil }

// claims reports whether the namespace of the copy is the workspace's by that, where it was made for the copy or was
// there. One that the owner names for related objects is not, nor one that was there and that he has opened.
func (c *copySync) claims(made bool) bool {
	by := naming.Workspace
	if !c.isPrimary() {
		by = c.rule.names.NamespaceBy
	}
	return c.rule.origin == v1alpha1.OriginKCP && (by == naming.Workspace || made && by == naming.Consumer)
}

// isMade reports whether this object has recorded that the copy has been made.
func (c *copySync) isMade() bool { return c.recorded != nil && !c.recorded.Pending }

// isReplaced reports whether the object at the origin is another one than that which was copied.
func (c *copySync) isReplaced() bool {
	return c.recorded != nil && c.recorded.UID != "" && c.origin != nil && c.recorded.UID != c.origin.GetUID()
}

// newCopy returns a copy with some content, which it does not change, and metadata.
func newCopy(to Ref, content, metadata map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: maps.Clone(content)}
	u.Object["metadata"] = metadata
	u.SetGroupVersionKind(to.GVR().GroupVersion().WithKind(to.Kind))
	u.SetNamespace(to.Namespace)
	u.SetName(to.Name)
	return u
}

// clusterOf returns the logical cluster of the origin of related objects, empty for the service cluster.
func clusterOf(o v1alpha1.Origin, workspace string) string {
	if o == v1alpha1.OriginKCP {
		return workspace
	}
	return ""
}

// markOf returns what the copy of a related object says that it is of: in an annotation or, in a workspace, as its
// field manager, which tells nothing of the service cluster.
func markOf(r Record) string {
	text := r.From.groupKind().String() + " " + r.From.NamespacedName().String()
	if r.Origin == v1alpha1.OriginService {
		return FieldManagerRelated + gotemplate.SHA1(text)
	}
	return text
}

// isMadeBy reports whether an object has been made by a field manager whose name begins so.
func isMadeBy(u *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(u.GetManagedFields(),
		func(e metav1.ManagedFieldsEntry) bool { return strings.HasPrefix(e.Manager, manager) })
}

// isMarked reports whether an object says that it is the copy of a related object of a workspace. Consumers cannot have
// that written on the service cluster: labels and annotations of our domain never pass.
func isMarked(r Record, u *unstructured.Unstructured, workspace string) bool {
	if r.Origin == v1alpha1.OriginService {
		return isMadeBy(u, markOf(r))
	}
	return u.GetAnnotations()[AnnotationRelatedObject] == markOf(r) && u.GetLabels()[LabelRelatedCluster] == workspace
}

// isRecorded reports whether an object in a recorded place is the copy: it has the UID that was recorded, or says that
// it is the copy. Else somebody has made it when there was no copy. Of copies that were recorded without their UID
// nothing else is known.
func isRecorded(r recorded, u *unstructured.Unstructured, workspace string) bool {
	return !r.Pending && (r.CopyUID == "" || r.CopyUID == u.GetUID()) || isMarked(r.Record, u, workspace)
}

// owns reports whether an object owns another one, which may be nil.
func owns(owner, u *unstructured.Unstructured) bool {
	return u != nil && owner != nil && slices.ContainsFunc(u.GetOwnerReferences(),
		func(r metav1.OwnerReference) bool { return r.UID != "" && r.UID == owner.GetUID() })
}

// A copyRule says how objects of one API are copied: of a related resource or, without an identifier and a rule for
// names, of the published API itself.
type copyRule struct {
	from, to Resource // the API at the origin, and that of the copies

	identifier string
	origin     v1alpha1.Origin
	cleanup    bool
	syncStatus bool
	mutations  *mutation.Mutations
	platform   platformFields
	names      *related.Rule
}

func newCopyRule(spec *v1alpha1.RelatedResource, at *field.Path, pair Pair) (*copyRule, error) {
	r := &copyRule{
		from: pair.Workspace, to: pair.Service, identifier: spec.Name(), origin: spec.Origin, cleanup: spec.Cleanup,
		syncStatus: spec.SyncStatus, platform: newPlatformFields(pair.PlatformFields),
	}
	if r.origin == v1alpha1.OriginService {
		r.from, r.to = r.to, r.from
	}
	var ofMutation, ofNames error
	r.mutations, ofMutation = mutation.New(spec.Mutation, at.Child("mutation"))
	if r.names, ofNames = related.New(spec, pair.Workspace.Scope, pair.Service.Scope); ofNames != nil {
		ofNames = errors.Errorf("%s.%v", at, ofNames)
	}
	return r, kerrors.NewAggregate([]error{ofMutation, ofNames})
}

// relates reports whether a record may be of this related resource, as far as the APIs tell.
func (r *copyRule) relates(x Record) bool {
	return r.origin == x.Origin && r.from.GroupResource() == x.From.GVR().GroupResource() &&
		r.to.GroupResource() == x.To.GVR().GroupResource()
}
