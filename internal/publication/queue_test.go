package publication

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

func in(cluster, name string) objectsync.Primary {
	return objectsync.Primary{Cluster: cluster, NamespacedName: types.NamespacedName{Name: name}}
}

// TestTurns shows that a workspace with much to do delays others by one object.
func TestTurns(t *testing.T) {
	cases := map[string]struct {
		reason string
		pushed []objectsync.Primary
		want   string
	}{
		"One":     {"The objects of a workspace come in the order they were added.", []objectsync.Primary{in("a", "1"), in("a", "2"), in("a", "3")}, "a1 a2 a3"},
		"Busy":    {"The one object of another workspace comes second.", []objectsync.Primary{in("a", "1"), in("a", "2"), in("a", "3"), in("b", "1")}, "a1 b1 a2 a3"},
		"Several": {"Each has its turn.", []objectsync.Primary{in("a", "1"), in("b", "1"), in("b", "2"), in("a", "2"), in("c", "1")}, "a1 b1 c1 a2 b2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			q := &turns{of: map[string][]objectsync.Primary{}}
			for _, p := range tc.pushed {
				q.Push(p)
			}
			var got []string
			for q.Len() > 0 {
				p := q.Pop()
				got = append(got, p.Cluster+p.Name)
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if len(q.of)+len(q.order) != 0 {
				t.Errorf("it keeps %v %v", q.of, q.order)
			}
		})
	}
}

// TestLinks shows that what nobody needs any more is named, and nothing is kept of it.
func TestLinks(t *testing.T) {
	l := newLinks[string]()
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

// TestLinksAdd shows that what is added counts until all is set anew.
func TestLinksAdd(t *testing.T) {
	l := newLinks[string]()
	a := in("a", "1")
	l.add(a, "x")
	l.add(a, "y")
	if diff := cmp.Diff([]objectsync.Primary{a}, l.of("x")); diff != "" {
		t.Errorf("who needs x: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x"}, l.set(a, set[string]{"y": {}})); diff != "" {
		t.Errorf("over: -want, +got:\n%s", diff)
	}
	l.set(a, nil)
	if len(l.needs)+len(l.needed) != 0 {
		t.Errorf("it keeps %v %v", l.needs, l.needed)
	}
}
