package objectsync

import (
	"context"
	"path"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

// Secrets is the resource of the Secrets that hold states.
var Secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// A Cache is what is known of one resource of one side. It requests nothing. Of what may be a related object it may
// hold metadata alone, without a kind. What it returns is shared and is not changed. An error means that it is not
// known yet. When it is, the owner of the cache has the primary object synced again.
//
// A cache shows what was written through the Writer of its side as soon as the write has been answered.
type Cache interface {
	// Get returns an object, nil if there is none.
	Get(n types.NamespacedName) (*unstructured.Unstructured, error)
	// Select returns the objects of a namespace, or of all for an empty one, that a selector selects.
	Select(namespace string, s labels.Selector) ([]*unstructured.Unstructured, error)
	// Copies returns the objects with a key by KeyOf.
	Copies(key string) ([]*unstructured.Unstructured, error)
	// States returns the states with a key by KeyOf.
	States(key string) ([]*unstructured.Unstructured, error)
}

// A Writer writes to one workspace or to the service cluster, and returns what the server has then.
type Writer interface {
	// Create makes an object as the field manager that it names, if any.
	Create(ctx context.Context, r schema.GroupVersionResource, u *unstructured.Unstructured,
	) (*unstructured.Unstructured, error)
	// Patch sends a patch, of the PatchType that it is, for an object, or for a subresource of it if one is named.
	Patch(ctx context.Context, o Ref, patch []byte, subresources ...string) (*unstructured.Unstructured, error)
	// Delete deletes an object if it has a UID, and its dependents as propagation says, if that is not empty.
	Delete(ctx context.Context, o Ref, uid types.UID, propagation metav1.DeletionPropagation) error
	// Live reads an object from the server: a related one whose content is needed, and one that has the name of a new
	// copy or state. An error is a RefusalError if it cannot be read.
	Live(ctx context.Context, o Ref) (*unstructured.Unstructured, error)
}

// A Side is one workspace, or the service cluster.
type Side struct {
	// Cache returns the cache of a resource.
	Cache func(r schema.GroupVersionResource) Cache
	// Writer writes.
	Writer Writer

	ofWorkspace bool
}

// A Workspace is where an object of a consumer is.
type Workspace struct {
	Side
	gotemplate.Workspace

	// ShowsAll reports whether the workspace shows all that it has of a claimed resource, and not only some labels.
	ShowsAll func(r schema.GroupResource) bool
}

// A Holding is a related object that a primary has resolved, and its copy.
type Holding struct {
	Record

	// Primary is the object. It has no name if all that is known of it is its state.
	Primary Primary
	// State is where the state of the primary is. It tells primaries of one name apart that are of different kinds.
	State types.NamespacedName
	// Kept reports whether it has been copied for the primary, which keeps the copy in step from then on. What a state
	// alone tells of and is not kept is about to be copied.
	Kept bool
}

// Holders tell who uses a related object: objects of all that is published on the service cluster, as related objects
// do not tell whose they are.
type Holders interface {
	// Holdings returns those whose object at the origin or whose copy is an object: one of a workspace, or of the
	// service cluster if cluster is empty. They come from Result.Related and, after a start, from the records of the
	// states.
	Holdings(cluster string, o Ref) []Holding
	// HasCopies reports whether a namespace of the service cluster has copies of objects of a logical cluster. An error
	// means that it is not known yet.
	HasCopies(namespace, cluster string) (bool, error)
	// IsCopy reports whether an object of the service cluster is the copy of an object of a consumer. An error means that
	// it is not known yet.
	IsCopy(o Ref) (bool, error)
	// Drop forgets that a primary uses a related object.
	Drop(h Holding)
}

// A Primary is an object of a consumer.
type Primary struct {
	types.NamespacedName

	Cluster string
}

// String names the object for users, within its workspace. One without a namespace has its name alone.
func (p Primary) String() string {
	return path.Join(p.Namespace, p.Name)
}

// A Record says which related object is copied where.
type Record struct {
	// Identifier of the related resource.
	Identifier string `json:"identifier"`
	// Origin is the side it comes from.
	Origin v1alpha1.Origin `json:"origin"`
	// From is the object at the origin, and To the copy.
	From Ref `json:"from"`
	To   Ref `json:"to"`
}

// plain returns what tells a copy from others: neither the identifier nor versions do.
func (r Record) plain() Record {
	return Record{Origin: r.Origin, From: r.From.Plain(), To: r.To.Plain()}
}

// isOf reports whether a copy is of the same object as another one.
func (r Record) isOf(other Record) bool {
	return r.Origin == other.Origin && r.From.Plain() == other.From.Plain()
}

// A recorded is a Record of a copy that has been made. A pending one is about to be made, and may be there or not.
type recorded struct {
	Record

	Pending bool `json:"pending,omitempty"`
	// UID is that of the object at the origin that was copied last. It is empty if that was not seen.
	UID types.UID `json:"uid,omitempty"`
	// CopyUID is that of the copy. It is empty if it is not known yet.
	CopyUID types.UID `json:"copyUID,omitempty"`
	// Key is that of what was last copied.
	Key string `json:"slot,omitempty"`
}

// size returns how many bytes it has in a Secret, or somewhat more.
func (r recorded) size() int {
	return entryMax + len(r.Identifier) + r.From.size() + r.To.size()
}

// A Ref names an object of one side.
type Ref struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Plain returns what tells an object from others: versions show the same ones.
func (r Ref) Plain() Ref {
	r.Version = ""
	return r
}

// GVR returns the resource.
func (r Ref) GVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
}

// NamespacedName returns the name.
func (r Ref) NamespacedName() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

func (r Ref) groupKind() schema.GroupKind { return schema.GroupKind{Group: r.Group, Kind: r.Kind} }

// size returns how many bytes the texts have together.
func (r Ref) size() int {
	return len(r.Group) + len(r.Version) + len(r.Resource) + len(r.Kind) + len(r.Namespace) + len(r.Name)
}

// String names the object for users.
func (r Ref) String() string {
	return r.Kind + " " + path.Join(r.Namespace, r.Name)
}

func nameOf(u *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}
