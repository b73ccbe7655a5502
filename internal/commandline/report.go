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

// An Effect is what an apply of a manifest does, or how a resource is.
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
	// NotReady means that the resource is not Ready, or does not exist.
	NotReady Effect = "notReady"
)

// Exit codes, by the worst of all results.
const (
	// ExitDifferent is the exit code if something differs, or is not Ready.
	ExitDifferent = 1
	// ExitUnknown is the exit code if something is invalid, or cannot be told.
	ExitUnknown = 2
)

var exitCodes = map[Effect]int{
	Changes: ExitDifferent, Creates: ExitDifferent, NotReady: ExitDifferent, Invalid: ExitUnknown, Unknown: ExitUnknown,
}

// verbs are the effects that a line says by other words.
var verbs = map[Effect]string{Changes: "would change", Creates: "would create it"}

// A Result is what becomes of one manifest, or how one resource is.
type Result struct {
	// Effect is empty in a trace if nothing is wrong.
	Effect Effect `json:"effect,omitempty"`
	// Object of the manifest, or where it is from; in a trace, the resource of the control plane.
	Object string `json:"object,omitempty"`
	// Resource on the target, empty if it is not known which.
	Resource string `json:"resource,omitempty"`
	// Target is the ProviderConfig or the server of the resource.
	Target string `json:"target,omitempty"`
	// Messages say why, or what else there is to know.
	Messages []string `json:"messages,omitempty"`
	// Diff are the operations that change the resource.
	Diff []commonv1.DiffOperation `json:"diff,omitempty"`
	// Was are the operations that would change it back, one for each.
	Was []commonv1.DiffOperation `json:"was,omitempty"`
	// Parts are what the resource consists of.
	Parts []*Result `json:"parts,omitempty"`
}

// A Report is what a diff or a trace says.
type Report struct {
	ExitCode int       `json:"exitCode"`
	Results  []*Result `json:"results"`
	// Cause is the first, of the deepest, that is not Ready in a trace, and why.
	Cause string `json:"cause,omitempty"`

	tree bool // it is written as one
}

// add adds a result. The cause is in what it consists of before it is the result itself.
func (r *Report) add(s *Result) {
	r.Results = append(r.Results, s)
	r.conclude(s)
}

func (r *Report) conclude(s *Result) {
	for _, part := range s.Parts {
		r.conclude(part)
	}
	code := exitCodes[s.Effect]
	r.ExitCode = max(r.ExitCode, code)
	if r.tree && code > 0 && r.Cause == "" {
		r.Cause = s.name() + ": " + strings.Join(s.Messages, "; ")
	}
}

// WriteText writes a report for people: a line for each manifest that changes something, or a tree with the cause in
// the last line.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, s := range r.Results {
		switch {
		case r.tree:
			s.writeTree(&b, "")
		case s.Effect != None:
			fmt.Fprintln(&b, s.line())
		}
	}
	if r.Cause != "" {
		fmt.Fprintf(&b, "cause: %s\n", preflight.Printed(r.Cause))
	}
	_, err := io.WriteString(w, b.String())
	return errors.Wrap(err, "cannot write report")
}

func (s *Result) writeTree(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s%s\n", indent, s.name())
	for _, text := range s.Messages {
		fmt.Fprintf(b, "%s  · %s\n", indent, preflight.Printed(text))
	}
	for _, part := range s.Parts {
		part.writeTree(b, indent+"  ")
	}
}

func (s *Result) name() string {
	name := s.Object
	if s.Object != "" && s.Resource != "" {
		name += " → "
	}
	if name += s.Resource; s.Resource != "" && s.Target != "" {
		name += " on " + s.Target
	}
	return name
}

// line returns a result as one line, or with a line for each of several changes.
func (s *Result) line() string {
	line := s.name() + ": " + cmp.Or(verbs[s.Effect], string(s.Effect))
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
	if len(s.Messages) > 0 {
		line += ": " + preflight.Printed(strings.Join(s.Messages, "; "))
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
