package v1alpha1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestAccepted shows that forms which have a meaning are accepted, by testdata/accepted.yaml.
func TestAccepted(t *testing.T) {
	c := prepared(t)
	cases := map[string]map[string]any{}
	readCases(t, "accepted.yaml", &cases)
	for name, spec := range cases {
		t.Run(name, func(t *testing.T) {
			err := c.Create(t.Context(), publishedAs("accepted", spec), client.DryRunAll,
				client.FieldValidation(metav1.FieldValidationStrict))
			if err != nil {
				t.Error(err)
			}
		})
	}
}
