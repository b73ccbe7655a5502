package apply

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

const manager = "provider-kubernetes/it"

// live returns a resource with fields that a manager owns, both given as JSON.
func live(t *testing.T, content, fields string) *unstructured.Unstructured {
	t.Helper()
	u, ofStatus := object(t, content), entry(manager, applied, `{"f:status":{}}`)
	ofStatus.Subresource = "status"
	u.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry("other", applied, `{"f:theirs":{}}`), entry(manager, update, `{"f:updated":{}}`), ofStatus,
		entry(manager, applied, fields),
	})
	return u
}

func TestHashOwned(t *testing.T) {
	const (
		a          = `{"f:data":{"f:a":{}}}`
		containers = `{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}`
		theirs     = `{"containers":[{"name":"side","image":"v9"},{"name":"web","image":"v1","theirs":true}]}`
	)
	for name, tc := range map[string]struct {
		reason          string
		content, fields string // before
		after           string
		same            bool
	}{
		"OwnValueChanged": {
			"A field we own with another value is drift.", `{"data":{"a":"1"}}`, a, `{"data":{"a":"2"}}`, false,
		},
		"OwnValueGone": {"One that is gone is drift.", `{"data":{"a":"1"}}`, a, `{"data":{}}`, false},
		"ForeignValueChanged": {
			"What others own, what we own by update, and our own status is not drift.",
			`{"data":{"a":"1"},"theirs":"1","updated":"1","status":"1"}`, a,
			`{"data":{"a":"1","b":"2"},"theirs":"2","updated":"2","status":"2"}`, true,
		},
		"NeighbourInListChanged": {
			"Items of a keyed list that others add, and the order of items, are not drift.",
			`{"containers":[{"name":"web","image":"v1"}]}`, containers, theirs, true,
		},
		"OwnItemChanged": {
			"A field of our item of a keyed list is drift.", `{"containers":[{"name":"web","image":"v1"}]}`, containers,
			`{"containers":[{"name":"web","image":"v2"}]}`, false,
		},
		"ItemOfSetRemoved": {
			"An item of ours that is gone from a set is drift.", `{"args":["x","y"]}`, `{"f:args":{"v:\"x\"":{}}}`,
			`{"args":["y"]}`, false,
		},
		"AtomicListChanged": {
			"A list we own as a whole is drift if any item changes.", `{"args":["x"]}`, `{"f:args":{}}`, `{"args":["x","y"]}`,
			false,
		},
		"EmptyMapFilled": {
			"A map we want empty may be filled by others.", `{"empty":{}}`, `{"f:empty":{}}`, `{"empty":{"theirs":"1"}}`, true,
		},
		"MapWithOwnAndForeignKeys": {
			"Of a map that we own beside some of its keys, only those keys count.", `{"data":{"a":"1"}}`,
			`{"f:data":{".":{},"f:a":{}}}`, `{"data":{"a":"1","b":"2"}}`, true,
		},
		"IntegersStayExact": {
			"Large integers that differ in the last digit differ.", `{"spec":9007199254740993}`, `{"f:spec":{}}`,
			`{"spec":9007199254740994}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := hashOf(t, tc.content, tc.fields), hashOf(t, tc.after, tc.fields)
			if (before == after) != tc.same {
				t.Errorf("%s\nHashOwned: want same %t, got %q and %q", tc.reason, tc.same, before, after)
			}
		})
	}
	const both = `{"data":{"a":"1","b":"1"}}`
	if hashOf(t, both, a) == hashOf(t, both, `{"f:data":{"f:a":{},"f:b":{}}}`) {
		t.Error("A field that another manager has taken over is drift")
	}
}

// hashOf returns the hash of what the manager owns of a resource, of whose manifest a map is empty.
func hashOf(t *testing.T, content, fields string) string {
	t.Helper()
	h, err := HashOwned(live(t, content, fields), object(t, `{"empty":{}}`), manager, Ignored{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHashOwnedOfNothing(t *testing.T) {
	got, err := HashOwned(live(t, `{"data":{"a":"1"}}`, `{}`), &unstructured.Unstructured{}, manager, Ignored{})
	if err != nil || got != "" {
		t.Errorf("A manager without fields has no hash: got %q, %v", got, err)
	}
	u := live(t, `{}`, `["x"]`)
	if _, err := HashOwned(u, u, manager, Ignored{}); err == nil {
		t.Error("Managed fields that cannot be read are an error")
	}
}

func TestCurrent(t *testing.T) {
	const (
		manifest = `{"kind":"Secret","metadata":{"name":"s","labels":{"ours":"true"}},"data":{"a":"1","b":"2"}}`
		all      = `{"f:metadata":{"f:labels":{"f:ours":{}}},"f:data":{"f:a":{},"f:b":{}}}`
		fewer    = `{"f:metadata":{"f:labels":{"f:ours":{}}},"f:data":{"f:a":{}}}`
	)
	for name, tc := range map[string]struct {
		reason string
		owned  string
		live   string // instead of the data of the manifest, or the labels
		want   bool
	}{
		"Same":         {"What has all fields and no others is current.", all, ``, true},
		"OthersFields": {"Fields that others have added make no difference.", all, `"data":{"a":"1","b":"2","c":"3"}`, true},
		"OtherValue":   {"Another value does.", all, `"data":{"a":"3","b":"2"}`, false},
		"Missing":      {"A field that is gone does.", all, `"data":{"b":"2"}`, false},
		"Label":        {"A label that is gone does.", all, `"metadata":{"name":"s"}`, false},
		"NotOurs":      {"A field that somebody else has taken over does.", fewer, ``, false},
		"Dropped": {
			"A field of ours that is no longer wanted does.",
			`{"f:metadata":{"f:labels":{"f:ours":{}}},"f:data":{"f:a":{},"f:b":{},"f:c":{}}}`,
			`"data":{"a":"1","b":"2","c":"3"}`,
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := object(t, manifest)
			maps.Copy(live.Object, object(t, "{"+tc.live+"}").Object)
			live.SetManagedFields([]metav1.ManagedFieldsEntry{entry("me", applied, tc.owned)})
			if got, err := Current(live, object(t, manifest), "me"); err != nil || got != tc.want {
				t.Errorf("%s\nwant %t, got %t, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

// FuzzManagedFields shows that no managed fields and no resource of a target make what reads them panic.
func FuzzManagedFields(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":{"b":1}}`, `{"f:a":{".":{},"f:b":{}}}`},
		{`{"a":[{"k":1},{"k":1.0,"x":2}]}`, `{"f:a":{"k:{\"k\":1}":{".":{},"f:x":{}}}}`},
		{`{"a":[1,"1",[],{}]}`, `{"f:a":{"v:1":{},"v:\"1\"":{},"v:[]":{},"i:2":{}}}`},
		{`{"a":[{"k":null}]}`, `{"f:a":{"k:{\"k\":null}":{},"k:{}":{}}}`},
		{`{"a":[{"k":"\u003c"}]}`, `{"f:a":{"k:{\"k\":\"<\"}":{}}}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, content, fields string) {
		object := map[string]any{}
		if utiljson.Unmarshal([]byte(content), &object) != nil || object == nil {
			return // It is no resource.
		}
		u := &unstructured.Unstructured{Object: object}
		delete(u.Object, "metadata")
		u.SetManagedFields([]metav1.ManagedFieldsEntry{entry(manager, applied, fields)})
		first, _ := HashOwned(u, u, manager, Ignored{})
		again, _ := HashOwned(u, u, manager, Ignored{})
		if first != again {
			t.Errorf("hashes of the same fields differ: %q, %q", first, again)
		}
		_, _ = Current(u, u, manager)
	})
}
