package objectsync

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// A Record tells of a related object that has been copied for an object.
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

// A recorded is a Record of a copy that has been made or, pending, is about to be: nobody knows whether it is there.
type recorded struct {
	Record

	Pending bool `json:"pending,omitempty"`
	// UID is that of the object at the origin that was copied last. It is empty if an earlier version has recorded it.
	UID types.UID `json:"uid,omitempty"`
	// CopyUID is that of the copy. It is empty if it is not known yet, or if an earlier version has recorded the copy.
	CopyUID types.UID `json:"copyUID,omitempty"`
	// Slot is the key of what was last copied.
	Slot string `json:"slot,omitempty"`
}

// size returns how many bytes it has in a Secret, or somewhat more.
func (r recorded) size() int {
	return entryMax + len(r.Identifier) + r.From.size() + r.To.size()
}

// compareRecords orders records by what they are called first, so that a list is easy to read.
func compareRecords(a, b recorded) int {
	return cmp.Or(
		strings.Compare(a.Identifier, b.Identifier), compareRefs(a.From, b.From), compareRefs(a.To, b.To),
		strings.Compare(string(a.Origin), string(b.Origin)),
	)
}

func compareRefs(a, b Ref) int {
	return cmp.Or(
		strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
		strings.Compare(a.Group, b.Group), strings.Compare(a.Resource, b.Resource),
	)
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

func (r Ref) apiVersion() string {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
}

// size returns how many bytes the texts have together.
func (r Ref) size() int {
	return len(r.Group) + len(r.Version) + len(r.Resource) + len(r.Kind) + len(r.Namespace) + len(r.Name)
}

// String names the object for users.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

func nameOf(u *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}
