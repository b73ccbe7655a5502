package main

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadiness(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		filled []bool
		want   []bool
	}{
		"Waits": {
			reason: "The provider is not ready before its caches are.",
			filled: []bool{false, true}, want: []bool{false, true},
		},
		"Stays": {
			reason: "A cache that comes later, with a controller, does not take readiness back.",
			filled: []bool{true, false}, want: []bool{true, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var now bool
			r := &readiness{filled: func(context.Context) bool { return now }}
			var got []bool
			for _, now = range tc.filled {
				got = append(got, r.check(httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)) == nil)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
