package local

import (
	"fmt"
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
		"Empty": {
			reason: "A server that was asked nothing has an empty log.",
			log:    "",
			from:   0,
			want:   want{nil, 0, false},
		},
		"Whole": {
			reason: "Each line is a request.",
			log:    one + two,
			from:   0,
			want:   want{[]string{"one", "two"}, len(one + two), false},
		},
		"HalfLine": {
			reason: "A line that is being written is left for the next time.",
			log:    one + partial,
			from:   0,
			want:   want{[]string{"one"}, len(one), false},
		},
		"OnlyHalfLine": {reason: "Also if it is the only one.", log: partial, from: 0, want: want{nil, 0, false}},
		"FromLine": {
			reason: "Reading goes on where it ended.",
			log:    one + two,
			from:   len(one),
			want:   want{[]string{"two"}, len(one + two), false},
		},
		"FromEnd": {
			reason: "At the end there is nothing more.",
			log:    one,
			from:   len(one),
			want:   want{nil, len(one), false},
		},
		"Rotated": {
			reason: "A log that was rotated does not tell what happened, least of all that nothing did.",
			log:    one,
			from:   len(one + two),
			want:   want{nil, len(one + two), true},
		},
		"BrokenLine": {
			reason: "A whole line that cannot be read is an error: counts would be wrong.",
			log:    one + partial + "\n",
			from:   0,
			want:   want{nil, 0, true},
		},
		"HalfLongEvent": {
			reason: "A half line may be longer than a block.",
			log:    one + strings.Repeat("x", 100<<10),
			from:   0,
			want:   want{[]string{"one"}, len(one), false},
		},
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

// TestReadAuditAnswers shows that what is received is read once it is answered.
func TestReadAuditAnswers(t *testing.T) {
	const received, answered = `{"auditID":"%s","stage":"RequestReceived","verb":"patch"}` + "\n",
		`{"auditID":"%s","stage":"ResponseComplete","verb":"%[1]s"}` + "\n"
	path := filepath.Join(t.TempDir(), "audit.log")
	log := fmt.Sprintf(received, "slow") + fmt.Sprintf(received, "hangs") + fmt.Sprintf(answered, "slow")
	write(t, path, log, 0o600)
	events, next, err := ReadAuditFrom(path, 0)
	if err != nil || int(next) != len(log) {
		t.Fatalf("ReadAuditFrom: want offset %d, got %d, %v", len(log), next, err)
	}
	if diff := cmp.Diff([]string{"slow"}, verbs(events)); diff != "" {
		t.Errorf("answered requests: -want, +got:\n%s", diff)
	}

	write(t, path, log+fmt.Sprintf(answered, "hangs"), 0o600)
	events, _, err = ReadAuditFrom(path, 0)
	if diff := cmp.Diff([]string{"slow", "hangs"}, verbs(events)); diff != "" || err != nil {
		t.Errorf("requests that are all answered: -want, +got:\n%s\n%v", diff, err)
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
