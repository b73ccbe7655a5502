package objectsync_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestUndoneRelated shows that the copy of a related object that is missing, and that our finalizer had held, stays if
// the workspace was restored to an earlier time, as long as the object refers to it.
func TestUndoneRelated(t *testing.T) {
	for name, tc := range map[string]struct {
		reason          string
		undone, unnamed bool
		want            int
	}{
		"Undone":  {reason: "Nobody has deleted it.", undone: true, unnamed: false, want: 1},
		"Unnamed": {reason: "The consumer does not want it any more.", undone: true, unnamed: true, want: 0},
		"Gone":    {reason: "Somebody has taken our finalizer off it.", undone: false, unnamed: false, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManyRelated(t, v1alpha1.OriginKCP)
			m.name(1)
			m.fill(1, "b25l")
			m.pass(1)
			m.above.drop(objectsync.Secrets, types.NamespacedName{Namespace: m.namespace, Name: "s0"})
			if tc.unnamed {
				m.name(0)
			}
			m.input.Undone = tc.undone
			m.pass(tc.want)
		})
	}
}
