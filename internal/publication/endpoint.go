package publication

import (
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

// An endpoint is one that is watched.
type endpoint struct {
	url     string
	cluster *target.Cluster
	objects *watch.Table

	mu      sync.Mutex
	clients map[string]dynamic.Interface // by logical cluster
	blind   time.Time                    // the stream has not shown since then what is there, zero if it shows all
}

// Between these a stream that does not show what is there is listed again: before, it may only be late, and after, it is about something else.
const (
	blindLeast = 2 * time.Second
	blindMost  = 20 * time.Second
)

// errUnseen means that a stream does not show an object that its server has.
var errUnseen = errors.New("the stream of the endpoint does not show the object")

// overlook notes that the stream does not show an object that is there, and has it listed again if that lasts. A kcp that has just started may
// list a part of what it has, and never tells of the rest.
func (e *endpoint) overlook() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch since := time.Since(e.blind); {
	case since > blindMost:
		e.blind = time.Now()
	case since > blindLeast:
		e.blind = time.Time{}
		e.objects.Renew()
	}
	return errUnseen
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

// primaryOf returns the object of a name in a stream of an endpoint.
func primaryOf(n types.NamespacedName) objectsync.Primary {
	cluster, namespace, _ := strings.Cut(n.Namespace, "/")
	return objectsync.Primary{Cluster: cluster, NamespacedName: types.NamespacedName{Namespace: namespace, Name: n.Name}}
}
