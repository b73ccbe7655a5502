package publication

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestLinks shows that what nobody needs any more is named, and nothing is kept of it.
func TestLinks(t *testing.T) {
	l := newDependencyIndex[string]()
	a, b := in("a", "1"), in("b", "1")
	l.set(a, set[string]{"x": {}, "y": {}})
	l.set(b, set[string]{"y": {}})
	if diff := cmp.Diff([]string{"x"}, l.set(a, set[string]{"z": {}})); diff != "" {
		t.Errorf("over: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]objectsync.Primary{b}, l.of("y")); diff != "" {
		t.Errorf("who needs y: -want, +got:\n%s", diff)
	}
	l.set(a, nil)
	if diff := cmp.Diff([]string{"y"}, l.set(b, nil)); diff != "" {
		t.Errorf("over: -want, +got:\n%s", diff)
	}
	if len(l.needs)+len(l.needed) != 0 {
		t.Errorf("it keeps %v %v", l.needs, l.needed)
	}
}
