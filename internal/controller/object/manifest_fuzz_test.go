package object

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
)

// manifestSeeds are texts of manifests, whole and broken.
var manifestSeeds = []string{
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"n","labels":{"a":"b"}},"data":{"a":"b"}}`,
	`{"apiVersion":"v1","kind":"ConfigMap"}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":null,"data":{"large":9007199254740993,"float":1.5}}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":7,"namespace":true}}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":null}}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"a":1}}}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":"odd"}}`,
	`{"apiVersion":"v1","kind":"List","items":[{"kind":"X"}]}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":["odd"]}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"uid":"u","creationTimestamp":null}}`,
	`{"kind":"X"}`, `{"apiVersion":"v1","data":{"a":"b"}}`, `{"apiVersion":1,"kind":{}}`, `[]`, `null`, `"text"`, `{`, ``,
}

// FuzzManifest shows that any text in place of a manifest is either refused as such, or taken over with a name, with
// our label if we may keep the resource, and otherwise as it is.
func FuzzManifest(f *testing.F) {
	for i, s := range manifestSeeds {
		f.Add([]byte(s), []byte(manifestSeeds[0]), uint8(i))
		f.Add([]byte(s), []byte(s), uint8(i+1))
	}
	f.Fuzz(func(t *testing.T, raw, seen []byte, variant uint8) {
		o := fuzzedObject(raw, seen, variant)
		previews(o)
		identity(o)
		if m := fieldManager(o); len(m) > fieldManagerMax {
			t.Errorf("field manager of Object %q: want at most %d bytes, got %q", o.GetName(), fieldManagerMax, m)
		}
		u, err := manifest(o, nil)
		if err != nil {
			if !errors.Is(err, errInvalidManifest) {
				t.Errorf("error of manifest %q: want one about the manifest, got %v", raw, err)
			}
			if content := string(raw); len(content) > 10 && strings.Contains(err.Error(), content) {
				t.Errorf("error of manifest %q: want none of its content, which may be secret, got %v", raw, err)
			}
			return
		}
		checkTaken(t, o, raw, u)
		checkPlaced(t, u, clusters.Mapping{Namespaced: variant%2 == 0, Readable: true})
		if err := record(o, u, Options{
			SanitizeSecrets: variant%3 == 0, RemoveManagedFields: variant%5 == 0,
		}); err != nil {
			t.Errorf("manifest %q as what was seen: %v", raw, err)
		}
	})
}

// fuzzedObject returns an Object of one of both scopes, with one of several policies, on a dry run or not.
func fuzzedObject(raw, seen []byte, variant uint8) Object {
	policies := []xpv2.ManagementPolicies{
		{xpv2.ManagementActionAll}, {xpv2.ManagementActionObserve}, {
			xpv2.ManagementActionObserve, xpv2.ManagementActionCreate,
		},
	}
	var o Object = &objectv1alpha2.Object{}
	if variant&1 != 0 {
		o = &mobjectv1alpha1.Object{}
	}
	o.SetName("an-object")
	o.SetManagementPolicies(policies[variant>>2%3])
	if variant&2 != 0 {
		o.SetAnnotations(map[string]string{commonv1.AnnotationKeyDryRun: "true"})
	}
	o.Desired().ForProvider.Manifest.Raw = raw
	o.Observed().Manifest.Raw = seen
	return o
}

// checkTaken checks what an Object wants against the text of its manifest.
func checkTaken(t *testing.T, o Object, raw []byte, u *unstructured.Unstructured) {
	t.Helper()
	if u.GetName() == "" || u.GetKind() == "" || u.GetAPIVersion() == "" {
		t.Errorf("manifest %q: want a name, kind and API version, got %v", raw, u.Object)
	}
	value, labelled, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "labels", commonv1.LabelKeyManaged)
	if owns(o) && value != commonv1.LabelValueManaged {
		t.Errorf("manifest %q of an Object that keeps its resource: want our label, got %v", raw, u.Object)
	}
	want := &unstructured.Unstructured{}
	if err := want.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	if _, given, _ := unstructured.NestedFieldNoCopy(want.Object, "metadata", "labels",
		commonv1.LabelKeyManaged); !owns(o) && labelled != given {
		t.Errorf("manifest %q of an Object that does not keep its resource: want its labels, got %v", raw, u.Object)
	}
	if diff := cmp.Diff(bare(want), bare(u)); diff != "" {
		t.Errorf("manifest %q beside name and our label: -want, +got:\n%s", raw, diff)
	}
}

// bare returns the content of a resource without its name, our label, and what holds nothing beside them.
func bare(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	unstructured.RemoveNestedField(u.Object, "metadata", "name")
	unstructured.RemoveNestedField(u.Object, "metadata", "labels", commonv1.LabelKeyManaged)
	for _, path := range [][]string{{"metadata", "labels"}, {"metadata"}} {
		v, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
		if m, ok := v.(map[string]any); v == nil || ok && len(m) == 0 {
			unstructured.RemoveNestedField(u.Object, path...)
		}
	}
	return u.Object
}

// checkPlaced checks what place makes of a manifest, with regard to namespaces.
func checkPlaced(t *testing.T, u *unstructured.Unstructured, m clusters.Mapping) {
	t.Helper()
	given := u.GetNamespace()
	err := place(u, m)
	switch {
	case m.Namespaced && given == "":
		if !errors.Is(err, errInvalidManifest) {
			t.Errorf("manifest without a namespace of a namespaced kind: want an error about it, got %v", err)
		}
	case err != nil:
		t.Errorf("place of %v: %v", u.Object, err)
	case m.Namespaced && u.GetNamespace() != given, !m.Namespaced && u.GetNamespace() != "":
		t.Errorf("namespace of a manifest with %q and namespaced %t: got %q", given, m.Namespaced, u.GetNamespace())
	}
}
