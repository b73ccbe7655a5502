package preflight

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tallied returns what was added, the worst first.
func tallied(t *tally) []Finding { return t.report("").Findings }

// one returns the finding of one thing by its name.
func one(name string, v verdict) Finding {
	return Finding{Effect: v.effect, What: v.what, Count: 1, Names: []string{name}, Why: v.why, Cure: v.cure}
}

func TestReport(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		add    func(*tally)
		want   Report
	}{
		"Nothing": {
			reason: "Nothing is a report, too.",
			add:    func(*tally) {},
			want:   Report{From: "x", Findings: []Finding{}},
		},
		"Same": {
			reason: "Things to which the same happens are one row, with the first of their names.",
			add: func(t *tally) {
				for _, n := range []string{"g", "b", "a", "f", "c", "e", "a", "d"} {
					t.add(kept("Object"), n)
				}
			},
			want: Report{From: "x", Findings: []Finding{
				{Effect: Kept, What: "Object", Count: 8, Names: []string{"a", "b", "c", "d", "e"}},
			}},
		},
		"DiffersNeedsNothing": {
			reason: "What only behaves differently fails no pipeline.",
			add:    func(t *tally) { t.add(differs("Object", "it is faster"), "") },
			want:   Report{From: "x", Findings: []Finding{{Effect: Differs, What: "Object", Count: 1, Why: "it is faster"}}},
		},
		"Refused": {
			reason: "What is refused comes before what is kept.",
			add: func(t *tally) {
				t.add(kept("Object"), "a")
				t.add(refused("Object", "so", "do this"), "b")
			},
			want: Report{From: "x", ExitCode: 1, Findings: []Finding{
				{Effect: Refused, What: "Object", Count: 1, Names: []string{"b"}, Why: "so", Cure: "do this"},
				{Effect: Kept, What: "Object", Count: 1, Names: []string{"a"}},
			}},
		},
		"UnknownOutweighsRefused": {
			reason: "What could not be looked at comes first: the rest is not all.",
			add: func(t *tally) {
				t.add(refused("Object", "so", "do this"), "b")
				t.add(unknown("secrets", "denied", "grant"), "")
			},
			want: Report{From: "x", ExitCode: 2, Findings: []Finding{
				{Effect: Unknown, What: "secrets", Count: 1, Why: "denied", Cure: "grant"},
				{Effect: Refused, What: "Object", Count: 1, Names: []string{"b"}, Why: "so", Cure: "do this"},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tally := newTally()
			tc.add(tally)
			if diff := cmp.Diff(tc.want, tally.report("x")); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWriteText(t *testing.T) {
	r := Report{ExitCode: 1, Findings: []Finding{
		{Effect: Refused, What: "Object", Count: 7, Names: []string{"a/b", "c\x1b[31m"}, Why: "so", Cure: "do this"},
		{Effect: Kept, What: "ProviderConfig", Count: 12, Names: []string{"default"}},
	}}
	const want = `EFFECT    COUNT  WHAT
refused       7  Object
                 why:    so
                 action: do this
                 at:     a/b, c [31m, …
kept         12  ProviderConfig

Do the listed actions, and run this again before the migration.
`
	var got strings.Builder
	if err := r.WriteText(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
