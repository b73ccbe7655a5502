package object

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// An originID names a resource on the target that connection details come from, as they write it.
type originID struct {
	types.NamespacedName

	gvk schema.GroupVersionKind
}

// String names the resource for users.
func (id originID) String() string {
	if id.Namespace == "" {
		return id.gvk.Kind + " " + id.Name
	}
	return id.gvk.Kind + " " + id.Namespace + "/" + id.Name
}

// An origin is what is known of such a resource.
type origin struct {
	id        originID
	interest  informer.Interest
	own       bool                       // it is the resource of the manifest, which is looked at anyhow
	watchable bool                       // the target can watch it
	lack      string                     // why it cannot be looked at, empty if it can
	live      *unstructured.Unstructured // shared with the watch; nil if it does not exist
}

// watched reports whether it takes a watch of its own to look at the source.
func (s origin) watched() bool { return s.lack == "" && !s.own && s.watchable }

func originOf(d commonv1.ConnectionDetail) originID {
	return originID{
		NamespacedName: types.NamespacedName{Namespace: d.Namespace, Name: d.Name},
		gvk:            schema.FromAPIVersionAndKind(d.APIVersion, d.Kind),
	}
}

// distinct returns the sources of details, each once, in the order in which they occur.
func distinct(wanted []commonv1.ConnectionDetail) []originID {
	var ids []originID
	for _, w := range wanted {
		if id := originOf(w); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
