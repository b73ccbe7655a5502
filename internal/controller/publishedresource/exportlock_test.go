package publishedresource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestGuard shows that the first to claim a place has it until it goes or moves, and that those who wait are woken
// then, once.
func TestGuard(t *testing.T) {
	var woken []string
	g := newExportLock(func(name string) { woken = append(woken, name) })
	hats := exportedResource{server: "a", export: "shop", resource: schema.GroupResource{Resource: "hats"}}
	coats := exportedResource{server: "a", export: "shop", resource: schema.GroupResource{Resource: "coats"}}
	for _, step := range []struct {
		reason string
		do     func() string
		want   string
		woken  []string
	}{
		{reason: "Who comes first has it.", do: func() string { return g.claim(hats, "one") }, want: "one"},
		{reason: "Who comes again has it still.", do: func() string { return g.claim(hats, "one") }, want: "one"},
		{reason: "Who comes later has not.", do: func() string { return g.claim(hats, "two") }, want: "one"},
		{reason: "Nor has who knows it before it comes.", do: func() string { g.waitFor(hats, "three"); return "" }},
		{reason: "Another place is free.", do: func() string { return g.claim(coats, "four") }, want: "four"},
		{reason: "Who waits may go.", do: func() string { g.release("three"); return "" }},
		{
			reason: "Who moves leaves its place.",
			do:     func() string { g.release("four"); return g.claim(coats, "one") },
			want:   "one",
			woken:  []string{"two"},
		},
		{
			reason: "Then it is free.",
			do:     func() string { return g.claim(hats, "two") },
			want:   "two",
			woken:  []string{"two"},
		},
		{
			reason: "Nobody waits any more.",
			do:     func() string { g.release("two"); return g.claim(hats, "one") },
			want:   "one",
			woken:  []string{"two"},
		},
	} {
		if got := step.do(); got != step.want {
			t.Errorf("%s want %q, got %q", step.reason, step.want, got)
		}
		if diff := cmp.Diff(step.woken, woken); diff != "" {
			t.Errorf("%s woken: -want, +got:\n%s", step.reason, diff)
		}
	}
}
