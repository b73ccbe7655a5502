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
	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
)

// TestOneAddressIsProbedInTurn shows that an address that does not answer is probed once in a second, however many
// connections name it, and that all hear soon that it is back.
func TestOneAddressIsProbedInTurn(t *testing.T) {
	const many, seconds = 500, 60
	synctest.Test(t, func(t *testing.T) {
		var probes atomic.Int64
		var answers atomic.Bool
		server, limit := &neturl.URL{Scheme: "https", Host: "address"}, rate.NewLimiter(rate.Inf, 1)
		breakers := make([]*breaker, 0, many)
		for range many {
			b := newBreaker(t.Context(), server, func() {}, func() {}, func() {})
			b.probes = limit
			b.next = roundTrip(func(*http.Request) (*http.Response, error) {
				probes.Add(1)
				if !answers.Load() {
					return nil, errors.New("refused")
				}
				return httptest.NewRecorder().Result(), nil
			})
			breakers = append(breakers, b)
			b.startProbing()
		}
		synctest.Wait()
		if n := probes.Swap(0); n != many {
			t.Errorf("probes of %d new connections: want one each, got %d", many, n)
		}
		time.Sleep(seconds * time.Second)
		if n := probes.Load(); n < seconds/2 || n > seconds+1 {
			t.Errorf("probes in %d s: want one in each, got %d", seconds, n)
		}
		answers.Store(true)
		time.Sleep(5 * probeInterval)
		for i, b := range breakers {
			if err := b.look().err; err != nil {
				t.Fatalf("connection %d has not heard that the address answers: %v", i, err)
			}
		}
	})
}

// TestProbesAreOfAnAddress shows which connections share their probes.
func TestProbesAreOfAnAddress(t *testing.T) {
	r, err := NewRegistry(Options{Injected: &rest.Config{Host: "https://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	connect := func(host, tenant string) *rate.Limiter {
		c, err := newCluster(access{config: &rest.Config{Host: host}, route: r.routes[0], tenant: tenant}, r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.close)
		r.clusters[strconv.Itoa(len(r.clusters))] = c
		return c.breaker.probes
	}
	first := connect("https://127.0.0.1:2/clusters/a", "team")
	if connect("https://127.0.0.1:2/clusters/b", "team") != first {
		t.Error("workspaces of one address do not share them")
	}
	if connect("https://127.0.0.1:3", "team") == first {
		t.Error("addresses share them")
	}
	if connect("https://127.0.0.1:2", "other") == first {
		t.Error("a tenant delays another one who names the same address")
	}
}
