package preflight

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/pkg/errors"
)

// An Effect is what a takeover does to something.
type Effect string

// Effects, in the order in which they are shown.
const (
	// Unknown means that it could not be looked at.
	Unknown Effect = "unknown"
	// Refused means that it is refused, or that something is to be done about it before the takeover.
	Refused Effect = "refused"
	// Differs means that it behaves differently, and that nothing has to be done about it.
	Differs Effect = "differs"
	// Kept means that it is taken over as it is.
	Kept Effect = "kept"
)

var effects = []Effect{Unknown, Refused, Differs, Kept}

// A Finding is what a takeover does to things of one sort.
type Finding struct {
	Effect Effect `json:"effect"`
	// What the things are.
	What string `json:"what"`
	// Count of them.
	Count int `json:"count"`
	// Names of the first of them, sorted.
	Names []string `json:"names,omitempty"`
	// Why the effect is not Kept.
	Why string `json:"why,omitempty"`
	// Cure is what to do about it, empty if nothing is.
	Cure string `json:"cure,omitempty"`
}

// A Report is all that a takeover does.
type Report struct {
	// From is what is taken over.
	From string `json:"from"`
	// ExitCode is that of the program: 0 if nothing is to be done, 1 if something is refused or to be done first, 2 if
	// something could not be looked at.
	ExitCode int       `json:"exitCode"`
	Findings []Finding `json:"findings"`
}

// Exit codes of the program, by the worst effect. Nothing has to be done about others.
const (
	exitRefused = 1
	// ExitUnknown is the exit code if something could not be looked at.
	ExitUnknown = 2
)

var exitCodes = map[Effect]int{Refused: exitRefused, Unknown: ExitUnknown}

// namesMost is how many names a Finding has.
const namesMost = 5

// A verdict is what a takeover does to one thing. Things of one verdict become one Finding.
type verdict struct {
	effect          Effect
	what, why, cure string
}

func kept(what string) verdict               { return verdict{effect: Kept, what: what} }
func differs(what, why string) verdict       { return verdict{effect: Differs, what: what, why: why} }
func refused(what, why, cure string) verdict { return verdict{Refused, what, why, cure} }
func unknown(what, why, cure string) verdict { return verdict{Unknown, what, why, cure} }

// A tally gathers verdicts.
type tally struct {
	all   map[verdict]*Finding
	total int // of all things that were added
}

func newTally() *tally { return &tally{all: map[verdict]*Finding{}} }

// add adds a thing. Its name may be empty.
func (t *tally) add(v verdict, name string) { t.addCount(v, name, 1) }

// addCount adds a number of things of one name.
func (t *tally) addCount(v verdict, name string, count int) {
	f, ok := t.all[v]
	if !ok {
		f = &Finding{Effect: v.effect, What: v.what, Why: v.why, Cure: v.cure}
		t.all[v] = f
	}
	f.Count += count
	t.total += count
	at, found := slices.BinarySearch(f.Names, name)
	if name != "" && !found && at < namesMost {
		f.Names = slices.Insert(f.Names, at, name)
		f.Names = f.Names[:min(len(f.Names), namesMost)]
	}
}

// report returns all that was added, the worst first.
func (t *tally) report(from string) Report {
	r := Report{From: from, Findings: []Finding{}}
	for _, f := range t.all {
		r.Findings = append(r.Findings, *f)
		r.ExitCode = max(r.ExitCode, exitCodes[f.Effect])
	}
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(effects, a.Effect), slices.Index(effects, b.Effect)),
			cmp.Compare(a.What, b.What), cmp.Compare(a.Why, b.Why), cmp.Compare(a.Cure, b.Cure))
	})
	return r
}

// WriteJSON writes a report of any command as one JSON object.
func WriteJSON(w io.Writer, report any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return errors.Wrap(e.Encode(report), "cannot write report")
}

// indent begins the lines that belong to a row: it is as wide as the columns before what the row is about.
const indent = "                "

// WriteText writes a report for people: a row for each Finding, with why and cure below it, and a last line that says
// what follows.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %6s  %s\n", "EFFECT", "COUNT", "WHAT")
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-8s %6d  %s\n", f.Effect, f.Count, Printed(f.What))
		f.writeLine(&b, "why:    ", f.Why)
		f.writeLine(&b, "action: ", f.Cure)
		f.writeLine(&b, "at:     ", f.listed())
	}
	fmt.Fprintf(&b, "\n%s\n", r.conclusion())
	_, err := io.WriteString(w, b.String())
	return errors.Wrap(err, "cannot write report")
}

// writeLine writes a line below a row, unless the text is empty.
func (f Finding) writeLine(b *strings.Builder, begin, text string) {
	if text != "" {
		fmt.Fprintf(b, "%s %s%s\n", indent, begin, Printed(text))
	}
}

// Printed returns a text, which may come from an object, without control characters: they do not reach the terminal.
func Printed(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// listed names the things of a Finding that is not kept.
func (f Finding) listed() string {
	if f.Effect == Kept || len(f.Names) == 0 {
		return ""
	}
	all := strings.Join(f.Names, ", ")
	if f.Count > len(f.Names) {
		all += ", …"
	}
	return all
}

func (r Report) conclusion() string {
	switch r.ExitCode {
	case ExitUnknown:
		return "Some things could not be read: grant the permissions above, and run this again."
	case exitRefused:
		return "Do the listed actions, and run this again before the migration."
	}
	return "Nothing has to be done before the migration."
}
