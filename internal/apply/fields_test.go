package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// FuzzManagedFields shows that no managed fields and no resource of a target make what reads them panic, and that a
// finder finds what a search of each list from its beginning finds.
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
		first, err := HashOwned(u, u, manager)
		again, _ := HashOwned(u, u, manager)
		if first != again {
			t.Errorf("hashes of the same fields differ: %q, %q", first, again)
		}
		_, _ = Current(u, u, manager)
		if set, oerr := owned(u, manager); err == nil && oerr == nil {
			compareFinders(t, u.Object, set)
		}
	})
}

// compareFinders checks that a finder finds all that is found item by item.
func compareFinders(t *testing.T, content map[string]any, set *fieldpath.Set) {
	t.Helper()
	f := newFinder()
	set.Iterate(func(p fieldpath.Path) {
		want, ok := slowly(content, p)
		got, found := f.find(content, p)
		if ok != found || ok && !value.Equals(value.NewValueInterface(want), value.NewValueInterface(got)) {
			t.Errorf("%s: want %v, %t, got %v, %t", p, want, ok, got, found)
		}
	})
}

// slowly finds a value item by item.
func slowly(v any, p fieldpath.Path) (any, bool) {
	for _, e := range p {
		list, isList := v.([]any)
		if e.FieldName != nil || e.Index != nil || !isList {
			var ok bool
			if v, ok = newFinder().step(v, e); !ok {
				return nil, false
			}
			continue
		}
		found := false
		for _, item := range list {
			if found = selects(e, item); found {
				v = item
				break
			}
		}
		if !found {
			return nil, false
		}
	}
	return v, true
}

func selects(e fieldpath.PathElement, item any) bool {
	if e.Value != nil {
		return value.Equals(value.NewValueInterface(item), *e.Value)
	}
	m, ok := item.(map[string]any)
	if !ok || e.Key == nil {
		return false
	}
	for _, k := range *e.Key {
		v, ok := m[k.Name]
		if !ok || !value.Equals(value.NewValueInterface(v), k.Value) {
			return false
		}
	}
	return true
}
