package expression_test

import (
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/expression"
)

// TestMapsHaveOneOrder shows that an expression that goes through a map of a resource gives the same each time: what it
// is part of would be written for ever.
func TestMapsHaveOneOrder(t *testing.T) {
	const times = 50
	env := expression.NewEnvironment("CEL expression", "self")
	object := map[string]any{"labels": map[string]any{"d": "4", "b": "2", "a": "1", "c": "3"}}
	for text, want := range map[string]any{
		`self.labels.map(k, self.labels[k])`:                               []any{"1", "2", "3", "4"},
		`self.labels.map(k, k).join(',')`:                                  "a,b,c,d",
		`[self].map(x, x.labels.filter(k, k != 'a'))`:                      []any{[]any{"b", "c", "d"}},
		`{'x': self.labels}.x.map(k, k)`:                                   []any{"a", "b", "c", "d"},
		`(has(self.labels) ? self.labels : {}).map(k, k)`:                  []any{"a", "b", "c", "d"},
		`self.?labels.orValue({}).map(k, k)`:                               []any{"a", "b", "c", "d"},
		`self.labels.transformMap(k, v, k != 'a', v + k).map(k, k).sort()`: []any{"b", "c", "d"},
	} {
		p, err := env.Compile(text, cel.DynType)
		if err != nil {
			t.Fatal(text, err)
		}
		for range times {
			out, err := p.Eval(map[string]any{"self": object})
			if err != nil {
				t.Fatal(text, err)
			}
			got, err := p.JSON(out)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %v, -want, +got:\n%s", text, err, diff)
				break
			}
		}
	}
}

// TestLargeMapIsReadOnce shows that an expression that goes through a large map for each item of a list, and ends early
// each time, does not read all of the map each time.
func TestLargeMapIsReadOnce(t *testing.T) {
	const keys, items, most = 20_000, 3000, 100 << 20
	p, err := expression.NewEnvironment("CEL expression", "self").Compile(
		`self.list.all(x, self.map.exists(k, true))`, cel.BoolType)
	if err != nil {
		t.Fatal(err)
	}
	large := map[string]any{}
	for i := range keys {
		large[strconv.Itoa(i)] = ""
	}
	self := map[string]any{"map": large, "list": slices.Repeat([]any{""}, items)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err = p.Eval(map[string]any{"self": self}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > most {
		t.Errorf("want at most %d MiB made, got %d", most>>20, got>>20)
	}
}
