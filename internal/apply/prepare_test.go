package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrepare(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		manifest string
		want     string
		leftOut  []string
	}{
		"StringData": {
			reason: "stringData of a Secret becomes data, and wins over it; what is no text stays for the server to refuse.",
			manifest: `{"apiVersion":"v1","kind":"Secret","data":{"a":"eA==","b":"eQ=="},` +
				`"stringData":{"a":"new","c":1,"d":null}}`,
			want: `{"apiVersion":"v1","kind":"Secret","data":{"a":"bmV3","b":"eQ==","d":""},"stringData":{"c":1}}`,
		},
		"EmptyStringData": {
			reason:   "An empty map is none.",
			manifest: `{"apiVersion":"v1","kind":"Secret","stringData":{}}`,
			want:     `{"apiVersion":"v1","kind":"Secret"}`,
		},
		"StringDataOfOthers": {
			reason:   "A field of that name in another kind is what it is.",
			manifest: `{"apiVersion":"example.org/v1","kind":"Secret","stringData":{"a":"x"}}`,
			want:     `{"apiVersion":"example.org/v1","kind":"Secret","stringData":{"a":"x"}}`,
		},
		"Copied": {
			reason: "Of a manifest that was copied from a live resource is left out what only a server sets.",
			manifest: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","uid":"u","resourceVersion":"1","generation":2,` +
				`"selfLink":"/p","creationTimestamp":"2020-01-01T00:00:00Z","managedFields":[{"manager":"m"}],` +
				`"ownerReferences":[]},"spec":{},"status":{"phase":"Running"}}`,
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","ownerReferences":[]},"spec":{}}`,
			leftOut: []string{
				"metadata.creationTimestamp", "metadata.generation", "metadata.managedFields", "metadata.resourceVersion",
				"metadata.selfLink", "metadata.uid", "status",
			},
		},
		"Printed": {
			reason:   "What kubectl create --dry-run prints is no such copy.",
			manifest: `{"apiVersion":"v1","kind":"X","metadata":{"creationTimestamp":null},"status":{"a":1}}`,
			want:     `{"apiVersion":"v1","kind":"X","metadata":{},"status":{"a":1}}`,
		},
		"NoMetadata": {reason: "None is needed.", manifest: `{"a":1}`, want: `{"a":1}`},
		"WrongMetadata": {
			reason: "What is no metadata is for others to refuse.", manifest: `{"metadata":"x"}`, want: `{"metadata":"x"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := object(t, tc.manifest)
			leftOut := Prepare(u)
			if diff := cmp.Diff(object(t, tc.want).Object, u.Object) + cmp.Diff(tc.leftOut, leftOut); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
