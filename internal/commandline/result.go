package commandline

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/pkg/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/diff"
	"github.com/crossplane-contrib/provider-kcp/internal/preflight"
)

// An Effect is what an apply of a manifest does.
type Effect string

// Effects.
const (
	// None means that nothing would change.
	None Effect = "none"
	// Changes means that the resource would change.
	Changes Effect = "changes"
	// Creates means that the resource would be made.
	Creates Effect = "creates"
	// Invalid means that the manifest would be refused.
	Invalid Effect = "invalid"
	// Unknown means that it cannot be told.
	Unknown Effect = "unknown"
)

// Exit codes, by the worst of all results.
const (
	// ExitDifferent is the exit code if something differs.
	ExitDifferent = 1
	// ExitUnknown is the exit code if something is invalid, or cannot be told.
	ExitUnknown = 2
)

var exitCodes = map[Effect]int{
	Changes: ExitDifferent, Creates: ExitDifferent, Invalid: ExitUnknown, Unknown: ExitUnknown,
}

// verbs are the effects that a line says by other words.
var verbs = map[Effect]string{Changes: "would change", Creates: "would create it"}

// A Result is what becomes of one manifest.
type Result struct {
	Effect Effect `json:"effect"`
	// Object of the manifest, or where it is from. Empty for the manifest of a resource.
	Object string `json:"object,omitempty"`
	// Resource on the target, empty if it is not known which.
	Resource string `json:"resource,omitempty"`
	// Target is the ProviderConfig or the server of the resource.
	Target string `json:"target,omitempty"`
	// Message says why, or what else happens.
	Message string `json:"message,omitempty"`
	// Diff are the operations that change the resource.
	Diff []commonv1.DiffOperation `json:"diff,omitempty"`
	// Was are the operations that would change it back, one for each.
	Was []commonv1.DiffOperation `json:"was,omitempty"`
}

// A Report is what a diff says.
type Report struct {
	ExitCode int      `json:"exitCode"`
	Results  []Result `json:"results"`
}

func (r *Report) add(s Result) {
	r.Results = append(r.Results, s)
	r.ExitCode = max(r.ExitCode, exitCodes[s.Effect])
}

// WriteText writes a report for people: nothing of manifests that change nothing.
func (r Report) WriteText(w io.Writer) error {
	for _, s := range r.Results {
		if s.Effect == None {
			continue
		}
		if _, err := fmt.Fprintln(w, s.text()); err != nil {
			return errors.Wrap(err, "cannot write report")
		}
	}
	return nil
}

// text returns a result as one line, or with a line for each of several changes.
func (s Result) text() string {
	line := s.Object
	if s.Object != "" && s.Resource != "" {
		line += " → "
	}
	if line += s.Resource; s.Resource != "" && s.Target != "" {
		line += " on " + s.Target
	}
	line += ": " + cmp.Or(verbs[s.Effect], string(s.Effect))
	var changes []string
	for i := range s.Was { // A resource that is made has none.
		changes = append(changes, preflight.Printed(change(s.Diff[i], s.Was[i])))
	}
	switch len(changes) {
	case 0:
	case 1:
		line += " " + changes[0]
	default:
		line += "\n  " + strings.Join(changes, "\n  ")
	}
	if s.Message != "" {
		line += ": " + preflight.Printed(s.Message)
	}
	return line
}

// valueMost is how many bytes of a value a line shows.
const valueMost = 200

// change returns an operation as a field with what it was and what it would be.
func change(op, was commonv1.DiffOperation) string {
	return diff.Summary([]commonv1.DiffOperation{op}) + " " + value(was) + " → " + value(op)
}

func value(op commonv1.DiffOperation) string {
	switch {
	case op.Value == nil:
		return "(none)"
	case len(op.Value.Raw) > valueMost:
		return strings.ToValidUTF8(string(op.Value.Raw[:valueMost]), "") + "…"
	}
	return string(op.Value.Raw)
}
