package objectsync

import (
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

// same reports whether two records are of one copy.
func (r Record) same(o Record) bool {
	return r.From.Name == o.From.Name && r.To.Name == o.To.Name && r.plain() == o.plain()
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

// String names the object for users.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}
