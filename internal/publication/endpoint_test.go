package publication

import (
	"testing"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestStreamOfGoneEndpoint shows that what is looked at through an endpoint that has just gone is not known yet, and
// that nothing keeps it from being known when the endpoint is back.
func TestStreamOfGoneEndpoint(t *testing.T) {
	p := newTestPublication(t)
	e := &endpoint{url: "gone"}
	at := &pass{worker: p.worker, item: in("a", "1"), needs: set[need]{}}
	c := reader{side: &side{pass: at, endpoint: e, cluster: "a"}, resource: objectsync.Secrets}
	_, err := c.Get(types.NamespacedName{Namespace: "default", Name: "key"})
	if !errors.Is(err, errEndpointGone) || !isEarly(err) {
		t.Errorf("want %v, got %v", errEndpointGone, err)
	}
	if len(p.worker.streams.related) != 0 {
		t.Errorf("it keeps %v", p.worker.streams.related)
	}
}
