package publication

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// secret is a Secret of a workspace, or of the service cluster if cluster is empty. Without a name it is all of a
// namespace.
func secret(cluster, namespace, name string) need {
	return lookAt(types.NamespacedName{Namespace: namespace, Name: name}, cluster, objectsync.Secrets)
}

// looking is what objects have looked at, by their names.
var looking = map[string][]need{
	"one":      {secret("", "a", "x"), secret("", "a", "y")},
	"other":    {secret("", "a", "y")},
	"absent":   {secret("", "a", "not-there-yet")},
	"all":      {secret("", "a", "")},
	"allElse":  {secret("", "b", "")},
	"above":    {secret("tenant", "a", "x")},
	"another":  {secret("another", "a", "x")},
	"settings": {lookAt(types.NamespacedName{Namespace: "a", Name: "x"}, "", objectsync.Namespaces)},
}

// TestWake shows that a change concerns those who have looked at what has changed, or at all of its namespace, and
// nobody else: not all objects with a related one of its kind.
func TestWake(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		changed need
		want    []string
	}{
		"OfOne": {
			reason:  "Who looks at it, or at all of its namespace, is woken.",
			changed: secret("", "a", "x"),
			want:    []string{"all", "one"},
		},
		"OfTwo": {
			reason:  "Each of several that one looks at is a reason.",
			changed: secret("", "a", "y"),
			want:    []string{"all", "one", "other"},
		},
		"Comes": {
			reason:  "What was looked for and was not there may come.",
			changed: secret("", "a", "not-there-yet"),
			want:    []string{"absent", "all"},
		},
		"OfNobody": {
			reason:  "What nobody has looked at concerns nobody.",
			changed: secret("", "c", "x"),
			want:    nil,
		},
		"InWorkspace": {
			reason:  "A workspace is not the service cluster.",
			changed: secret("tenant", "a", "x"),
			want:    []string{"above"},
		},
		"NobodysThere": {reason: "Nor any other workspace.", changed: secret("third", "a", "x"), want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestPublication(t)
			for who, all := range looking {
				for _, l := range all {
					p.worker.needs.add(in("tenant", who), l)
				}
			}
			p.worker.needs.wake(tc.changed)
			if diff := cmp.Diff(tc.want, drain(p.worker.objects.queue)); diff != "" {
				t.Errorf("%s\nwoken: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
