package reference

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	clocktesting "k8s.io/utils/clock/testing"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// TestTake shows that the values of an Object's references are limited together: what refers to one large field many
// times would else copy it as often.
func TestTake(t *testing.T) {
	large := strings.Repeat("x", sizeMost/2)
	for name, tc := range map[string]struct {
		reason string
		values []any
		ok     bool
	}{
		"Small": {
			"Values that a manifest can hold are taken.",
			[]any{"a", int64(1), nil, map[string]any{"a": []any{true}}, large},
			true,
		},
		"Many":     {"Many large ones are not.", []any{large, large}, false},
		"Nested":   {"Nor those inside of others.", []any{map[string]any{"a": []any{large, large}}}, false},
		"LongKeys": {"Keys count.", []any{map[string]any{large: "a"}, map[string]any{large: "b"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			res := &Resolution{}
			var err error
			for _, v := range tc.values {
				if err == nil {
					err = res.take(value{ref: &Reference{At: "references[0]"}, written: v})
				}
			}
			if (err == nil) != tc.ok || err != nil && ReasonOf(err) != commonv1.ReasonInvalidReference {
				t.Errorf("%s\ntake: got %v", tc.reason, err)
			}
		})
	}
}

// TestWrite shows that null gives way, that nothing else does, and that what was read does not change with the copy.
func TestWrite(t *testing.T) {
	shared := map[string]any{"b": "c"}
	content := map[string]any{"a": nil, "text": "x"}
	for path, value := range map[string]any{"a.b": "c", "copy": shared} {
		if err := write(content, path, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(content, "copy.b", "changed"); err != nil {
		t.Fatal(err)
	}
	if err := write(content, "text.b", "c"); err == nil {
		t.Error("a text has no fields")
	}
	want := map[string]any{"a": map[string]any{"b": "c"}, "copy": map[string]any{"b": "changed"}, "text": "x"}
	if diff := cmp.Diff(want, content) + cmp.Diff(map[string]any{"b": "c"}, shared); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestCheckPath shows which paths are fine: indexes are limited, each and together.
func TestCheckPath(t *testing.T) {
	for path, want := range map[string]bool{
		"": true, "spec.containers[0].image": true, "a[1024]": true, "a[1025]": false, "a[1000][25]": false,
		"[0].b": false, "a[0": false, "a[*].b": false, ".": false,
	} {
		if err := checkPath(path); (err == nil) != want {
			t.Errorf("checkPath(%q): want it to be fine: %t, got %v", path, want, err)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, p := range []string{
		"metadata.name", "a[0].b", "a[example.org/b]", "spec.x[*]", "a[99999999999999999999]", "[[", "[0]", "",
	} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if checkPath(path) != nil || path == "" {
			return
		}
		content := map[string]any{}
		if err := write(content, path, "value"); err != nil {
			t.Fatalf("a path that is fine can be written to an empty object: %v", err)
		}
		if v, ok, err := read(content, path); err != nil || !ok || v != "value" {
			t.Fatalf("what is written at %q can be read: %v, %t, %v", path, v, ok, err)
		}
	})
}

// TestNewest shows which of an answer and what a cache holds is taken for the state of a resource.
func TestNewest(t *testing.T) {
	state := func(uid types.UID, version string, finalizers ...string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Name: "a", UID: uid, ResourceVersion: version, Finalizers: finalizers}
	}
	for name, tc := range map[string]struct {
		reason string
		answer *metav1.ObjectMeta
		age    time.Duration
		cached *metav1.ObjectMeta
		want   []string
		gone   bool
	}{
		"Behind": {
			reason: "A cache that lags behind is not believed.",
			answer: state("1", "7", "ours"), cached: state("1", "5"), want: []string{"ours"},
		},
		"CaughtUp": {
			reason: "One that has caught up is.", answer: state("1", "7", "ours"), cached: state("1", "7", "ours"),
			want: []string{"ours"},
		},
		"Ahead": {
			reason: "So is one that knows more.", answer: state("1", "7", "ours"), cached: state("1", "9", "other"),
			want: []string{"other"},
		},
		"Namesake": {
			reason: "A namesake tells that the resource is gone.", cached: state("2", "5", "other"), gone: true,
		},
		"Gone": {
			reason: "What the server does not have any more is gone, whatever a cache shows.",
			answer: gone(), cached: state("1", "5", "ours"), gone: true,
		},
		"Restored": {
			reason: "An old answer is from a history that may be gone.",
			answer: state("1", "7", "ours"), age: 2 * answerMost, cached: state("1", "5"),
		},
		"Uncached": {reason: "An answer is enough.", answer: state("1", "7", "ours"), want: []string{"ours"}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Now())
			e := newEditor(nil)
			e.answers = cache.NewExpiringWithClock(clock)
			at := edited{uid: "1"}
			if tc.answer != nil {
				e.answers.Set(at, tc.answer, answerMost)
			}
			clock.Step(tc.age)
			var known metav1.Object
			if tc.cached != nil {
				known = tc.cached
			}
			got := e.newest(at, known)
			if diff := cmp.Diff(tc.want, got.GetFinalizers()); diff != "" || tc.gone != (got.GetDeletionTimestamp() != nil) {
				t.Errorf("%s\ngone: %t, -want, +got:\n%s", tc.reason, got.GetDeletionTimestamp() != nil, diff)
			}
		})
	}
	if got := newEditor(nil).newest(edited{}, nil); got != nil {
		t.Errorf("want nothing known of a resource that nobody has seen, got %v", got)
	}
}
