package clusters

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"
)

// How long requests may take: until the answer is read, or until the headers of the answer to a watch.
const (
	readTimeout = 10 * time.Second
	listTimeout = 60 * time.Second
	// writeTimeout leaves an admission webhook the 30 seconds that an API server gives it.
	writeTimeout = 35 * time.Second
	// slowAfter is how long a request may stay unanswered before the target is probed beside it.
	slowAfter = 2 * time.Second
)

const (
	// probeTimeout is how long a probe waits for an answer.
	probeTimeout = 3 * time.Second
	// probeInterval is the pause between probes of an address that does not answer, and probeJitter the part of it by
	// which it varies, so that connections to one address take turns.
	probeInterval = time.Second
	probeJitter   = 0.2
	// connectPatience is how long a user waits for the first probe.
	connectPatience = 250 * time.Millisecond
)

// A targetHealth is what is known of a target.
type targetHealth struct {
	err     error     // why no request may pass: errConnecting, or what the last probe died of
	since   time.Time // when the target was last found not to answer
	version string    // what the target reported last, empty for nothing
	refused bool      // the target does not accept the credentials
	// accepted reports whether the target has ever accepted the credentials.
	accepted bool
}

// isKnown reports whether the target has been probed.
func (s targetHealth) isKnown() bool { return !errors.Is(s.err, errConnecting) }

// A breaker stands between a cluster's clients and its response guard. It gives each request a deadline, and lets
// requests through while the target answers.
type breaker struct {
	next   http.RoundTripper // set before the first request
	url    string            // what a probe asks for
	paths  paths
	up     func()          // called when the target answers again, or for the first time
	down   func()          // called when the target has stopped answering, or does not answer at first
	health func()          // called when the target may have begun to accept the credentials, or not to
	ctx    context.Context //nolint:containedctx // The life of the cluster, which outlives each request.
	probes *rate.Limiter   // of repeated ones, which connections to one address may share

	mu      sync.Mutex
	seen    targetHealth
	decided chan struct{} // closed when it is known whether the target answers; nil while nobody doubts that it does
	// spell is the time for which the target answers. Its end gives up all requests that wait.
	spell    context.Context //nolint:containedctx // Each request has one of its own, too.
	endSpell context.CancelCauseFunc
}

func newBreaker(ctx context.Context, server *url.URL, up, down, health func()) *breaker {
	b := &breaker{
		seen: targetHealth{err: errConnecting},
		url:  server.JoinPath("version").String(), up: up, down: down, health: health, ctx: ctx,
		probes: rate.NewLimiter(rate.Inf, 1),
	}
	b.spell, b.endSpell = context.WithCancelCause(context.Background())
	b.paths.base, b.paths.wildcard = strings.CutSuffix(server.Path, "*")
	return b
}

// look returns what is known of the target.
func (b *breaker) look() targetHealth {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

// ready returns nil if the target answers. While nothing is known yet it waits a moment.
func (b *breaker) ready(ctx context.Context) error {
	if !b.look().isKnown() {
		ctx, cancel := context.WithTimeout(ctx, connectPatience)
		defer cancel()
		b.await(ctx)
	}
	return b.look().err
}

// RoundTrip sends a request if the target answers. A transport error makes the target suspect.
func (b *breaker) RoundTrip(req *http.Request) (*http.Response, error) {
	b.mu.Lock()
	closed, spell := b.seen.err, b.spell
	b.mu.Unlock()
	if closed != nil {
		if req.Body != nil {
			_ = req.Body.Close() // A transport must.
		}
		return nil, closed
	}
	c := b.paths.call(req)
	ctx, cancel := context.WithCancelCause(req.Context())
	defer context.AfterFunc(spell, func() { cancel(context.Cause(spell)) })()
	defer time.AfterFunc(slowAfter, func() { b.startProbing() }).Stop()
	defer time.AfterFunc(c.timeout(req.Method), func() { cancel(unreachableError{cause: errSlow}) }).Stop()
	res, err := b.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		err = b.explain(ctx, req.Context(), err)
		cancel(nil)
		return nil, err
	}
	b.noteCredentials(res.StatusCode != http.StatusUnauthorized)
	if !c.watch || res.StatusCode != http.StatusOK {
		cancel(nil) // The answer is read. That of a watch ends with the context of the request.
	}
	return res, nil
}

// paths say where the API begins in the paths of requests.
type paths struct {
	base     string // what comes before the API, or before the logical cluster
	wildcard bool   // a logical cluster comes next
}

// A call is what a request asks an API server for, as its URL says.
type call struct {
	watch     bool
	write     bool // it creates or changes
	one       bool // it asks for at most one object
	list      bool // the answer is a list
	resource  bool // it is about resources, and not about what is served
	document  bool // it asks for a document that is no Kubernetes object, such as the version
	namespace string
	plural    string // of the resource
	name      string // empty for a list
}

