package publishedresource

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A shown client shows one object, or none if it is nil.
type shown struct {
	client.Client

	labels labels.Set
}

func (s shown) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if s.labels == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	o.SetLabels(s.labels)
	return nil
}

// TestSelected shows which PublishedResources are reconciled here.
func TestSelected(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		labels labels.Set
		want   bool
	}{
		"Selected": {reason: "The selector selects it.", labels: labels.Set{"team": "a"}, want: true},
		"Other":    {reason: "It is another provider's.", labels: labels.Set{"team": "b"}},
		"Gone":     {reason: "One that is gone is finished with.", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Selector: labels.SelectorFromSet(labels.Set{"team": "a"})}
			c := &connector{local: shown{labels: tc.labels}, selects: o.selects}
			if got := c.selected(t.Context(), types.NamespacedName{Name: "x"}); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
