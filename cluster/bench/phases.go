package main

import (
	"context"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/pkg/errors"
)

const (
	// singles is how many single Objects and single changes are measured.
	singles = 50
	// restTime is for how long nothing happens.
	restTime     = 20 * time.Second
	readyTimeout = 60 * time.Second
)

// benchObjects measures everything about Objects.
func benchObjects(ctx context.Context, b *bed, o options) (r results, err error) {
	r.n, r.load[0] = o.n, loadAverage()
	for _, step := range []struct {
		says string
		do   func(context.Context, *results) error
	}{
		{"the floor: as many Objects and ConfigMaps without a provider", b.firstFloor},
		{"creating Objects with the provider", b.createAll},
		{"single new Objects", b.pickUp},
		{"drift of single ConfigMaps", b.driftAway},
		{"rest", b.takeRest},
		{"restart", b.restart},
		{"the floor again", b.secondFloor},
	} {
		progressf("%s", step.says)
		if err := step.do(ctx, &r); err != nil {
			return r, errors.Wrap(err, step.says)
		}
	}
	r.load[1] = loadAverage()
	return r, nil
}

func (b *bed) firstFloor(ctx context.Context, r *results) (err error) {
	r.floors[0], err = b.floor(ctx, "floor-a")
	return err
}

func (b *bed) secondFloor(ctx context.Context, r *results) (err error) {
	b.provider.Kill()
	// As empty as the servers were the first time.
	if err := b.clear(ctx, ""); err != nil {
		return errors.Wrap(err, "cannot clean up")
	}
	r.floors[1], err = b.floor(ctx, "floor-b")
	return err
}

// createAll starts the provider and creates all Objects, as fast as the floor does.
func (b *bed) createAll(ctx context.Context, r *results) error {
	if err := b.connect(ctx); err != nil {
		return err
	}
	begin, err := b.mark()
	if err != nil {
		return err
	}
	r.create.all, err = spend(func() (err error) {
		r.create.wall, r.create.ready, err = b.createObjects(ctx, "object", r.n)
		return err
	})
	if err != nil {
		return err
	}
	progressf("%d Objects are Ready after %.1fs, waiting for the provider to settle", r.n, r.create.wall.Seconds())
	if err := b.settle(ctx); err != nil {
		return err
	}
	if r.create.traffic, err = b.since(begin); err != nil {
		return err
	}
	if r.create.cpu, err = b.provider.CPU(); err != nil {
		return err
	}
	r.create.peak, err = b.provider.PeakRSS()
	return err
}

// connect starts the provider, waits until it is ready, and makes a ProviderConfig for the target.
func (b *bed) connect(ctx context.Context) error {
	if err := b.startProvider(); err != nil {
		return err
	}
	if err := b.awaitReady(ctx); err != nil {
		return err
	}
	kubeconfig, err := b.target.kubeconfig()
	if err != nil {
		return err
	}
	pc, secret := newConfig(kubeconfig)
	if err := b.control.create(ctx, secrets, secret); err != nil {
		return err
	}
	if err := b.control.create(ctx, providerConfigs, pc); err != nil {
		return err
	}
	return b.settle(ctx)
}

func (b *bed) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errors.Errorf("provider is not ready after %s", readyTimeout))
	defer cancel()
	for {
		select {
		case <-b.provider.Exited():
			return errors.Errorf("provider has ended: %s", b.provider.Log())
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.provider.Readyz(), nil)
		if err != nil {
			return errors.Wrap(err, "cannot make request")
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := pause(ctx, auditInterval); err != nil {
			return err
		}
	}
}

// createObjects creates Objects and waits until all are Ready.
func (b *bed) createObjects(ctx context.Context, phase string, n int) (time.Duration, durations, error) {
	seen, err := b.control.watch(ctx, objects, "", item.ready)
	if err != nil {
		return 0, nil, err
	}
	defer seen.close()
	begin, begins := time.Now(), make([]time.Time, n)
	err = each(ctx, n, func(ctx context.Context, i int) error {
		o, err := newObject(named(phase, i))
		if err != nil {
			return err
		}
		begins[i] = time.Now()
		return b.control.create(ctx, objects, o)
	})
	if err != nil {
		return 0, nil, err
	}
	last, took := begin, make(durations, n)
	for i := range n {
		at, err := seen.await(ctx, named(phase, i))
		if err != nil {
			return 0, nil, err
		}
		took[i] = at.Sub(begins[i])
		if at.After(last) {
			last = at
		}
	}
	return last.Sub(begin), took, nil
}

// loadAverage is what other programs have to do with the numbers.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}
