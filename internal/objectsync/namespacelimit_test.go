package objectsync_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// A noting is a cache that notes in which namespaces objects are looked for.
type noting struct {
	objectsync.Cache

	namespaces *[]string
}

func (n noting) Get(name types.NamespacedName) (*unstructured.Unstructured, error) {
	*n.namespaces = append(*n.namespaces, name.Namespace)
	return n.Cache.Get(name)
}

// TestWatchedNamespaces shows in which namespaces of the service cluster Secrets are looked for that a consumer places:
// in none that is closed, as each is a watch, and in no more than the workspace may have.
func TestWatchedNamespaces(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		opened  []v1alpha1.NamePattern
		mayLook bool
		looked  bool
		err     error
	}{
		"Closed": {
			reason:  "Nobody looks into a namespace that is closed.",
			opened:  nil,
			mayLook: true,
			looked:  false,
			err:     objectsync.ErrClosed,
		},
		"Full": {
			reason:  "Nor into one too many.",
			opened:  []v1alpha1.NamePattern{"far"},
			mayLook: false,
			looked:  false,
			err:     objectsync.ErrTooManyNamespaces,
		},
		"Open": {
			reason:  "What is open and has room is looked at.",
			opened:  []v1alpha1.NamePattern{"far"},
			mayLook: true,
			looked:  true,
			err:     nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := related(v1alpha1.OriginKCP, inPlace(byReference("spec.list.#.secret").RelatedResourceObjectSpec))
			spec.Related[0].ConsumerMayName = &v1alpha1.ConsumerMayName{
				Namespaces: tc.opened, Objects: []v1alpha1.NamePattern{"*"},
			}
			near := related(v1alpha1.OriginKCP, byReference("spec.secretName")).Related[0]
			near.Identifier = "near"
			spec.Related = append(spec.Related, near)
			m := inMemory(t, spec)
			m.name(1)
			source := m.above.get(things.Workspace.GroupVersionResource, m.input.Object)
			source.Object["spec"].(map[string]any)["place"] = "far"
			source.Object["spec"].(map[string]any)["secretName"] = "s0"
			m.fill(1, "b25l")
			var namespaces []string
			of := m.input.Service.Cache
			m.input.Service.Cache = func(r schema.GroupVersionResource) objectsync.Cache {
				return noting{
					of(r), &namespaces,
				}
			}
			m.input.MayLook = func(namespace string) bool {
				if namespace != "far" {
					t.Errorf("the namespace of the copy is no matter, asked for %s", namespace)
				}
				return tc.mayLook
			}
			_, err := m.syncer.Sync(t.Context(), m.input)
			if !errors.Is(err, tc.err) {
				t.Errorf("want %v, got %v", tc.err, err)
			}
			if got := slices.Contains(namespaces, "far"); got != tc.looked {
				t.Errorf("%s It looked into %v", tc.reason, namespaces)
			}
			var copies []string
			for n := range m.below.all[objectsync.Secrets] {
				if n.Namespace != "states" {
					copies = append(copies, n.Namespace)
				}
			}
			slices.Sort(copies)
			if want := map[bool][]string{false: {"c1"}, true: {"c1", "far"}}[tc.looked]; !cmp.Equal(want, copies) {
				t.Errorf("want copies in %v, got %v", want, copies)
			}
		})
	}
}
