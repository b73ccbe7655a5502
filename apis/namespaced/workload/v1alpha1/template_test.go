package v1alpha1

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTemplateKeepsAll(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   string
		want   Template
	}{
		"Opaque": {
			reason: "Fields that are not declared are kept, nulls and whole numbers too.",
			text: `{"apiVersion":"v1","data":{"n":12345678901234567890,"x":null},"kind":"K","metadata":{"labels":{"a":"b"},` +
				`"name":"n","namespace":"ns"}}`,
			want: Template{APIVersion: "v1", Kind: "K", Metadata: TemplateMetadata{Name: "n", Namespace: "ns"}},
		},
		"Case": {
			reason: "A field of another case is another field.",
			text:   `{"Kind":"Other","apiVersion":"v1","kind":"K","metadata":{"name":"n"},"zKIND":"x"}`,
			want:   Template{APIVersion: "v1", Kind: "K", Metadata: TemplateMetadata{Name: "n"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Template{}
			if err := json.Unmarshal([]byte(tc.text), &got); err != nil {
				t.Fatal(err)
			}
			tc.want.Raw = []byte(tc.text)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			text, err := json.Marshal(got)
			if err != nil || string(text) != tc.text {
				t.Errorf("%s\nwant %s, got %s, %v", tc.reason, tc.text, text, err)
			}
		})
	}
}
