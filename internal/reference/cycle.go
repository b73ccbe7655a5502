package reference

import (
	"context"
	"strings"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// waysBack follows edges from a node. It returns, for each node it meets that leads back, the next one on the shortest
// way; also for the first node if that is in a cycle.
func waysBack(home node, edges func(node) ([]node, error)) (map[node]node, error) {
	met, from := map[node]bool{home: true}, map[node][]node{}
	for todo := []node{home}; len(todo) > 0; todo = todo[1:] {
		there, err := edges(todo[0])
		if err != nil {
			return nil, err
		}
		for _, n := range there {
			from[n] = append(from[n], todo[0])
			if !met[n] {
				met[n] = true
				todo = append(todo, n)
			}
		}
	}
	next := map[node]node{}
	for todo := []node{home}; len(todo) > 0; todo = todo[1:] {
		for _, n := range from[todo[0]] {
			if _, ok := next[n]; !ok {
				next[n] = todo[0]
				todo = append(todo, n)
			}
		}
	}
	return next, nil
}

// cycles returns, for each Object in a cycle with another, the next one on the shortest way to that.
func (s *objects) cycles(ctx context.Context, f Referrer) (map[node]node, error) {
	next, err := waysBack(f.node(), func(n node) ([]node, error) {
		var there []node
		objs, err := s.lookup(ctx, n, nil)
		for _, o := range objs {
			for _, ref := range s.edges(o) {
				found, err := s.targets(ctx, o, ref)
				if err != nil {
					return nil, err
				}
				there = append(there, found...)
			}
		}
		return there, err
	})
	return next, refused(err)
}

// breakCycles makes the references fail that lead an Object back to itself.
func (s *objects) breakCycles(ctx context.Context, f Referrer, refs []Reference) error {
	next, err := s.cycles(ctx, f)
	if err != nil || len(next) == 0 {
		return err
	}
	for i := range refs {
		if refs[i].Err != nil {
			continue
		}
		there, err := s.targets(ctx, f, refs[i])
		if err != nil {
			return refused(err)
		}
		for _, n := range there {
			if _, leads := next[n]; leads && refs[i].Err == nil {
				refs[i].Err = cycleError(f, n, next)
			}
		}
	}
	return nil
}

// cycleError says through which Objects an Object refers to itself.
func cycleError(f Referrer, first node, next map[node]node) error {
	names := []string{describe(f.GVK.Kind, f.node().name), describe(f.GVK.Kind, first.name)}
	for at := first; at != f.node(); {
		at = next[at]
		names = append(names, describe(f.GVK.Kind, at.name))
	}
	return problem{
		errors.New("references form a cycle, so remove one of them: " + strings.Join(names, " -> ")),
		commonv1.ReasonReferenceCycle,
	}
}

// A node names an Object or, without a name, all Objects of a namespace.
type node struct {
	kind schema.GroupKind
	name types.NamespacedName
}

// key returns the value of a node in the index.
func (n node) key() string { return n.kind.String() + "/" + n.name.String() }

// kindOf returns the kind of a pinned resource.
func kindOf(p commonv1.PinnedReference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(p.APIVersion, p.Kind)
}

// nameOf returns the namespace and name of a pinned resource.
func nameOf(p commonv1.PinnedReference) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// pinOf returns the record of a resource that an Object refers to.
func pinOf(gvk schema.GroupVersionKind, o metav1.Object) commonv1.PinnedReference {
	return commonv1.PinnedReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(),
	}
}

// pinned returns the node of a pinned Object.
func pinned(p commonv1.PinnedReference) node { return node{kindOf(p).GroupKind(), nameOf(p)} }

// describe names a resource for users.
func describe(kind string, n types.NamespacedName) string {
	return kind + " " + cache.NamespacedNameAsObjectName(n).String()
}
