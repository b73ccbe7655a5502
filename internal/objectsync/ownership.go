package objectsync

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

// What tells whose a copy of a related object is. It is written with the first content.
const (
	// LabelRelatedCluster is on each copy of a related object there, with the logical cluster that the object is in.
	LabelRelatedCluster = "syncagent.kcp.io/related-cluster"
	// AnnotationRelatedObject is on each copy of a related object, on both sides, and tells which one it is of.
	AnnotationRelatedObject = "syncagent.kcp.io/related-object"
)

// markOf returns what the copy of a related object says that it is of. In a workspace that tells nothing of the service
// cluster.
func markOf(r Record) string {
	text := r.From.groupKind().String() + " " + r.From.NamespacedName().String()
	if r.Origin == v1alpha1.OriginService {
		return gotemplate.SHA1(text)
	}
	return text
}

// marks returns the labels and annotations that a new copy of a related object has beside its content.
func (p *pass) marks(r Record) (labels, annotations map[string]any) {
	if r.Origin == v1alpha1.OriginKCP {
		labels = map[string]any{LabelRelatedCluster: p.id.Cluster}
	}
	return labels, map[string]any{AnnotationRelatedObject: markOf(r)}
}

// isMarked reports whether an object says that it is the copy of a related object. Consumers cannot have that written
// on the service cluster: labels and annotations of our domain never pass.
func (p *pass) isMarked(r Record, u *unstructured.Unstructured) bool {
	return u.GetAnnotations()[AnnotationRelatedObject] == markOf(r) &&
		(r.Origin == v1alpha1.OriginService || u.GetLabels()[LabelRelatedCluster] == p.id.Cluster)
}

// isRecorded reports whether an object in a recorded place is the copy: it has the UID that was recorded, or says that
// it is the copy. Else somebody has made it when there was no copy. Of copies that were recorded without their UID
// nothing else is known.
func (p *pass) isRecorded(r recorded, u *unstructured.Unstructured) bool {
	return r.made && (r.CopyUID == "" || r.CopyUID == u.GetUID()) || p.isMarked(r.Record, u)
}

// isFound reports whether what is in the place of a copy that this object has not recorded is the copy all the same:
// another object of the workspace has recorded it, the state that had recorded it was lost, or the consumer's object
// tells of it, whose workspace it is in. A mark is needed, too, unless it is known to have been made.
func (p *relatedSync) isFound(m relation) bool {
	r := m.record()
	return p.shares(r) || (p.lost || len(p.alike(r)) > 0) && p.isMarked(r, m.copied) ||
		r.Origin == v1alpha1.OriginService && p.isAnnounced(m) || p.madeByAgent(m)
}

// owns reports whether the copy owns an object of the service cluster. Nil is one that is not there.
func (p *pass) owns(u *unstructured.Unstructured) bool {
	return u != nil && p.copied != nil && slices.ContainsFunc(u.GetOwnerReferences(),
		func(r metav1.OwnerReference) bool { return r.UID != "" && r.UID == p.copied.GetUID() })
}

// isReplaced reports whether the object at the origin is another one than that which was copied.
func (p *relatedSync) isReplaced(m relation) bool {
	is, _ := p.state.records.get(m.record())
	return is.UID != "" && m.origin != nil && is.UID != m.origin.GetUID()
}
