package local

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadAuditFrom(t *testing.T) {
	const (
		one     = `{"verb":"one"}` + "\n"
		two     = `{"verb":"two"}` + "\n"
		partial = `{"verb":"thr`
	)
	type want struct {
		verbs []string
		next  int
		err   bool
	}
	cases := map[string]struct {
		reason string
		log    string
		from   int
		want   want
	}{
		"Empty":         {"A server that was asked nothing has an empty log.", "", 0, want{nil, 0, false}},
		"Whole":         {"Each line is a request.", one + two, 0, want{[]string{"one", "two"}, len(one + two), false}},
		"HalfLine":      {"A line that is being written is left for the next time.", one + partial, 0, want{[]string{"one"}, len(one), false}},
		"OnlyHalfLine":  {"Also if it is the only one.", partial, 0, want{nil, 0, false}},
		"FromLine":      {"Reading goes on where it ended.", one + two, len(one), want{[]string{"two"}, len(one + two), false}},
		"FromEnd":       {"At the end there is nothing more.", one, len(one), want{nil, len(one), false}},
		"BrokenLine":    {"A whole line that cannot be read is an error: counts would be wrong.", one + partial + "\n", 0, want{nil, 0, true}},
		"HalfLongEvent": {"A half line may be longer than a block.", one + strings.Repeat("x", 100<<10), 0, want{[]string{"one"}, len(one), false}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.log")
			write(t, path, tc.log, 0o600)
			events, next, err := ReadAuditFrom(path, int64(tc.from))
			if (err != nil) != tc.want.err {
				t.Fatalf("%s\nReadAuditFrom: want error %t, got %v", tc.reason, tc.want.err, err)
			}
			var verbs []string
			for _, e := range events {
				verbs = append(verbs, e.Verb)
			}
			if diff := cmp.Diff(tc.want.verbs, verbs); diff != "" {
				t.Errorf("%s\nReadAuditFrom: verbs: -want, +got:\n%s", tc.reason, diff)
			}
			if next != int64(tc.want.next) {
				t.Errorf("%s\nReadAuditFrom: want to go on at %d, got %d", tc.reason, tc.want.next, next)
			}
			if tc.want.err {
				return
			}
			if end, err := AuditEnd(path); err != nil || end != next {
				t.Errorf("%s\nAuditEnd: want %d, got %d, %v", tc.reason, next, end, err)
			}
		})
	}
}
