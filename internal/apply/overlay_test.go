package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// object returns the resource of a JSON text, nil if it is empty.
func object(t *testing.T, content string) *unstructured.Unstructured {
	t.Helper()
	if content == "" {
		return nil
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal([]byte(content), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestOverlay(t *testing.T) {
	const (
		ports = `{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},` +
			`"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{}}}}`
		set = `{"f:finalizers":{".":{},"v:\"a\"":{}}}`
	)
	for name, tc := range map[string]struct {
		reason   string
		live     string
		fields   string
		manifest string
		want     string
	}{
		"Missing": {reason: "Without a resource the manifest is all there is.", manifest: `{"a":1}`, want: `{"a":1}`},
		"Maps": {
			reason: "Fields of the manifest win, others stay.",
			live:   `{"spec":{"a":1,"b":{"c":2}},"x":1}`, manifest: `{"spec":{"a":2,"b":{"d":3}}}`,
			want: `{"spec":{"a":2,"b":{"c":2,"d":3}},"x":1}`,
		},
		"Nothing": {
			reason: "What the manifest gives as nothing changes nothing.",
			live:   `{"a":{"b":1},"l":[1]}`, manifest: `{"a":{},"b":{},"c":[],"d":null,"a2":{"x":null},"l":null}`,
			want: `{"a":{"b":1},"l":[1],"a2":{"x":null}}`,
		},
		"KeyedList": {
			reason: "Items are found by the keys they have managers by, those the server has set included.",
			live:   `{"ports":[{"port":81,"protocol":"TCP","n":1},{"port":80,"protocol":"TCP","n":2}]}`, fields: ports,
			manifest: `{"ports":[{"port":80,"name":"web"},{"port":82}]}`,
			want: `{"ports":[{"port":81,"protocol":"TCP","n":1},` +
				`{"port":80,"protocol":"TCP","n":2,"name":"web"},{"port":82}]}`,
		},
		"KeyedListOtherKey": {
			reason: "An item with another key is another item, and what is no map is none.",
			live:   `{"ports":[{"port":80,"protocol":"TCP"}]}`, fields: ports,
			manifest: `{"ports":[{"port":80,"protocol":"UDP"},"odd"]}`,
			want:     `{"ports":[{"port":80,"protocol":"TCP"},{"port":80,"protocol":"UDP"},"odd"]}`,
		},
		"Set": {
			reason: "A set gets the items that it lacks.",
			live:   `{"finalizers":["b","a"]}`, fields: set, manifest: `{"finalizers":["a","c"]}`,
			want: `{"finalizers":["b","a","c"]}`,
		},
		"AtomicList": {
			reason: "A list that is managed as a whole is replaced.",
			live:   `{"args":["x","y"]}`, fields: `{"f:args":{}}`, manifest: `{"args":["x"]}`, want: `{"args":["x"]}`,
		},
		"AtomicListOfMaps": {
			reason: "Defaults in the items of such a list are no difference.",
			live:   `{"l":[{"a":1,"default":true}]}`, fields: `{"f:l":{}}`, manifest: `{"l":[{"a":2}]}`,
			want: `{"l":[{"a":2,"default":true}]}`,
		},
		"OtherType": {
			reason: "A value of another type is replaced.",
			live:   `{"a":"x","b":[1],"c":{"d":1}}`, manifest: `{"a":{"b":1},"b":{"x":1},"c":"y"}`,
			want: `{"a":{"b":1},"b":{"x":1},"c":"y"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			live, manifest := object(t, tc.live), object(t, tc.manifest)
			if tc.fields != "" {
				live.SetManagedFields([]metav1.ManagedFieldsEntry{{
					Manager: "m", FieldsV1: metav1.NewFieldsV1(tc.fields),
				}, {Manager: "n"}})
			}
			before := []*unstructured.Unstructured{live.DeepCopy(), manifest.DeepCopy()}
			got, err := Overlay(live, manifest)
			if err != nil {
				t.Fatal(err)
			}
			unstructured.RemoveNestedField(got.Object, "metadata")
			if diff := cmp.Diff(object(t, tc.want), got); diff != "" {
				t.Errorf("%s\nOverlay: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, []*unstructured.Unstructured{live, manifest}); diff != "" {
				t.Errorf("%s\narguments: -before, +after:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOverlayUnreadable(t *testing.T) {
	u := object(t, `{}`)
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`["x"]`)}})
	if _, err := Overlay(u, u); err == nil {
		t.Error("Managed fields that cannot be read are an error")
	}
}
