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
		meanwhile func(g *namespaceLocks) // while it is looked at
		empty     bool
		want      bool // whether it is deleted
	}{
		"Empty": {reason: "An empty one is.", meanwhile: func(*namespaceLocks) {}, empty: true, want: true},
		"NotEmpty": {
			reason: "One that is not, is not.", meanwhile: func(*namespaceLocks) {}, empty: false, want: false,
		},
		"Built": {
			reason:    "Nor one in which something is created meanwhile.",
			meanwhile: func(g *namespaceLocks) { _ = g.of("ns").create(nothing) },
			empty:     true,
			want:      false,
		},
		"UnderWay": {reason: "Nor one in which a creation is under way.", meanwhile: func(g *namespaceLocks) {
			begun, end := make(chan struct{}), make(chan struct{})
			go func() {
				_ = g.of("ns").create(func() error {
					close(begun)
					<-end
					return nil
				})
			}()
			<-begun
			defer close(end)
		}, empty: true, want: false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g, deleted := &namespaceLocks{}, false
			empty := func() (bool, error) {
				tc.meanwhile(g)
				return tc.empty, nil
			}
			cleared, err := g.of("ns").deleteIfEmpty(empty, func() error {
				deleted = true
				return nil
			})
			if diff := cmp.Diff([]bool{tc.want, tc.want}, []bool{deleted, cleared}); diff != "" || err != nil {
				t.Errorf("%s %v\ndeleted, and said so: -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}
