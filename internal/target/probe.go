package target

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/pkg/errors"
)

type state int

const (
	stateConnecting state = iota
	stateUp
	stateDown
)

// A sight is what is known of a target.
type sight struct {
	state   state
	cause   error     // what the last probe died of
	since   time.Time // when the target was last found not to answer
	version string    // what the target reported last, empty for nothing
	refused time.Time // since when the target refuses the credentials; zero if it accepts them
}

// verdict returns nil if requests may pass.
func (s sight) verdict() error {
	if s.state == stateConnecting {
		return errConnecting
	}
	return s.outage()
}

// outage returns an error if the target is known not to answer.
func (s sight) outage() error {
	if s.state == stateDown {
		return failure(s.cause, s.since)
	}
	return nil
}

// isRefused reports whether the target has refused the credentials for 10 s. A shorter refusal may be a token that is
// renewed, or a server that does not know it yet.
func (s sight) isRefused() bool {
	return !s.refused.IsZero() && time.Since(s.refused) >= outagePatience
}

// suspect has the target probed until it answers, by one goroutine. The channel is closed when the first probe is over.
func (b *breaker) suspect() <-chan struct{} {
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
	case <-b.suspect():
	case <-ctx.Done():
	}
}

// watchOver probes until the target answers.
func (b *breaker) watchOver(decided chan struct{}) {
	decide := sync.OnceFunc(func() { close(decided) })
	defer decide()
	for b.ctx.Err() == nil {
		version, err := b.probe()
		if b.ctx.Err() != nil {
			return
		}
		tell := b.learn(version, err)
		decide()
		tell()
		if err == nil {
			return
		}
		select {
		case <-b.ctx.Done():
		case <-time.After(probeInterval):
		}
	}
}

// learn takes in the result of a probe, and returns whom to tell. If the target has stopped answering it gives up all
// requests.
func (b *breaker) learn(version string, err error) (tell func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.seen.state
	b.seen.cause, tell = err, func() {}
	switch {
	case err == nil:
		b.seen.state, b.decided, b.seen.version = stateUp, nil, cmp.Or(version, b.seen.version)
		if was != stateUp {
			tell = b.up
		}
	case was != stateDown:
		b.seen.state, b.seen.since, tell = stateDown, time.Now(), b.down
		for f := range b.flights {
			f.cancel(failure(err, b.seen.since))
		}
	}
	return tell
}

// probe asks the target for its version. Any whole answer will do, a refusal included.
func (b *breaker) probe() (version string, err error) {
	ctx, cancel := context.WithTimeoutCause(b.ctx, probeTimeout, errors.Errorf("no answer within %s", probeTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url, nil)
	if err != nil {
		return "", errors.Wrap(err, "cannot make a probe")
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
