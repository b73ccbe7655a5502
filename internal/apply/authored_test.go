package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestAuthored shows what of a resource its authors have written.
func TestAuthored(t *testing.T) {
	const head = `{apiVersion: v1, kind: X, metadata: {name: x, namespace: ns, uid: u, `
	for name, tc := range map[string]struct {
		reason, live, want string
	}{
		"NoOwner": {
			reason: "Of a resource without managed fields nothing is known.",
			live:   head + `labels: {a: b}}, spec: {a: 1}}`, want: `null`,
		},
		"Authors": {
			reason: "All who apply and update count; what nobody owns is a default.",
			live: head + `labels: {a: b, c: d}, managedFields: [
				{manager: a, operation: Apply, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:a": {}}}},
				{manager: b, operation: Update, fieldsV1: {"f:spec": {"f:b": {}}}}]}, spec: {a: 1, b: {x: [1]}, c: 3}}`,
			want: `{apiVersion: v1, kind: X, metadata: {name: x, namespace: ns, labels: {a: b}}, spec: {a: 1, b: {x: [1]}}}`,
		},
		"Subresource": {
			reason: "What is written by way of a subresource is no author's, also within a map that one has made.",
			live: head + `annotations: {r: "1", kubectl.kubernetes.io/last-applied-configuration: x}, managedFields: [
				{manager: a, operation: Update, fieldsV1: {"f:metadata": {"f:annotations": {
					".": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}}, "f:spec": {"f:a": {}}}},
				{manager: hpa, operation: Update, subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}},
				{manager: c, operation: Update, subresource: status, fieldsV1: {"f:metadata": {"f:annotations": {"f:r": {}}}}}]},
				spec: {a: 1, replicas: 3}}`,
			want: `{apiVersion: v1, kind: X, metadata: {name: x, namespace: ns}, spec: {a: 1}}`,
		},
		"Server": {
			reason: "Status, finalizers and owners are of controllers.",
			live: head + `finalizers: [f], ownerReferences: [{uid: o}], managedFields: [
				{manager: a, operation: Update, fieldsV1: {"f:metadata": {"f:finalizers": {"v:\"f\"": {}}, "f:ownerReferences": {}},
					"f:status": {"f:x": {}}, "f:data": {}}}]}, data: {k: v}, status: {x: y}}`,
			want: `{apiVersion: v1, kind: X, metadata: {name: x, namespace: ns}, data: {k: v}}`,
		},
		"Lists": {
			reason: "Of keyed lists and sets the items of authors stay, in their order, and of each what they own.",
			live: head + `managedFields: [
				{manager: a, operation: Apply, fieldsV1: {"f:keyed": {"k:{\"name\":\"z\"}": {".": {}, "f:name": {}, "f:v": {}},
					"k:{\"name\":\"b\"}": {".": {}, "f:name": {}}}, "f:set": {"v:2": {}, "v:1": {}}, "f:atomic": {}}},
				{manager: c, operation: Update, subresource: status, fieldsV1: {"f:keyed": {"k:{\"name\":\"a\"}": {".": {}}}}}]},
				keyed: [{name: z, v: 1, d: 2}, {name: a}, {name: b, d: 2}], set: [1, 3, 2], atomic: [{x: y}]}`,
			want: `{apiVersion: v1, kind: X, metadata: {name: x, namespace: ns}, keyed: [{name: z, v: 1}, {name: b}], ` +
				`set: [1, 2], atomic: [{x: y}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(text string) (content map[string]any) {
				if err := yaml.Unmarshal([]byte(text), &content); err != nil {
					t.Fatal(err)
				}
				return content
			}
			got, err := Authored(&unstructured.Unstructured{Object: read(tc.live)})
			if err != nil {
				t.Fatal(err)
			}
			if got == nil {
				got = &unstructured.Unstructured{}
			}
			if diff := cmp.Diff(read(tc.want), got.Object); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOwners shows who owns fields of a manifest beside its manager.
func TestOwners(t *testing.T) {
	const text = `{metadata: {labels: {a: b}, managedFields: [
		{manager: us, operation: Apply, fieldsV1: {"f:spec": {"f:a": {},
			"f:list": {"k:{\"name\":\"x\"}": {".": {}, "f:v": {}}}}}},
		{manager: us, operation: Update, subresource: status, fieldsV1: {"f:spec": {"f:a": {}}}},
		{manager: hpa, operation: Update, subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}},
		{manager: them, operation: Apply, fieldsV1: {"f:spec": {"f:other": {},
			"f:list": {"k:{\"name\":\"x\"}": {"f:v": {}}}}}}]},
		spec: {a: 1, replicas: 3, other: 4, list: [{name: x, v: 1}]}}`
	read := func(text string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		return u
	}
	got, err := Owners(read(text), read(`{spec: {a: 2, replicas: 1, list: [{name: x, v: 2}]}}`), "us")
	want := []string{
		`spec.a is owned by "us" through status`, `spec.list[name="x"].v is owned by "them"`,
		`spec.replicas is owned by "hpa" through scale`,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v; -want, +got:\n%s", err, diff)
	}
}