// call parses a request.
func (p paths) call(req *http.Request) call {
	c := call{
		watch: strings.Contains(req.URL.RawQuery, "watch=") &&
			slices.Contains([]string{"true", "1"}, req.URL.Query().Get("watch")),
		one:   true,
		write: req.Method != http.MethodGet && req.Method != http.MethodDelete,
	}
	path := strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, strings.TrimSuffix(p.base, "/")), "/")
	if p.wildcard {
		_, path, _ = strings.Cut(path, "/")
	}
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		c.document = parts[0] != "api" && parts[0] != "apis"
		return c
	}
	c.resource = true
	if parts[0] == "namespaces" && len(parts) > 2 {
		c.namespace, parts = parts[1], parts[2:]
	}
	c.plural = parts[0]
	if len(parts) > 1 {
		c.name = parts[1]
	}
	c.list = c.name == "" && req.Method == http.MethodGet && !c.watch
	c.one = !c.list || strings.Contains(req.URL.RawQuery, "fieldSelector=metadata.name%3D")
	return c
}

// timeout returns how long the call may take.
func (c call) timeout(method string) time.Duration {
	switch {
	case method != http.MethodGet:
		return writeTimeout
	case c.watch, c.one:
		return readTimeout
	}
	return listTimeout
}

// explain returns why a request has failed. If that is neither the word of the server nor of the caller it waits until
// a probe has decided whether the target is at fault, and the error says so.
func (b *breaker) explain(ctx, caller context.Context, err error) error {
	var answer foreignError
	given := context.Cause(ctx)
	switch {
	case IsUnreachable(given) || IsInvalidConnection(given):
		return given
	case caller.Err() != nil, errors.As(err, &answer):
		return err
	}
	began := time.Now()
	b.await(caller)
	s := b.look()
	if s.err == nil && !s.since.After(began) {
		s.since = time.Time{} // The fault is the request's.
	}
	return failure(err, s.since)
}

// noteCredentials notes whether an answer accepts the credentials.
func (b *breaker) noteCredentials(accepted bool) {
	b.mu.Lock()
	changed := b.seen.refused == accepted
	b.seen.refused, b.seen.accepted = !accepted, b.seen.accepted || accepted
	b.mu.Unlock()
	if changed {
		b.health()
	}
}

// startProbing has the target probed until it answers, by one goroutine. The channel is closed when the first probe is
// over.
func (b *breaker) startProbing() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.decided == nil {
		b.decided = make(chan struct{})
		go b.watchOver(b.decided)
	}
	return b.decided
}

// await waits until it is known whether the target answers.
func (b *breaker) await(ctx context.Context) {
	select {
	case <-b.startProbing():
	case <-ctx.Done():
	}
}

// watchOver probes until the target answers: at once, and then as often as the limiter allows.
func (b *breaker) watchOver(decided chan struct{}) {
	again, decide := false, sync.OnceFunc(func() { close(decided) })
	defer decide()
	pauses := wait.Backoff{Duration: probeInterval, Factor: 1, Jitter: probeJitter, Steps: math.MaxInt}
	_ = pauses.DelayFunc().Until(b.ctx, true, false, func(context.Context) (answers bool, _ error) {
		if !b.probes.Allow() && again {
			return false, nil
		}
		version, err := b.probe()
		again = true
		limit := rate.Inf // If it answers one, all may ask.
		if err != nil {
			limit = rate.Every(probeInterval)
		}
		b.probes.SetLimit(limit)
		if b.ctx.Err() == nil {
			tell := b.learn(version, err)
			decide()
			tell()
		}
		return err == nil, nil
	})
}

// learn takes in the result of a probe, and returns whom to tell. If the target has stopped answering it gives up all
// requests.
func (b *breaker) learn(version string, err error) (tell func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.seen
	switch tell = func() {}; {
	case err == nil:
		b.seen.err, b.decided, b.seen.version = nil, nil, cmp.Or(version, b.seen.version)
		if was.err != nil {
			b.spell, b.endSpell = context.WithCancelCause(context.Background())
			tell = b.up
		}
	case was.err == nil || !was.isKnown():
		b.seen.since, tell = time.Now(), b.down
		b.seen.err = failure(err, b.seen.since)
		b.endSpell(b.seen.err)
	default:
		b.seen.err = failure(err, b.seen.since)
	}
	return tell
}

// probe asks the target for its version. Any whole answer will do, a refusal included.
func (b *breaker) probe() (version string, err error) {
	ctx, cancel := context.WithTimeoutCause(b.ctx, probeTimeout, errors.Errorf("no response within %s", probeTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url, nil)
	if err != nil {
		return "", errors.Wrap(err, "cannot create the probe request")
	}
	var content []byte
	res, err := b.next.RoundTrip(req)
	if err == nil {
		content, err = io.ReadAll(res.Body)
		_ = res.Body.Close() // All of it is read.
	}
	var answer foreignError
	switch {
	case err == nil, errors.As(err, &answer):
		return versionIn(content), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	return "", err
}

// versionForm is what is shown of a version: a server may send anything.
var versionForm = regexp.MustCompile(`^v[0-9]+\.[0-9]+[0-9A-Za-z.+-]{0,60}$`)

// versionIn returns the version in the answer to a probe, empty if it has none.
func versionIn(answer []byte) string {
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	if json.Unmarshal(answer, &v) != nil || !versionForm.MatchString(v.GitVersion) {
		return ""
	}
	return v.GitVersion
}
