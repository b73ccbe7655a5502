package publication

import (
	"maps"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// An endpoint is one that is watched.
type endpoint struct {
	url     string
	cluster *target.Cluster
	objects *informer.Table

	mu      sync.Mutex
	clients map[string]dynamic.Interface // by logical cluster
	look    bindingsLook                 // the last
}

// client returns a client of a logical cluster.
func (e *endpoint) client(cluster string) (dynamic.Interface, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c, ok := e.clients[cluster]; ok {
		return c, nil
	}
	c, err := e.cluster.In(cluster)
	if err == nil {
		e.clients[cluster] = c
	}
	return c, err
}

// forget drops the clients of all logical clusters but those given.
func (e *endpoint) forget(but map[string]Workspace) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.clients, func(cluster string, _ dynamic.Interface) bool {
		_, is := but[cluster]
		return !is
	})
}

// primaryOf returns the object of a name in a stream of an endpoint.
func primaryOf(n types.NamespacedName) objectsync.Primary {
	cluster, namespace, _ := strings.Cut(n.Namespace, "/")
	return objectsync.Primary{
		Cluster: cluster, NamespacedName: types.NamespacedName{Namespace: namespace, Name: n.Name},
	}
}
