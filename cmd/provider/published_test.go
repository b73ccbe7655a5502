package main

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
)

// TestPublished shows which settings of PublishedResources keep the provider from starting, and what the others select.
func TestPublished(t *testing.T) {
	for name, tc := range map[string]struct {
		reason         string
		set            published
		refused        bool
		selectsTeam    bool
		selectsNothing bool
	}{
		"All": {
			reason: "No selector selects all.", set: published{stateNamespace: "s", defaultConfig: "c"}, selectsTeam: true,
			selectsNothing: true,
		},
		"Team": {
			reason: "A selector selects by labels.", set: published{selector: "team=a", stateNamespace: "s", defaultConfig: "c"},
			selectsTeam: true,
		},
		"NoSelector": {
			reason: "A selector must be one.", refused: true,
			set: published{selector: "team in", stateNamespace: "s", defaultConfig: "c"},
		},
		"NoNamespace": {reason: "States need a namespace.", set: published{defaultConfig: "c"}, refused: true},
		"BadNamespace": {
			reason: "A namespace must be one.", set: published{stateNamespace: "States_1", defaultConfig: "c"}, refused: true,
		},
		"NoConfig": {reason: "Credentials need a ProviderConfig.", set: published{stateNamespace: "s"}, refused: true},
		"AKind": {
			reason: "There is one kind, which is not written.", refused: true,
			set: published{stateNamespace: "s", defaultConfig: "ClusterProviderConfig/c"},
		},
		"BadConfig": {
			reason: "A name must be one.", set: published{stateNamespace: "s", defaultConfig: "Services_1"}, refused: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := object.Options{}
			err := tc.set.apply(&o)
			if (err != nil) != tc.refused {
				t.Fatalf("%s\nwant an error %t, got %v", tc.reason, tc.refused, err)
			}
			if err != nil {
				return
			}
			if o.StateNamespace != "s" || o.PublishedResourceConfig != "c" {
				t.Errorf("%s\ngot namespace %q and ProviderConfig %q", tc.reason, o.StateNamespace,
					o.PublishedResourceConfig)
			}
			team := o.PublishedResourceSelector.Matches(labels.Set{"team": "a"})
			nothing := o.PublishedResourceSelector.Matches(labels.Set{})
			if team != tc.selectsTeam || nothing != tc.selectsNothing {
				t.Errorf("%s\ngot %t for the team and %t for no label", tc.reason, team, nothing)
			}
		})
	}
}
