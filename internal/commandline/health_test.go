package commandline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestTraceOfHealth shows that a trace says of the resource of an Object what keeps it from working, as the status of
// the Object shows it, and nothing of one that works or has no status.
func TestTraceOfHealth(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, status string
		want           []string
	}{
		"Progressing": {
			"Its conditions tell.", "{conditions: [{type: Ready, status: 'False', message: 1 of 3}]}",
			[]string{"In progress: 1 of 3"},
		},
		"Works":    {"Nothing is wrong.", "{conditions: [{type: Ready, status: 'True'}]}", nil},
		"NoStatus": {"Nobody knows whether it gets one.", "null", nil},
	} {
		t.Run(name, func(t *testing.T) {
			const gadget = "{apiVersion: example.org/v1, kind: Gadget, metadata: {name: a, namespace: b, uid: u}"
			u := &unstructured.Unstructured{}
			text := "apiVersion: kubernetes.m.crossplane.io/v1alpha1\nkind: Object\nspec: {forProvider: {manifest: " + gadget +
				"}}}\nstatus: {atProvider: {manifest: " + gadget + ", status: " + tc.status +
				"}, providerConfigRef: {name: remote}}}"
			if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
				t.Fatal(err)
			}
			got := resourceOf(u, newObject(u.GroupVersionKind().GroupKind()))
			want := &Result{Resource: "Gadget b/a", Target: "remote", Messages: tc.want}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Result{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
