package clusters

import (
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
)

// TestOneAddressIsProbedInTurn shows that an address that does not answer is probed once in a second, however many
// connections name it, that a tenant who has one of them soon has a turn, and that all hear that it is back.
func TestOneAddressIsProbedInTurn(t *testing.T) {
	const many, seconds = 500, 60
	synctest.Test(t, func(t *testing.T) {
		var probes, of atomic.Int64
		var answers atomic.Bool
		server, turns := &neturl.URL{Scheme: "https", Host: "address"}, &probeTurns{}
		breakers := make([]*breaker, 0, many+1)
		connect := func(tenant string, count *atomic.Int64) {
			b := newBreaker(t.Context(), server, func() {}, func() {}, func() {})
			b.turns, b.tenant = turns, tenant
			b.next = roundTrip(func(*http.Request) (*http.Response, error) {
				count.Add(1)
				if !answers.Load() {
					return nil, errors.New("refused")
				}
				return httptest.NewRecorder().Result(), nil
			})
			breakers = append(breakers, b)
			b.suspect()
		}
		for range many {
			connect("many", &probes)
		}
		connect("one", &of)
		synctest.Wait()
		if probes.Load() != many || of.Load() != 1 {
			t.Errorf("each new connection is probed at once: want %d and 1, got %d and %d", many, probes.Load(), of.Load())
		}
		probes.Store(0)
		of.Store(0)
		time.Sleep(seconds * time.Second)
		if n := probes.Load() + of.Load(); n > seconds+1 || of.Load() < seconds/5 {
			t.Errorf("in %d s: want one probe in each, and %d of the other tenant, got %d and %d",
				seconds, seconds/5, n, of.Load())
		}
		answers.Store(true)
		time.Sleep(5 * probeInterval)
		for i, b := range breakers {
			if !b.look().isKnown() || b.look().err != nil {
				t.Fatalf("connection %d has not heard that the address answers: %v", i, b.look().err)
			}
		}
	})
}

// TestProbeTurnsAreOfAnAddress shows which connections share turns.
func TestProbeTurnsAreOfAnAddress(t *testing.T) {
	r, err := NewRegistry(Options{Injected: &rest.Config{Host: "https://a:1/"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	connect := func(i int, host string) *probeTurns {
		c, err := newCluster(access{config: &rest.Config{Host: host}, route: r.routes[0]}, r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.close)
		r.clusters[strconv.Itoa(i)] = c
		c.credentials = &credentials{}
		return c.breaker.turns
	}
	first := connect(0, "https://127.0.0.1:1/clusters/a")
	if connect(1, "https://127.0.0.1:1/clusters/b") != first {
		t.Error("workspaces of one address share turns")
	}
	if connect(2, "https://127.0.0.1:2") == first {
		t.Error("addresses share no turns")
	}
}
