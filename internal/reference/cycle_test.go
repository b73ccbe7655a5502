package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
)

// TestWaysBack shows which Objects are found to be in a cycle with one, and the way back from each, and that each is
// looked at once. Each edge is written as two letters, of the Object that refers and of the one it refers to.
func TestWaysBack(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		edges  string
		want   map[string]string // the next Object on the way to a
	}{
		"Alone":   {reason: "An Object without references is in no cycle."},
		"Chain":   {reason: "Nor is one at the begin of a chain.", edges: "ab bc"},
		"End":     {reason: "What leads to an Object does not count if that does not lead there.", edges: "ba cb"},
		"Self":    {reason: "An Object may refer to itself.", edges: "aa", want: map[string]string{"a": "a"}},
		"Two":     {reason: "Two may refer to each other.", edges: "ab ba", want: map[string]string{"a": "b", "b": "a"}},
		"Beside":  {reason: "A cycle that only others are in is none.", edges: "ab bc cb", want: nil},
		"Diamond": {reason: "Two ways to one Object are no cycle.", edges: "ab ac bd cd", want: nil},
		"Three": {
			reason: "Those who are not on a way back are left out.", edges: "ab bc ca bd de",
			want: map[string]string{"a": "b", "b": "c", "c": "a"},
		},
		"Shortest": {
			reason: "The shortest way counts.", edges: "ab bc cd da ca",
			want: map[string]string{"a": "b", "b": "c", "c": "a", "d": "a"},
		},
		"Overlapping": {
			reason: "An Object may be in several cycles.", edges: "ab ba ac ca cb",
			want: map[string]string{"a": "b", "b": "a", "c": "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			looked := map[node]bool{}
			next, err := waysBack(lettered("a"), func(n node) ([]node, error) {
				if looked[n] {
					t.Errorf("%s is looked at again", n.name)
				}
				looked[n] = true
				var there []node
				for e := range strings.FieldsSeq(tc.edges) {
					if e[:1] == n.name.Name {
						there = append(there, lettered(e[1:]))
					}
				}
				return there, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for from, to := range next {
				got[from.name.Name] = to.name.Name
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nwaysBack: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// lettered returns the node of an Object with a letter as its name.
func lettered(l string) node { return node{name: types.NamespacedName{Name: l}} }
