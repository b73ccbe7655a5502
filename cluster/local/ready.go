package local

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
)

// requestTimeout bounds one question to a server that may not be up to answering yet.
const requestTimeout = 5 * time.Second

// Answers returns a check that a server answers each path below cfg.Host with 200.
func Answers(cfg *rest.Config, paths ...string) (func(context.Context) error, error) {
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make HTTP client")
	}
	return func(ctx context.Context) error {
		for _, p := range paths {
			if err := get(ctx, client, cfg.Host+p); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func get(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return errors.Wrap(err, "cannot make request")
	}
	resp, err := client.Do(req)
	if err != nil {
		return errors.Wrap(err, "cannot reach server")
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return errors.Wrapf(err, "cannot read answer of %s", url)
	}
	if resp.StatusCode != http.StatusOK {
		return errors.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}

// poll repeats check until it returns nil. If that takes too long or ctx ends, the error says so and what check said
// last.
func poll(ctx context.Context, deadline time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Wrap(err, context.Cause(ctx).Error())
		case <-time.After(pollInterval):
		}
	}
}

// report writes one line to w about how long something took.
func report(w io.Writer, what string, since time.Time) {
	// One call, so that lines of servers that start at the same time do not mix. A lost line is no reason to fail.
	_, _ = fmt.Fprintf(w, "%s after %.1fs\n", what, time.Since(since).Seconds())
}
