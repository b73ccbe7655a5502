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
	for name, tc := range map[string]struct {
		log   string
		from  int
		verbs []string
		next  int
		fails bool
	}{
		"Whole":    {log: one + two, verbs: []string{"one", "two"}, next: len(one + two)},
		"FromLine": {log: one + two, from: len(one), verbs: []string{"two"}, next: len(one + two)},
		"FromEnd":  {log: one, from: len(one), next: len(one)},
		// A line that is being written is left for the next time, also if it is longer than a block.
		"HalfLine":      {log: one + partial, verbs: []string{"one"}, next: len(one)},
		"OnlyHalfLine":  {log: partial},
		"HalfLongEvent": {log: one + strings.Repeat("x", 100<<10), verbs: []string{"one"}, next: len(one)},
		// What cannot be read does not tell what happened, least of all that nothing did.
		"Rotated":    {log: one, from: len(one + two), next: len(one + two), fails: true},
		"BrokenLine": {log: one + partial + "\n", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.log")
			write(t, path, tc.log, 0o600)
			events, next, err := ReadAuditFrom(path, int64(tc.from))
			diff := cmp.Diff(tc.verbs, verbs(events), cmpopts.EquateEmpty())
			if diff != "" || int(next) != tc.next || (err != nil) != tc.fails {
				t.Errorf("ReadAuditFrom: want offset %d, got %d, %v; -want, +got:\n%s", tc.next, next, err, diff)
			}
			// The end does not depend on what the lines are.
			if end, err := AuditEnd(path); err != nil || !tc.fails && end != next {
				t.Errorf("AuditEnd: want %d, got %d, %v", next, end, err)
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
	for _, want := range [][]string{{"slow"}, {"slow", "hangs"}} {
		write(t, path, log, 0o600)
		events, next, err := ReadAuditFrom(path, 0)
		if diff := cmp.Diff(want, verbs(events)); diff != "" || err != nil || int(next) != len(log) {
			t.Errorf("answered requests: -want, +got:\n%s, offset %d, %v", diff, next, err)
		}
		log += fmt.Sprintf(answered, "hangs")
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
