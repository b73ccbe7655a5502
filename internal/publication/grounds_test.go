package publication

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGrounds shows that a namespace is not deleted in which something has been created since it was found empty.
func TestGrounds(t *testing.T) {
	nothing := func() error { return nil }
	cases := map[string]struct {
		reason    string
		meanwhile func(g *grounds) // while it is looked at
		empty     bool
		want      bool // whether it is deleted
	}{
		"Empty":     {"An empty one is.", func(*grounds) {}, true, true},
		"NotEmpty":  {"One that is not, is not.", func(*grounds) {}, false, false},
		"Built":     {"Nor one in which something is created meanwhile.", func(g *grounds) { _ = g.of("a", "ns").build(nothing) }, true, false},
		"Elsewhere": {"What is created elsewhere does not matter.", func(g *grounds) { _ = g.of("b", "ns").build(nothing) }, true, true},
		"UnderWay": {"Nor one in which a creation is under way.", func(g *grounds) {
			begun, end := make(chan struct{}), make(chan struct{})
			go func() {
				_ = g.of("a", "ns").build(func() error {
					close(begun)
					<-end
					return nil
				})
			}()
			<-begun
			defer close(end)
		}, true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g, deleted := newGrounds(), false
			empty := func() (bool, error) {
				tc.meanwhile(g)
				return tc.empty, nil
			}
			cleared, err := g.of("a", "ns").clear(empty, func() error {
				deleted = true
				return nil
			})
			if diff := cmp.Diff([]bool{tc.want, tc.want}, []bool{deleted, cleared}); diff != "" || err != nil {
				t.Errorf("%s %v\ndeleted, and said so: -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}
