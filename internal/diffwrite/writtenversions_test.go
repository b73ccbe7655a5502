package diffwrite

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A cache holds another version of one ConfigMap at each read, the last for good. An empty version is none.
type cache struct {
	client.Client

	versions []string
	held     *corev1.ConfigMap // what the last read has found
	copies   int
	reads    int
}

func (c *cache) Get(_ context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	cm, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return errors.Errorf("no %T here", obj)
	}
	c.reads++
	c.held = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: key.Name, ResourceVersion: c.versions[0], Labels: map[string]string{"is": "cached"},
	}}
	if len(c.versions) > 1 {
		c.versions = c.versions[1:]
	}
	if c.held.ResourceVersion == "" {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	o := client.GetOptions{}
	if o.ApplyOptions(opts); o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy {
		*cm = *c.held
		return nil
	}
	c.copies++
	c.held.DeepCopyInto(cm)
	return nil
}

// TestGetAwaitsOurWrite shows that the object of a pass is no older than our last write to it, and that what a caller
// gets is its own.
func TestGetAwaitsOurWrite(t *testing.T) {
	type want struct {
		version string
		copies  int
		is      func(error) bool
	}
	fine := func(err error) bool { return err == nil }
	for name, tc := range map[string]struct {
		reason   string
		wrote    string
		versions []string
		want     want
	}{
		"NeverWritten": {
			reason:   "What we have not written is taken as it is.",
			wrote:    "",
			versions: []string{"5"},
			want:     want{"5", 1, fine},
		},
		"Current": {
			reason:   "So is a cache that has seen our write.",
			wrote:    "5",
			versions: []string{"5"},
			want:     want{"5", 1, fine},
		},
		"Behind": {
			reason:   "A cache that has not is waited for, without copies.",
			wrote:    "5",
			versions: []string{"3", "4", "4", "6"},
			want:     want{"6", 1, fine},
		},
		"NewerStill": {
			reason:   "What comes after the wait is taken.",
			wrote:    "5",
			versions: []string{"4", "5", "7"},
			want:     want{"7", 1, fine},
		},
		"Gone": {
			reason:   "What is gone is not waited for.",
			wrote:    "5",
			versions: []string{""},
			want:     want{"", 0, apierrors.IsNotFound},
		},
		"GoneMeantime": {
			reason:   "Nor is what goes while we wait.",
			wrote:    "5",
			versions: []string{"4", "5", ""},
			want:     want{"", 0, apierrors.IsNotFound},
		},
		"StaysBehind": {
			reason:   "A cache that stays behind is a conflict.",
			wrote:    "5",
			versions: []string{"4"},
			want:     want{"", 0, apierrors.IsConflict},
		},
	} {
		t.Run(name, func(t *testing.T) {
			key := client.ObjectKey{Name: "x"}
			from := &cache{versions: tc.versions}
			c := Client{Client: from, written: newWrittenVersions()}
			if tc.wrote != "" {
				c.written.note(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Name: key.Name, ResourceVersion: tc.wrote,
				}})
			}
			got := &corev1.ConfigMap{}
			if err := c.Get(WithPass(t.Context(), &Pass{}), key, got); !tc.want.is(err) {
				t.Fatalf("%s\nerror: got %v", tc.reason, err)
			}
			if diff := cmp.Diff([]any{tc.want.version, tc.want.copies},
				[]any{got.ResourceVersion, from.copies}); diff != "" {
				t.Errorf("%s\nversion and copies: -want, +got:\n%s", tc.reason, diff)
			}
			if got.Labels != nil {
				got.Labels["is"] = "changed"
			}
			if from.held.Labels["is"] != "cached" {
				t.Errorf("%s\nA change of the answer changes the cache", tc.reason)
			}
		})
	}
}

// TestGetLooksSeldom shows that a cache that stays behind is not looked at again and again.
func TestGetLooksSeldom(t *testing.T) {
	key := client.ObjectKey{Name: "x"}
	from := &cache{versions: []string{"4"}}
	c := Client{Client: from, written: newWrittenVersions()}
	c.written.note(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key.Name, ResourceVersion: "5"}})
	if err := c.Get(WithPass(t.Context(), &Pass{}), key, &corev1.ConfigMap{}); !apierrors.IsConflict(err) {
		t.Fatalf("error: want a conflict, got %v", err)
	}
	if most := 16; from.reads > most {
		t.Errorf("reads of a cache that stays behind: want at most %d, got %d", most, from.reads)
	}
}

// TestRestoredCache shows that our own write is not waited for without end, which a control plane that was restored
// from a backup never shows.
func TestRestoredCache(t *testing.T) {
	key := client.ObjectKey{Name: "x"}
	c := Client{Client: &cache{versions: []string{"4"}}, written: newWrittenVersions()}
	c.written.note(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key.Name, ResourceVersion: "5"}})
	c.written.now = func() time.Time { return time.Now().Add(lagMost) }
	got := &corev1.ConfigMap{}
	if err := c.Get(WithPass(t.Context(), &Pass{}), key, got); err != nil || got.ResourceVersion != "4" {
		t.Errorf("want what the cache has, got version %q and error %v", got.ResourceVersion, err)
	}
}
