package objectsync

import (
	"encoding/json"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

// Names that api-syncagent uses, and that stay what they are so that its work can be taken over.
const (
	// Finalizer is on each object of a workspace that has a copy.
	Finalizer = "syncagent.kcp.io/cleanup"

	// LabelCluster, LabelNamespaceHash and LabelNameHash are on each copy and tell which object it is of.
	LabelCluster       = "syncagent.kcp.io/remote-object-cluster"
	LabelNamespaceHash = "syncagent.kcp.io/remote-object-namespace-hash"
	LabelNameHash      = "syncagent.kcp.io/remote-object-name-hash"

	// AnnotationNamespace, AnnotationName and AnnotationPath tell people the same.
	AnnotationNamespace = "syncagent.kcp.io/remote-object-namespace"
	AnnotationName      = "syncagent.kcp.io/remote-object-name"
	AnnotationPath      = "syncagent.kcp.io/remote-object-workspace-path"

	// LabelState is on each Secret with the state of an object.
	LabelState = "syncagent.kcp.io/object-state"

	// AnnotationDeletionPropagation on an object of a consumer says how its copy is deleted: "foreground" keeps the object
	// until the dependents of the copy are gone, "background" does not. Without it, and with other values, a composite
	// resource of Crossplane is deleted in the foreground, and others as the server does by default.
	AnnotationDeletionPropagation = "syncagent.kcp.io/deletion-propagation-policy"

	// AnnotationRelatedPrefix begins the annotations that tell consumers of related objects.
	AnnotationRelatedPrefix = "related-resources.syncagent.kcp.io/"
)

// Our own.
const (
	// AnnotationKind tells the kind of the object a copy is of, which the labels do not.
	AnnotationKind = "syncagent.kcp.io/remote-object-kind"
	// AnnotationPublication is on each copy and state and tells who syncs it. What lacks it is of who has the object.
	AnnotationPublication = "syncagent.kcp.io/publication"
	// LabelOrphaned is on each copy that is not synced, as its object is not seen or has left the filter. Its value is the
	// day from which on it is so, in UTC. Nothing is deleted by it.
	LabelOrphaned = "syncagent.kcp.io/orphaned"
	// LabelCreatedFor is on each namespace that was made to be deleted when it is empty. Its value is the name of the
	// owner.
	LabelCreatedFor = "syncagent.kcp.io/created-for"
	// LabelCopiesOf is on each namespace that was made for copies, or has got one. Its value is the logical cluster of
	// their workspace, and empty if there have been several. It tells whose the namespace is to who does not serve them.
	LabelCopiesOf = "syncagent.kcp.io/copies-of"
)

// isOfOther reports whether an object of the service cluster says that it is, or came with, a copy of another
// workspace: nothing else tells of one that this process does not serve.
func isOfOther(u *unstructured.Unstructured, cluster string) bool {
	for _, key := range []string{LabelCluster, LabelRelatedCluster} {
		if is := u.GetLabels()[key]; is != "" && is != cluster {
			return true
		}
	}
	return false
}

// IsOrphaned reports whether a copy is marked as an orphan.
func IsOrphaned(copied *unstructured.Unstructured) bool {
	return copied.GetLabels()[LabelOrphaned] != ""
}

// Causes of refusals.
var (
	// ErrForeign means that an object belongs to another object than the one it would be a copy of, or to another
	// owner.
	ErrForeign = errors.New("the name is in use for another object or agent")
	// ErrExists means that there is an object that belongs to no one, and that existing objects are not taken.
	ErrExists = errors.New("the object already exists, and spec.existingObjects does not allow its adoption as the copy")
	// ErrAmbiguous means that several objects could be the copy.
	ErrAmbiguous = errors.New("remove the labels syncagent.kcp.io/ from all but one of them")
)

// An Identity says which object of which workspace a copy is of.
type Identity struct {
	Primary

	// Path is that of the workspace, empty if it is not to be noted.
	Path string
	// Kind of the object in the workspace.
	Kind schema.GroupKind
	// Agent is the name of the owner, and Publication tells by which PublishedResource and APIExport the object comes.
	Agent, Publication string
}

// Labels returns those of a copy.
func (i Identity) Labels() map[string]string {
	m := i.labels()
	m[v1alpha1.LabelKeyAgentName] = i.Agent
	return m
}

func (p Primary) labels() map[string]string {
	m := map[string]string{LabelCluster: p.Cluster, LabelNameHash: gotemplate.SHA1(p.Name)}
	if p.Namespace != "" {
		m[LabelNamespaceHash] = gotemplate.SHA1(p.Namespace)
	}
	return m
}

// Annotations returns those of a copy.
func (i Identity) Annotations() map[string]string {
	m := map[string]string{AnnotationName: i.Name, AnnotationKind: i.Kind.String(), AnnotationPublication: i.Publication}
	if i.Namespace != "" {
		m[AnnotationNamespace] = i.Namespace
	}
	if i.Path != "" {
		m[AnnotationPath] = i.Path
	}
	return m
}

// Key returns what copies and states are indexed by. Other than the name of a state it does not change with versions.
func (p Primary) Key() string { return keyOf(p.labels()) }

// KeyOf returns what a copy or a state is indexed by, empty if it is none.
func KeyOf(u *unstructured.Unstructured) string {
	l := u.GetLabels()
	if l[LabelCluster] == "" || l[LabelNameHash] == "" {
		return ""
	}
	return keyOf(l)
}

func keyOf(l map[string]string) string {
	return l[LabelCluster] + "/" + l[LabelNamespaceHash] + "/" + l[LabelNameHash]
}

// SourceOf returns which object a copy is of, and false if it does not say, or is nil.
func SourceOf(copied *unstructured.Unstructured) (p Primary, ok bool) {
	if copied == nil {
		return p, false
	}
	a := copied.GetAnnotations()
	p.Cluster, p.Namespace, p.Name = copied.GetLabels()[LabelCluster], a[AnnotationNamespace], a[AnnotationName]
	return p, p.Cluster != "" && p.Name != "" && KeyOf(copied) == p.Key()
}

// An ownership tells whose copy an object is.
type ownership int

const (
	unowned ownership = iota // It belongs to no one.
	ours                     // It is the copy.
	foreign                  // It belongs to another.
)

// ownershipOf returns whose copy an object is, as the identity sees it.
func (i Identity) ownershipOf(u *unstructured.Unstructured) ownership {
	l, a := u.GetLabels(), u.GetAnnotations()
	if l[LabelState] != "" {
		return foreign
	}
	if l[LabelCluster]+l[LabelNameHash]+l[v1alpha1.LabelKeyAgentName]+a[AnnotationName] == "" {
		return unowned
	}
	labels, annotations := i.Labels(), i.Annotations()
	for _, key := range []string{LabelCluster, LabelNamespaceHash, LabelNameHash, v1alpha1.LabelKeyAgentName} {
		if l[key] != "" && l[key] != labels[key] {
			return foreign
		}
	}
	for _, key := range []string{AnnotationNamespace, AnnotationName, AnnotationKind, AnnotationPublication} {
		if a[key] != "" && a[key] != annotations[key] {
			return foreign
		}
	}
	return ours
}

// encoded returns a value as JSON. It has come from JSON, or is made of texts and flags, so that nothing can fail.
func encoded(v any) []byte {
	b, _ := json.Marshal(v) //nolint:errchkjson // See above.
	return b
}

// hashJSON returns the SHA-1 of a value as JSON with a newline, as api-syncagent has it.
func hashJSON(v any) string { return gotemplate.SHA1(string(encoded(v)) + "\n") }
