package reference

import (
	"strings"
	"testing"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// TestTake shows that the values of an Object's references are limited together: what refers to one large field many
// times would else copy it as often.
func TestTake(t *testing.T) {
	large := strings.Repeat("x", sizeMost/2)
	for name, tc := range map[string]struct {
		reason string
		values []any
		ok     bool
	}{
		"Small": {
			"Values that a manifest can hold are taken.",
			[]any{"a", int64(1), nil, map[string]any{"a": []any{true}}, large},
			true,
		},
		"Many":     {"Many large ones are not.", []any{large, large}, false},
		"Nested":   {"Nor those inside of others.", []any{map[string]any{"a": []any{large, large}}}, false},
		"LongKeys": {"Keys count.", []any{map[string]any{large: "a"}, map[string]any{large: "b"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			res := &Resolution{}
			var err error
			for _, v := range tc.values {
				if err == nil {
					err = res.take(value{ref: &Reference{At: "references[0]"}, written: v})
				}
			}
			if (err == nil) != tc.ok || err != nil && ReasonOf(err) != commonv1.ReasonInvalidReference {
				t.Errorf("%s\ntake: got %v", tc.reason, err)
			}
		})
	}
}
