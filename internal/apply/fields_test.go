package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

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
		first, _ := HashOwned(u, u, manager)
		again, _ := HashOwned(u, u, manager)
		if first != again {
			t.Errorf("hashes of the same fields differ: %q, %q", first, again)
		}
		_, _ = Current(u, u, manager)
	})
}
