package informer

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// By what resources of a store are found.
const (
	indexNamespace = iota
	indexKey
	indexes
)

type nameSet map[types.NamespacedName]struct{}

// An index finds the resources of a store by their namespaces and keys.
type index struct {
	key   Key // may be nil
	names [indexes]map[string]nameSet
}

func newIndex(key Key) *index {
	return &index{key: key, names: [indexes]map[string]nameSet{{}, {}}}
}

// values returns what a resource of a name is found by. An empty key is none.
func (x *index) values(n types.NamespacedName, u *unstructured.Unstructured) [indexes]string {
	out := [indexes]string{indexNamespace: n.Namespace}
	if x.key != nil {
		out[indexKey] = x.key(u)
	}
	return out
}

// replace notes that a resource has become another. Nil is none.
func (x *index) replace(n types.NamespacedName, was, is *unstructured.Unstructured) {
	if was != nil {
		for i, v := range x.values(n, was) {
			delete(x.names[i][v], n)
			if len(x.names[i][v]) == 0 {
				delete(x.names[i], v)
			}
		}
	}
	if is == nil {
		return
	}
	for i, v := range x.values(n, is) {
		if v == "" && i == indexKey {
			continue
		}
		if x.names[i][v] == nil {
			x.names[i][v] = nameSet{}
		}
		x.names[i][v][n] = struct{}{}
	}
}

// indexBy makes a store find resources by namespace and key.
func (s *store) indexBy(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index != nil && (s.index.key != nil || key == nil) {
		return
	}
	s.index = newIndex(key)
	for n, u := range s.items {
		s.index.replace(n, nil, u)
	}
}

// set replaces a resource by another, nil for none. The caller holds the lock.
func (s *store) set(n types.NamespacedName, u *unstructured.Unstructured) {
	if s.index != nil {
		s.index.replace(n, s.items[n], u)
	}
	if u == nil {
		delete(s.items, n)
		return
	}
	s.items[n] = u
}

// setAll replaces all resources. The caller holds the lock.
func (s *store) setAll(items map[types.NamespacedName]*unstructured.Unstructured) {
	s.items = items
	if s.index == nil {
		return
	}
	s.index = newIndex(s.index.key)
	for n, u := range items {
		s.index.replace(n, nil, u)
	}
}

// indexed returns what is found by a value, sorted by name.
func (s *store) indexed(by int, value string) []*unstructured.Unstructured {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*unstructured.Unstructured, 0, len(s.index.names[by][value]))
	for n := range s.index.names[by][value] {
		out = append(out, s.items[n])
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(s.name(a).String(), s.name(b).String())
	})
	return out
}
