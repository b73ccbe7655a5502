package apply

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// keyed returns a resource with n items, half in a list with keys, half in a set. One manager owns them all.
func keyed(n int) *unstructured.Unstructured {
	var items, set []any
	fields := fieldpath.NewSet()
	for i := range n / 2 {
		name := fmt.Sprintf("item-%d", i)
		items = append(items, map[string]any{"name": name, "port": int64(i), "value": "x"})
		set = append(set, name)
		item := fieldpath.MakePathOrDie("spec", "items", fieldpath.KeyByFields("name", name, "port", int64(i)))
		fields.Insert(item)
		fields.Insert(append(item.Copy(), fieldpath.FieldNameElement("value")))
		fields.Insert(fieldpath.MakePathOrDie("spec", "set", value.NewValueInterface(name)))
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"items": items, "set": set}}}
	u.SetManagedFields([]metav1.ManagedFieldsEntry{entry(manager, applied, encodeFields(fields).GetRawString())})
	return u
}

// invented returns a resource with n items, whose managed fields name each by another key.
func invented(n int) *unstructured.Unstructured {
	u := keyed(2 * n)
	fields := fieldpath.NewSet()
	for i := range n {
		fields.Insert(fieldpath.MakePathOrDie("spec", "items", fieldpath.KeyByFields(fmt.Sprintf("key-%d", i), "x")))
	}
	u.SetManagedFields([]metav1.ManagedFieldsEntry{entry(manager, applied, encodeFields(fields).GetRawString())})
	return u
}

func hashOwned(u *unstructured.Unstructured) error {
	_, err := HashOwned(u, u, manager)
	return err
}

func holdsLegacy(u *unstructured.Unstructured) error {
	entries := u.GetManagedFields()
	entries[0].Operation = metav1.ManagedFieldsOperationUpdate
	u.SetManagedFields(entries)
	_, err := Migration{Live: u, Manifest: u, Manager: "m", Legacy: []string{manager}}.Needed()
	return err
}

// TestListsAreReadOnce shows that work grows with the items of a list, and not with their square: four times as many
// would take sixteen times the work. Each comparison of two values allocates, so that allocations tell the work
// whatever else the machine does.
func TestListsAreReadOnce(t *testing.T) {
	const few, factor, most = 500, 4, 5
	for name, tc := range map[string]struct {
		resource func(n int) *unstructured.Unstructured
		do       func(u *unstructured.Unstructured) error
	}{
		"HashOwned":         {resource: keyed, do: hashOwned},
		"HashOwnedInvented": {resource: invented, do: hashOwned},
		"Migrate":           {resource: keyed, do: holdsLegacy},
	} {
		t.Run(name, func(t *testing.T) {
			if got := workOf(t, tc.do, tc.resource(factor*few)) / workOf(t, tc.do, tc.resource(few)); got > most {
				t.Errorf("%d times the items: want at most %d times the work, it is %.1f times", factor, most, got)
			}
		})
	}
}

// workOf returns how often memory is allocated to do something.
func workOf(t *testing.T, do func(u *unstructured.Unstructured) error, u *unstructured.Unstructured) float64 {
	t.Helper()
	return testing.AllocsPerRun(1, func() {
		if err := do(u); err != nil {
			t.Fatal(err)
		}
	})
}

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
