package v1alpha1_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRefused shows that what can only fail is refused when it is applied, by testdata/refused.yaml.
func TestRefused(t *testing.T) {
	c := prepared(t)
	cases := map[string]struct {
		Spec map[string]any
		Want string
	}{}
	readCases(t, "refused.yaml", &cases)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := c.Create(t.Context(), publishedAs("refused", tc.Spec), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), tc.Want) {
				t.Errorf("want an error that contains %q, got: %v", tc.Want, err)
			}
		})
	}
}
