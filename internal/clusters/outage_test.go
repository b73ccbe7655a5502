package clusters

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// TestIsBrief shows which errors may be over before anybody has to know.
func TestIsBrief(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"None":   {reason: "No error is no outage."},
		"Other":  {reason: "Other errors are none.", err: errors.New("boom")},
		"Begins": {reason: "An outage that begins is brief.", err: failure(errors.New("boom"), now), want: true},
		"Wrapped": {
			reason: "What was tried does not matter.",
			err:    errors.Wrap(failure(errors.New("boom"), now.Add(-outagePatience/2)), "cannot"), want: true,
		},
		"Lasts": {
			reason: "One that lasts is not.",
			err:    failure(errors.New("boom"), now.Add(-outagePatience)),
		},
		"Unknown": {
			reason: "An outage that nobody has seen begin is not known to be brief.",
			err:    failure(errors.New("boom"), time.Time{}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsBrief(tc.err); got != tc.want {
				t.Errorf("%s Want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestOutageWakesUsersLate shows that an outage is told of the ProviderConfig at once, but to the users only when it
// lasts, and that all hear that it is over.
func TestOutageWakesUsersLate(t *testing.T) {
	const users, config = 100, "config"
	joined := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-joined
		http.NotFound(w, r)
	})
	s := httptest.NewServer(handler)
	addr := s.Listener.Addr().String()
	r, err := NewRegistry(Options{Injected: &rest.Config{Host: s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var woken atomic.Int64
	r.OnChange("controller", func(types.NamespacedName) { woken.Add(1) })
	nobodyWaits, cancel := context.WithCancel(t.Context())
	cancel()
	var c *Cluster
	for i := range users {
		o := informer.Owner{Controller: "controller", NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}}
		r.Bind(o, config)
		if c, err = r.Connect(nobodyWaits, o, injectedAs("somebody")); c == nil {
			t.Fatal(err)
		}
	}
	told := make(chan string, users)
	r.OnHealth(func(key string, _ bool) { told <- key })
	if h := r.Health(config); h.Known || h.Err != nil {
		t.Errorf("before the first probe nothing is known, got %+v", h)
	}
	close(joined)
	awaitHealth(t, r, config, "the target to answer", func(h Health) bool { return h.Known && h.Err == nil })
	eventually(t, "users", func() bool { return woken.Load() == users })

	s.CloseClientConnections()
	s.Close()
	c.breaker.suspect()
	awaitHealth(t, r, config, "the target to be lost", func(h Health) bool { return IsUnreachable(h.Err) })
	if n := woken.Load(); n > users {
		t.Errorf("users woken by an outage that begins: want none, got %d", n-users)
	}
	eventually(t, "users", func() bool { return woken.Load() == 2*users })

	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	again := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	defer again.Close()
	go func() { _ = again.Serve(l) }()
	eventually(t, "users", func() bool { return woken.Load() == 3*users })
	awaitHealth(t, r, config, "the target to be back", func(h Health) bool { return h.Known && h.Err == nil })
	for len(told) > 0 {
		if key := <-told; key != config {
			t.Errorf("it tells of %q", key)
		}
	}
	if h := r.Health("other"); h.Known || h.Err != nil {
		t.Errorf("of what nobody uses nothing is known, got %+v", h)
	}
}

func awaitHealth(t *testing.T, r *Registry, key, what string, is func(Health) bool) {
	t.Helper()
	eventually(t, what, func() bool { return is(r.Health(key)) })
}
