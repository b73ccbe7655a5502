package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// An item is what is read of each resource a watch shows. Reading little keeps us from taking the processor from who is
// measured.
type item struct {
	Metadata struct {
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Data map[string]string `json:"data"`
	Spec struct {
		Size string `json:"size"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
		Phase      string      `json:"phase"`
	} `json:"status"`

	gone bool // It has been deleted, and this is what it was last.
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

func (i item) ready() bool {
	if i.gone {
		return false
	}
	for _, c := range i.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// undrifted reports whether a ConfigMap says what its Object wants.
func (i item) undrifted() bool { return !i.gone && i.Data[driftKey] == driftValue }

// there, sized, issued and left say how far a hat or its copy has come.
func (i item) there() bool  { return !i.gone }
func (i item) sized() bool  { return !i.gone && i.Spec.Size == sizeNext }
func (i item) issued() bool { return !i.gone && i.Status.Phase == issued }
func (i item) left() bool   { return i.gone }

// A sighting is a watch that notes when each resource is first seen as wanted, after the watch has begun.
type sighting struct {
	wanted func(item) bool
	cancel context.CancelCauseFunc
	ctx    context.Context //nolint:containedctx // The life of the watch; its cause is why it has ended.
	from   string          // the resourceVersion last seen; only for the goroutine that reads

	mu   sync.Mutex
	at   map[string]time.Time
	news chan struct{} // closed and replaced when there is something new
}

// watch begins to watch the resources as they are from now on. Callers close the sighting.
func (s *server) watch(ctx context.Context, r schema.GroupVersionResource, ns string,
	wanted func(item) bool,
) (*sighting, error) {
	list, err := s.resource(r, ns).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, errors.Wrapf(err, "cannot list %s", r.Resource)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	g := &sighting{wanted: wanted, cancel: cancel, ctx: ctx, at: map[string]time.Time{}, news: make(chan struct{})}
	g.from = list.GetResourceVersion()
	body, err := s.stream(ctx, r, ns, g.from)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	go func() {
		cancel(errors.Wrapf(g.follow(body, func() (io.ReadCloser, error) { return s.stream(ctx, r, ns, g.from) }),
			"cannot watch %s", r.Resource))
	}()
	return g, nil
}

// follow reads a stream to its end, and goes on with the next one where it has ended: a server under load ends streams
// whose reader does not keep up.
func (g *sighting) follow(body io.ReadCloser, next func() (io.ReadCloser, error)) error {
	for {
		err := g.read(body)
		_ = body.Close() // Only read.
		if err != nil {
			return err
		}
		if body, err = next(); err != nil {
			return err
		}
	}
}

func (s *server) stream(ctx context.Context, r schema.GroupVersionResource, ns, from string) (io.ReadCloser, error) {
	cfg := s.config
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make HTTP client")
	}
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if ns != "" {
		path += "/namespaces/" + ns
	}
	query := url.Values{"watch": {"true"}, "resourceVersion": {from}, "timeoutSeconds": {"3600"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Host+path+"/"+r.Resource+"?"+query.Encode(), nil)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make request")
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot watch %s", r.Resource)
	}
	switch res.StatusCode {
	case http.StatusOK:
		return res.Body, nil
	case http.StatusTooManyRequests: // It has not read yet what it stores.
		_ = res.Body.Close()
		if err := pause(ctx, quiet); err != nil {
			return nil, err
		}
		return s.stream(ctx, r, ns, from)
	}
	_ = res.Body.Close()
	return nil, errors.Errorf("cannot watch %s: %s", r.Resource, res.Status)
}

// read reads a stream. It returns nil if the server has ended it.
func (g *sighting) read(body io.Reader) error {
	for d := json.NewDecoder(body); ; {
		var e struct {
			Type   string `json:"type"`
			Object item   `json:"object"`
		}
		switch err := d.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case e.Type == "ERROR":
			return errors.New("the server has ended it with an error")
		}
		g.from = e.Object.Metadata.ResourceVersion
		if e.Object.gone = e.Type == "DELETED"; g.wanted(e.Object) {
			g.note(e.Object.Metadata.Name)
		}
	}
}

func (g *sighting) note(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.at[name]; ok {
		return
	}
	g.at[name] = time.Now()
	close(g.news)
	g.news = make(chan struct{})
}

// await waits until a resource is seen as wanted, and returns when that was.
func (g *sighting) await(ctx context.Context, name string) (at time.Time, err error) {
	err = g.until(ctx, name, func() (ok bool) {
		at, ok = g.at[name]
		return ok
	})
	return at, err
}

// awaitAny waits until any resource is seen as wanted.
func (g *sighting) awaitAny(ctx context.Context) error {
	return g.until(ctx, "anything", func() bool { return len(g.at) > 0 })
}

func (g *sighting) until(ctx context.Context, what string, seen func() bool) error {
	for {
		g.mu.Lock()
		ok := seen()
		news := g.news
		g.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-news:
		case <-g.ctx.Done():
			return errors.Wrapf(context.Cause(g.ctx), "cannot see %q as wanted", what)
		case <-ctx.Done():
			return errors.Wrapf(context.Cause(ctx), "cannot see %q as wanted", what)
		}
	}
}

// close ends the watch.
func (g *sighting) close() { g.cancel(nil) }
