package related

import (
	"path"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
)

// A Tenant is the consumer of one object, as far as it matters on the service cluster.
type Tenant struct {
	// Cluster is the name of the logical cluster.
	Cluster string
	// CopyNamespace is that of the copy of the object, empty if it has none, and StateNamespace that of states.
	CopyNamespace, StateNamespace string
	// OwnsCopyNamespace reports whether no other workspace can have objects in the namespace of the copy.
	OwnsCopyNamespace bool
	// HasOthers asks whether a namespace has copies of other workspaces alone.
	HasOthers func(namespace string) (bool, error)
}

// AdmitsNamespace returns why a related object may not be in a namespace of the service cluster, nil if it may. It is
// asked before anything there is read. An error means that it is not known.
func (r *Rule) AdmitsNamespace(t Tenant, namespace string) (refused, err error) {
	switch {
	case namespace == "", namespace == t.CopyNamespace:
		return nil, nil
	case naming.IsSystem(namespace), namespace == t.StateNamespace:
		return errors.Errorf("namespace %s cannot contain related objects", namespace), nil
	case r.namespaceBy != naming.Consumer:
		return nil, nil
	case !matches(r.mayName.Namespaces, namespace, t.Cluster):
		return errors.Errorf("spec.related[].consumerMayName.namespaces does not allow namespace %s", namespace), nil
	}
	others, err := t.HasOthers(namespace)
	if err == nil && others {
		refused = errors.Errorf("namespace %s has copies of other workspaces", namespace)
	}
	return refused, err
}

// Admits returns why an object of the service cluster may not be a related one, or the copy of one, nil if it may.
// Owned reports whether the copy of the consumer's object owns it. An error means that it is not known.
func (r *Rule) Admits(t Tenant, n types.NamespacedName, owned bool) (refused, err error) {
	if refused, err := r.AdmitsNamespace(t, n.Namespace); refused != nil || err != nil {
		return refused, err
	}
	own := r.namespaceBy == naming.Workspace || n.Namespace == t.CopyNamespace && t.OwnsCopyNamespace
	if own && n.Namespace != "" || owned || r.nameBy != naming.Consumer || matches(r.mayName.Objects, n.Name, t.Cluster) {
		return nil, nil
	}
	return errors.New("spec.related[].consumerMayName.objects does not allow the object"), nil
}

// Unopened returns the fields of consumerMayName that are empty, and without which objects are refused that the copy
// does not own. Owns reports whether the namespace of a copy is the workspace's own.
func (r *Rule) Unopened(owns bool) []string {
	var out []string
	named := r.namespace != nil && r.namespaceBy == naming.Consumer
	if named && len(r.mayName.Namespaces) == 0 {
		out = append(out, "namespaces")
	}
	owns = r.namespaceBy == naming.Workspace || r.namespace == nil && owns
	if r.nameBy == naming.Consumer && !owns && len(r.mayName.Objects) == 0 {
		out = append(out, "objects")
	}
	return out
}

// matches reports whether the service owner has opened a name.
func matches(patterns []v1alpha1.NamePattern, name, cluster string) bool {
	return slices.ContainsFunc(patterns, func(p v1alpha1.NamePattern) bool {
		ok, err := path.Match(strings.ReplaceAll(string(p), "$remoteClusterName", cluster), name)
		return ok && err == nil
	})
}
