package projection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeep publishes one state of a definition after the other, each with what has been published before. It shows
// which versions the last schema has, and that the schema of that is the same one.
func TestKeep(t *testing.T) {
	type version struct {
		Name            string
		Served, Storage bool
	}
	cases := map[string]struct {
		reason string
		states [][]string // versions that are served, of which the last is stored
		want   []version
		same   bool // as if nothing had been published
	}{
		"Same": {
			reason: "What is published as before has the schema of before.",
			states: [][]string{{"v1"}, {"v1"}},
			want:   []version{{"v1", true, true}},
			same:   true,
		},
		"More": {
			reason: "A further version takes nothing away.",
			states: [][]string{{"v1"}, {"v1", "v2"}},
			want:   []version{{"v1", true, false}, {"v2", true, true}},
			same:   true,
		},
		"Fewer": {
			reason: "A version that is published no more stays, and is not served.",
			states: [][]string{{"v1", "v2"}, {"v2"}},
			want:   []version{{"v2", true, true}, {"v1", false, false}},
		},
		"Again": {
			reason: "So does each version of before.",
			states: [][]string{{"v1alpha1"}, {"v1"}, {"v2"}},
			want:   []version{{"v2", true, true}, {"v1", false, false}, {"v1alpha1", false, false}},
		},
		"Undone": {
			reason: "What is served again is served as it was.",
			states: [][]string{{"v1", "v2"}, {"v2"}, {"v1", "v2"}},
			want:   []version{{"v1", true, false}, {"v2", true, true}},
			same:   true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var before []string
			publish := func(names []string) (string, []version) {
				t.Helper()
				p := mustProject(t, widgets(t, names[len(names)-1], names...), nil)
				p.Keep(before...)
				s, err := p.Schema("agent")
				if err != nil {
					t.Fatal(err)
				}
				var got []version
				before = nil
				for _, v := range s.Spec.Versions {
					before, got = append(before, v.Name), append(got, version{v.Name, v.Served, v.Storage})
				}
				return s.GetName(), got
			}
			var was string
			var got []version
			for _, names := range tc.states {
				was, got = publish(names)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			last := tc.states[len(tc.states)-1]
			if again, _ := publish(last); again != was {
				t.Errorf("%s Want schema %s again, got %s", tc.reason, was, again)
			}
			before = nil
			if fresh, _ := publish(last); (fresh == was) != tc.same {
				t.Errorf("%s Schema %s, and %s if nothing had been published: want the same one: %t", tc.reason, was, fresh,
					tc.same)
			}
		})
	}
}
