package reference

import (
	"context"
	"testing"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var errBoom = errors.New("boom")

// A refusingClient refuses each patch.
type refusingClient struct{ dynamic.ResourceInterface }

func (refusingClient) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string,
) (*unstructured.Unstructured, error) {
	return nil, errBoom
}

// TestRefusedChange shows that nothing is known of a resource whose change is refused, so that the next is asked for
// what the control plane has.
func TestRefusedChange(t *testing.T) {
	e := newEditor(func(schema.GroupVersionResource, string) dynamic.ResourceInterface { return refusingClient{} })
	known := &metav1.ObjectMeta{Name: "a", Finalizers: []string{"ours"}}
	now, err := e.set(t.Context(), edited{}, change{finalizer: "ours"}, known)
	if now != nil || !errors.Is(err, errBoom) {
		t.Errorf("want nothing and the refusal, got %v, %v", now, err)
	}
}
