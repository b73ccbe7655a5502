package target

import (
	"encoding/json"
	"regexp"
	"time"
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

// isDownSince reports whether the target has not answered since a time at which it was found not to.
func (s sight) isDownSince(since time.Time) bool { return s.state == stateDown && s.since.Equal(since) }

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
