package projection

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
			var before []apisv1alpha1.APIResourceVersion
			publish := func(names []string) (string, []version) {
				t.Helper()
				p := mustProject(t, widgets(t, names[len(names)-1], names...), nil)
				if err := p.Keep(before); err != nil {
					t.Fatal(err)
				}
				s, err := p.Schema("agent")
				if err != nil {
					t.Fatal(err)
				}
				before = s.Spec.Versions
				var got []version
				for _, v := range before {
					got = append(got, version{v.Name, v.Served, v.Storage})
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

// TestKeepTooLarge shows that versions that are only kept lose their schemas before what is published is too large.
func TestKeepTooLarge(t *testing.T) {
	large := func(name string) *apiextensionsv1.CustomResourceDefinition {
		crd := widgets(t, name, name)
		values := make([]apiextensionsv1.JSON, maxBytes*2/3/1000)
		for i := range values {
			values[i].Raw = fmt.Appendf(nil, "%q", fmt.Sprintf("%d%s", i, strings.Repeat("a", 1000)))
		}
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["size"] = apiextensionsv1.JSONSchemaProps{
			Type: "string", Enum: values,
		}
		return crd
	}
	s, err := mustProject(t, large("v1"), nil).Schema("agent")
	if err != nil {
		t.Fatal(err)
	}
	p := mustProject(t, large("v2"), nil)
	if err := p.Keep(s.Spec.Versions); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(anyObject(), p.CRD.Spec.Versions[1].Schema.OpenAPIV3Schema); diff != "" {
		t.Errorf("schema of the version that is kept: -want, +got:\n%s", diff)
	}
}
