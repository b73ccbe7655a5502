package informer

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// FuzzEvents shows that whatever a stream says, be it nonsense, a list after it is what is held.
func FuzzEvents(f *testing.F) {
	for _, stream := range []string{
		"",
		`{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"5"}}}`,
		`{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"x"}}}
{"type":"DELETED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}}`,
		`{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"7"}}}
{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap",
"metadata":{"name":1,"resourceVersion":{},"annotations":"odd"}}}`,
		`{"type":"ADDED","object":{"kind":"X","metadata":{"name":"b","resourceVersion":"99999999999999999999999999"}}}`,
		`{"type":"ADDED","object":{"apiVersion":"v1","kind":"Status","metadata":null,"code":410}}`,
		`{"type":"ADDED","object":{"kind":"X","metadata":{"name":"a","resourceVersion":"0005"}}}
{"type":"MODIFIED","object":{"kind":"X","metadata":{"name":"a","resourceVersion":"-1"}}}`,
	} {
		f.Add([]byte(stream), true)
		f.Add([]byte(stream), false)
	}
	f.Fuzz(func(t *testing.T, stream []byte, wildcard bool) {
		s := testStore(func(string) {})
		if wildcard {
			s.name = nameInCluster
		}
		for line := range bytes.Lines(stream) {
			deliver(t, s, line)
		}
		for _, o := range s.find("", "") {
			if held := s.get(s.name(o)); held != o {
				t.Errorf("%s is held as %v", s.name(o), held)
			}
		}
		a, b := at("a", "1000000"), at("b", "1000001")
		if err := s.Replace([]any{a, b}, "1000002"); err != nil {
			t.Fatal(err)
		}
		want := map[types.NamespacedName]string{s.name(a): "1000000", s.name(b): "1000001"}
		got := map[types.NamespacedName]string{}
		for _, o := range s.find("", "") {
			got[s.name(o)] = o.GetResourceVersion()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("held after a list: -want, +got:\n%s", diff)
		}
	})
}

// deliver hands an event to a store, if client-go would.
func deliver(t *testing.T, s *store, line []byte) {
	t.Helper()
	u := &unstructured.Unstructured{}
	kind, object, ok := event(line)
	if !ok || u.UnmarshalJSON(object) != nil {
		return
	}
	var err error
	switch kind {
	case watch.Added:
		err = s.Add(u)
	case watch.Modified:
		err = s.Update(u)
	case watch.Deleted:
		err = s.Delete(u)
	case watch.Bookmark:
		err = s.Bookmark(u.GetResourceVersion())
	case watch.Error: // It does not reach a store.
	}
	if err != nil {
		t.Errorf("a store takes whatever it is told: %v", err)
	}
}

// event returns the parts of a watch event, and whether it is one.
func event(line []byte) (watch.EventType, []byte, bool) {
	var e metav1.WatchEvent
	if json.Unmarshal(line, &e) != nil {
		return "", nil, false
	}
	known := []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark}
	return watch.EventType(e.Type), e.Object.Raw, slices.Contains(known, watch.EventType(e.Type))
}
