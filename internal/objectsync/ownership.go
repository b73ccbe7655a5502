package objectsync

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// What tells on the service cluster whose an object is. It is written with the first content.
const (
	// AnnotationUID is on each copy and tells the UID of the object it was made for.
	AnnotationUID = "syncagent.kcp.io/remote-object-uid"
	// LabelRelatedCluster is on each copy of a related object, with the logical cluster that the object is in.
	LabelRelatedCluster = "syncagent.kcp.io/related-cluster"
	// AnnotationRelatedObject and AnnotationRelatedUID tell which related object a copy is of.
	AnnotationRelatedObject = "syncagent.kcp.io/related-object"
	AnnotationRelatedUID    = "syncagent.kcp.io/related-object-uid"
)

// relatedText names a related object for its copy.
func relatedText(r Ref) string {
	return r.groupKind().String() + " " + r.NamespacedName().String()
}

// marks returns the labels and annotations that tell of a new copy of a related object whose it is. Copies in
// workspaces carry nothing of ours.
func (p *relatedSync) marks(m relation) (labels, annotations map[string]any) {
	if m.copyRule.origin != v1alpha1.OriginKCP {
		return nil, nil
	}
	return map[string]any{LabelRelatedCluster: p.id.Cluster}, map[string]any{
		AnnotationRelatedObject: relatedText(m.from), AnnotationRelatedUID: string(m.origin.GetUID()),
	}
}

// isMarked reports whether an object of the service cluster says that it is the copy of a related object of this
// workspace. Consumers cannot write that: labels and annotations of our domain never pass.
func (p *pass) isMarked(from Ref, u *unstructured.Unstructured) bool {
	return u.GetLabels()[LabelRelatedCluster] == p.id.Cluster &&
		u.GetAnnotations()[AnnotationRelatedObject] == relatedText(from)
}

// isAnothers reports whether an object of the service cluster that is in the place of a copy is another one that does
// not say that it is the copy: somebody has made it when the copy was gone.
func (p *pass) isAnothers(r recorded, u *unstructured.Unstructured) bool {
	return r.CopyUID != "" && r.CopyUID != u.GetUID() && !p.isMarked(r.From, u)
}

// isOurs reports whether the copy of a related object without a record is ours all the same: because it says so, or
// because the object of the consumer tells of it, whose workspace it is in.
func (p *relatedSync) isOurs(m relation) bool {
	if m.copyRule.origin == v1alpha1.OriginKCP {
		return p.isMarked(m.from, m.copied)
	}
	return p.isAnnounced(m)
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
