package publishedresource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestClaim shows that the first to claim a resource of an APIExport has it until it goes or moves, and that those who
// wait are woken then, once.
func TestClaim(t *testing.T) {
	var woken []string
	m := newMemories(func(name string) { woken = append(woken, name) })
	hats := exportedResource{server: "a", export: "shop", resource: schema.GroupResource{Resource: "hats"}}
	coats := exportedResource{server: "a", export: "shop", resource: schema.GroupResource{Resource: "coats"}}
	claim := func(r exportedResource, name string) string { m.get(name); return m.claim(r, name) }
	for _, step := range []struct {
		reason string
		do     func() string
		want   string
		woken  []string
	}{
		{reason: "Who comes first has it.", do: func() string { return claim(hats, "one") }, want: "one"},
		{reason: "Who comes again has it still.", do: func() string { return claim(hats, "one") }, want: "one"},
		{reason: "Who comes later has not.", do: func() string { return claim(hats, "two") }, want: "one"},
		{reason: "Nor has who knows it before it comes.", do: func() string {
			m.get("three")
			m.await(hats, "three")
			return m.held("three").export
		}},
		{reason: "Another place is free.", do: func() string { return claim(coats, "four") }, want: "four"},
		{reason: "Who waits may go.", do: func() string { m.forget("three"); return "" }},
		{
			reason: "Who moves leaves its place.",
			do:     func() string { m.forget("four"); claim(coats, "one"); return m.held("one").resource.Resource },
			want:   "coats",
			woken:  []string{"two"},
		},
		{
			reason: "Then it is free.",
			do:     func() string { return claim(hats, "two") },
			want:   "two",
			woken:  []string{"two"},
		},
		{
			reason: "Nobody waits any more.",
			do:     func() string { m.forget("two"); return claim(hats, "one") },
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
