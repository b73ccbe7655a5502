package local

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
			got := want{verbs: verbs(events), next: int(next), err: err != nil}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nReadAuditFrom: -want, +got:\n%s\n%v", tc.reason, diff, err)
			}
			// The end does not depend on what the lines are.
			if end, err := AuditEnd(path); err != nil || !tc.want.err && end != next {
				t.Errorf("%s\nAuditEnd: want %d, got %d, %v", tc.reason, next, end, err)
			}
		})
	}
}

func verbs(events []AuditEvent) []string {
	v := make([]string, len(events))
	for i, e := range events {
		v[i] = e.Verb
	}
	return v
}

func TestReadAuditForwarded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	write(t, path, `{"verb":"patch","userAgent":"provider-kcp/v1"}
{"verb":"get","userAgent":"kcp/v1.35.1+kcp (linux/amd64) kubernetes/$Format/apiexport-virtual-workspace"}
`, 0o600)
	events, err := ReadAudit(path)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, e := range events {
		got[e.Verb] = e.Forwarded
	}
	if diff := cmp.Diff(map[string]bool{"patch": false, "get": true}, got); diff != "" {
		t.Errorf("ReadAudit: forwarded by verb: -want, +got:\n%s", diff)
	}
}
