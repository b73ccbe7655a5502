package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
)

const readyTimeout = 60 * time.Second

// startProvider starts the provider with its default flags, but for the interval of polls that are measured.
func (b *bed) startProvider() (err error) {
	var args []string
	if b.options.poll > 0 {
		args = []string{"--poll=" + b.options.poll.String(), "--poll-jitter-percentage=0"}
	}
	b.provider, err = provider.Start(provider.Options{
		Binary: b.options.provider, Dir: filepath.Join(b.dir, "provider"), Kubeconfig: b.control.kubeconfig, Args: args,
	})
	return err
}

func (b *bed) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout,
		errors.Errorf("provider is not ready after %s", readyTimeout))
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

// rest lets nothing happen for a while.
func (b *bed) rest(ctx context.Context, d time.Duration) (r rested, err error) {
	begin, err := b.mark()
	if err != nil {
		return r, err
	}
	before, err := b.provider.CPU()
	if err != nil {
		return r, err
	}
	if err := pause(ctx, d); err != nil {
		return r, err
	}
	after, err := b.provider.CPU()
	if err != nil {
		return r, err
	}
	rss, err := b.provider.RSS()
	if err != nil {
		return r, err
	}
	t, err := b.since(begin)
	return rested{lasted: d, cpu: after - before, requests: requests(slices.Concat(t...)), rss: rss}, err
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
