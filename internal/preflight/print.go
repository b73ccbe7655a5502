package preflight

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/pkg/errors"
)

// WriteJSON writes a report as one JSON object.
func (r Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return errors.Wrap(e.Encode(r), "cannot write report")
}

// indent begins the lines that belong to a row: it is as wide as the columns before what the row is about.
const indent = "                "

// WriteTable writes a report for people: a row for each Finding, with why and cure below it, and a last line that says
// what follows.
func (r Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %6s  %s\n", "EFFECT", "COUNT", "WHAT")
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-8s %6d  %s\n", f.Effect, f.Count, printed(f.What))
		f.writeLine(&b, "why:  ", f.Why)
		f.writeLine(&b, "cure: ", f.Cure)
		f.writeLine(&b, "at:   ", f.places())
	}
	fmt.Fprintf(&b, "\n%s\n", r.conclusion())
	_, err := io.WriteString(w, b.String())
	return errors.Wrap(err, "cannot write report")
}

// writeLine writes a line below a row, unless the text is empty.
func (f Finding) writeLine(b *strings.Builder, begin, text string) {
	if text != "" {
		fmt.Fprintf(b, "%s %s%s\n", indent, begin, printed(text))
	}
}

// printed returns a text, which may come from an object, without control characters: they do not reach the terminal.
func printed(text string) string { return strings.Map(printable, text) }

func printable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return ' '
	}
	return r
}

// places names the things of a Finding that is not kept.
func (f Finding) places() string {
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
		return "Do what the cures say, and run this again before the takeover."
	}
	return "Nothing has to be done before the takeover."
}
