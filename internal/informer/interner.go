package informer

import (
	"reflect"
	"runtime"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// An Interner lets Sets share the memory of what they all hold, as connections of many users to one server do. Its
// methods may be called concurrently. A nil one shares nothing.
type Interner struct {
	mu     sync.Mutex
	states map[stateKey]weak.Pointer[unstructured.Unstructured]
}

// A stateKey finds a state of a resource. It is only what a server says: two that are called the same may differ.
type stateKey struct {
	uid                 types.UID
	version, apiVersion string
}

// NewInterner returns an Interner that knows of nothing.
func NewInterner() *Interner {
	return &Interner{states: map[stateKey]weak.Pointer[unstructured.Unstructured]{}}
}

// intern returns what is held already and equal to a state of a resource in every value, or else the state itself. It
// is found for as long as somebody holds it.
func (i *Interner) intern(u *unstructured.Unstructured) *unstructured.Unstructured {
	key := stateKey{u.GetUID(), u.GetResourceVersion(), u.GetAPIVersion()}
	if i == nil || key.uid == "" || key.version == "" {
		return u
	}
	i.mu.Lock()
	held := i.states[key].Value()
	if held == nil {
		i.states[key] = weak.Make(u)
		runtime.AddCleanup(u, i.forget, key)
	}
	i.mu.Unlock()
	if held == nil || !reflect.DeepEqual(held.Object, u.Object) {
		return u // A server that lies changes nothing but its own memory.
	}
	return held
}

// forget forgets a key unless something is found by it.
func (i *Interner) forget(key stateKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.states[key].Value() == nil {
		delete(i.states, key)
	}
}
