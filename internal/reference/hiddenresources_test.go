package reference

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
)

// secretAt returns a Secret in a version.
func secretAt(version string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"uid": "s", "resourceVersion": version},
	}
}

// hiding returns an Object whose status does not show all of its Secret.
func hiding(uid string) *mobjectv1alpha1.Object {
	o := named("source")
	o.UID = types.UID(uid)
	o.Observed().Manifest.Raw = []byte(`{"apiVersion":"v1","kind":"Secret"}`)
	return o
}

func TestUnveil(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		shown  []*mobjectv1alpha1.Object // one after the other, in versions that begin with 1
		asked  time.Duration             // since when
		want   string                    // version that is read, empty for an error
		waits  bool                      // the error is for users
	}{
		"Seen": {
			reason: "What the Object has last seen is given.",
			shown:  []*mobjectv1alpha1.Object{hiding("o"), hiding("o")}, want: "2",
		},
		"Never":        {reason: "An Object that has not looked yet may do so in a moment."},
		"NeverForLong": {reason: "One that does not look for long may never do.", asked: 2 * patience, waits: true},
		"Namesake": {
			reason: "What an Object of the same name has seen before is not given.",
			shown:  []*mobjectv1alpha1.Object{hiding("former")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := cached(t)
			r.options.Sanitized, r.asked = true, func() time.Time { return time.Now().Add(-tc.asked) }
			for i, o := range tc.shown {
				r.Show(o, mobjectv1alpha1.ObjectGroupVersionKind, secretAt(strconv.Itoa(i+1)))
			}
			ref := &Reference{GVK: mobjectv1alpha1.ObjectGroupVersionKind, From: seenPath + ".data.a"}
			c, _ := content(hiding("o"), ref.GVK)
			got, err := r.unveil(hiding("o"), ref, c)
			version, _, _ := unstructured.NestedString(got, "status", "atProvider", "manifest", "metadata", "resourceVersion")
			if version != tc.want || IsAwaited(err) != tc.waits || apierrors.IsConflict(err) != (tc.want == "" && !tc.waits) {
				t.Errorf("%s\nwant version %q, got %q and %v", tc.reason, tc.want, version, err)
			}
		})
	}
}

// TestShowWakes shows that those who refer to an Object are woken by what is new.
func TestShowWakes(t *testing.T) {
	r, woken := cached(t, named("reader", reading(seenPath+".data.a", "source", nil)))
	for _, step := range []struct {
		reason  string
		uid     string
		version string
		want    []string // so far
	}{
		{"What is seen first is new.", "o", "1", []string{"reader"}},
		{"The same again is not.", "o", "1", []string{"reader"}},
		{"Another version is.", "o", "2", []string{"reader", "reader"}},
		{"So is the same seen by another Object of the name.", "p", "2", []string{"reader", "reader", "reader"}},
	} {
		r.Show(hiding(step.uid), mobjectv1alpha1.ObjectGroupVersionKind, secretAt(step.version))
		if diff := cmp.Diff(step.want, woken()); diff != "" {
			t.Errorf("%s\nwoken: -want, +got:\n%s", step.reason, diff)
		}
	}
}
