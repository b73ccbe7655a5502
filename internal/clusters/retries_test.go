package clusters

import (
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

func owner(n int) informer.Owner {
	return informer.Owner{NamespacedName: types.NamespacedName{Name: strconv.Itoa(n)}}
}

// TestRetriesOfTenants shows that each owner which fails is tried again ever later, at least once a minute as long as
// few do, and that what fails in one namespace, however much it is, puts off nothing of another.
func TestRetriesOfTenants(t *testing.T) {
	const crowd = 2000
	r, last := newRetries(), time.Duration(0)
	for n := range crowd {
		o := owner(n)
		o.Namespace = "crowded"
		last = r.When(o)
	}
	if least := (crowd - 2*retryBurst) / retryRate * time.Second; last < least {
		t.Errorf("want the last of %d to wait for more than %s, got %s", crowd, least, last)
	}
	one := owner(0)
	one.Namespace = "neighbour"
	for _, want := range []time.Duration{retryFirst, 2 * retryFirst, 4 * retryFirst} {
		if got := r.When(one); got != want {
			t.Errorf("want the next retry after %s, got %s", want, got)
		}
	}
	for range 10 {
		last = r.When(one)
	}
	if last != retryMost {
		t.Errorf("want one that goes on to fail to be tried after %s, got %s", retryMost, last)
	}
	if r.Forget(one); r.When(one) != retryFirst {
		t.Error("want one that has succeeded to start anew")
	}
}
