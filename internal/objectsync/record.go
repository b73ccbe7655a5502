package objectsync

import (
	"cmp"
	"maps"
	"slices"
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

// A recordOrigin is what a Record is of, in no version.
type recordOrigin struct {
	side v1alpha1.Origin
	from Ref
}

func (r Record) origin() recordOrigin { return recordOrigin{r.Origin, r.From.Plain()} }

// records are those of one primary, by what they are of, and then by where the copies are, in no version: one object
// may have a thousand related ones.
type records map[recordOrigin]map[Ref]recorded

// A recorded is a Record of a copy that has been made or, not made, is about to be: nobody knows whether it is there.
type recorded struct {
	Record

	// UID is that of the object at the origin that was copied last. It is empty if an earlier version has recorded it.
	UID types.UID `json:"uid,omitempty"`
	// CopyUID is that of the copy. It is empty if it is not known yet, or if an earlier version has recorded the copy.
	CopyUID types.UID `json:"copyUID,omitempty"`

	made bool
}

// get returns the record of the same copy, and false if there is none.
func (s records) get(r Record) (recorded, bool) {
	is, ok := s[r.origin()][r.To.Plain()]
	return is, ok
}

// set records a copy, in place of a record under another identifier or in another version.
func (s records) set(r recorded) {
	if s[r.origin()] == nil {
		s[r.origin()] = map[Ref]recorded{}
	}
	s[r.origin()][r.To.Plain()] = r
}

func (s records) remove(r Record) {
	if delete(s[r.origin()], r.To.Plain()); len(s[r.origin()]) == 0 {
		delete(s, r.origin())
	}
}

// all returns all records, sorted.
func (s records) all() []recorded {
	var out []recorded
	for _, copies := range s {
		out = slices.AppendSeq(out, maps.Values(copies))
	}
	slices.SortFunc(out, compareRecords)
	return out
}

// list returns the records of copies that have been made, or are about to be, sorted.
func (s records) list(made bool) []recorded {
	return slices.DeleteFunc(s.all(), func(r recorded) bool { return r.made != made })
}

func (s records) clone() records {
	out := make(records, len(s))
	for origin, copies := range s {
		out[origin] = maps.Clone(copies)
	}
	return out
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
