package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// readyPatience is how long the readiness probe waits for caches.
const readyPatience = 100 * time.Millisecond

// A readiness is whether the caches of the control plane have been filled. It does not go back when a controller starts
// later, as all do in a replica that becomes the leader, and with it a cache of its own.
type readiness struct {
	filled func(context.Context) bool
	ready  atomic.Bool
}

// check fails until the caches have been filled once.
func (r *readiness) check(req *http.Request) error {
	if r.ready.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(req.Context(), readyPatience)
	defer cancel()
	if !r.filled(ctx) {
		return errors.New("caches of the control plane are not filled yet")
	}
	r.ready.Store(true)
	return nil
}

func addProbes(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return errors.Wrap(err, "cannot add health probe")
	}
	r := &readiness{filled: mgr.GetCache().WaitForCacheSync}
	return errors.Wrap(mgr.AddReadyzCheck("caches", r.check), "cannot add readiness probe")
}
