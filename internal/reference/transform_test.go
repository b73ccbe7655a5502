package reference

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
)

func formatted(layout string) commonv1.Transform {
	return commonv1.Transform{Type: commonv1.TransformString, String: &commonv1.StringTransform{Format: layout}}
}

func converted(to string) commonv1.Transform {
	return commonv1.Transform{Type: commonv1.TransformConvert, Convert: &commonv1.ConvertTransform{ToType: to}}
}

func lookedUp(key, value string) commonv1.Transform {
	return commonv1.Transform{
		Type: commonv1.TransformMap, Map: map[string]apiextensionsv1.JSON{key: {Raw: []byte(value)}},
	}
}

// TestTransformsAreBounded shows that what the transforms of an Object make on the way is limited together: a thousand
// that each make a text of a megabyte, or parse one, take seconds of a processor.
func TestTransformsAreBounded(t *testing.T) {
	wide := []commonv1.Transform{formatted("%1000000s")}
	parsing := []commonv1.Transform{converted("object"), converted("string")}
	long := `{\"a\":\"` + strings.Repeat("x", textMost) + `\"}`
	for name, tc := range map[string]struct {
		reason     string
		value      string
		transforms []commonv1.Transform
		ok         bool
	}{
		"Short": {
			reason: "Many of a short text are fine.",
			value:  "{}", transforms: slices.Repeat(parsing, 500), ok: true,
		},
		"Few":     {reason: "So are a few of a long one.", value: "{}", transforms: slices.Repeat(wide, 3), ok: true},
		"Formats": {reason: "Many formats are not.", value: "{}", transforms: slices.Repeat(wide, 1000)},
		"Parsed": {
			reason: "Nor is a text that is parsed again and again.",
			value:  long, transforms: slices.Repeat(parsing, 500),
		},
	} {
		t.Run(name, func(t *testing.T) {
			res, o, gvk := &Resolution{}, showing(tc.value), mobjectv1alpha1.ObjectGroupVersionKind
			x := &found{o, pinOf(gvk, o), func() (map[string]any, error) { return content(o, gvk) }}
			err := (&Reference{
				From: "status.atProvider.manifest.data.color", To: "data.color", Transforms: tc.transforms,
			}).use(Referrer{Object: named("reader")}, res, x)
			if (err == nil) != tc.ok || err != nil && ReasonOf(err) != commonv1.ReasonInvalidReference {
				t.Errorf("%s Got %v", tc.reason, err)
			}
		})
	}
}

func TestTransform(t *testing.T) {
	const hidden = "hunter2"
	for name, tc := range map[string]struct {
		reason     string
		value      any
		transforms []commonv1.Transform
		want       any
		err        string // part of the error, empty for none
	}{
		"None": {
			reason: "Without transforms a value stays as it is.",
			value:  int64(1) << 62,
			want:   int64(1) << 62,
		},
		"Format": {
			reason:     "A text is formatted.",
			value:      "east",
			transforms: []commonv1.Transform{formatted("us-%s")},
			want:       "us-east",
		},
		"FormatNumber": {
			reason:     "So is a number.",
			value:      int64(7),
			transforms: []commonv1.Transform{formatted("%03d")},
			want:       "007",
		},
		"FormatObject": {
			reason:     "An object is formatted as JSON.",
			value:      map[string]any{"a": int64(1)},
			transforms: []commonv1.Transform{formatted("%s!")},
			want:       `{"a":1}!`,
		},
		"FormatPercent": {
			reason:     "A value may look like what package fmt reports.",
			value:      "%!s",
			transforms: []commonv1.Transform{formatted("%s")},
			want:       "%!s",
		},
		"FormatWrong": {
			reason:     "A verb that does not fit is an error.",
			value:      hidden,
			transforms: []commonv1.Transform{formatted("%d")},
			err:        "does not fit a value of type string",
		},
		"FormatNoVerb": {
			reason:     "So is a format without a verb.",
			value:      hidden,
			transforms: []commonv1.Transform{formatted("x")},
			err:        "does not fit",
		},
		"FormatTwoVerbs": {
			reason:     "There is one verb.",
			value:      hidden,
			transforms: []commonv1.Transform{formatted("%[1]s%[1]s")},
			err:        "more than one placeholder",
		},
		"FormatEscaped": {
			reason:     "A doubled percent sign is none.",
			value:      "a",
			transforms: []commonv1.Transform{formatted("100%% %s")},
			want:       "100% a",
		},
		"FormatGrows": {
			reason:     "Verbs that make a text longer do not ask for all memory.",
			value:      hidden,
			transforms: slices.Repeat([]commonv1.Transform{formatted("%x")}, 20),
			err:        "more than 1048576 bytes",
		},
		"Map": {
			reason:     "A value is looked up.",
			value:      "a",
			transforms: []commonv1.Transform{lookedUp("a", `{"n":3}`)},
			want:       map[string]any{"n": int64(3)},
		},
		"MapMissing": {
			reason:     "A value that is not expected is an error, which does not tell it.",
			value:      hidden,
			transforms: []commonv1.Transform{lookedUp("a", "1")},
			err:        "not a key",
		},
		"MapNumber": {
			reason:     "Keys are texts.",
			value:      int64(1),
			transforms: []commonv1.Transform{lookedUp("1", "1")},
			err:        "of type int64",
		},
		"ToString": {
			reason:     "A number becomes a text.",
			value:      1.5,
			transforms: []commonv1.Transform{converted("string")},
			want:       "1.5",
		},
		"ToInt": {
			reason:     "A text becomes a whole number.",
			value:      "42",
			transforms: []commonv1.Transform{converted("int")},
			want:       int64(42),
		},
		"ToInt64": {
			reason:     "A truth becomes a number.",
			value:      true,
			transforms: []commonv1.Transform{converted("int64")},
			want:       int64(1),
		},
		"ToFloat": {
			reason:     "A text becomes a number.",
			value:      "0.5",
			transforms: []commonv1.Transform{converted("float64")},
			want:       0.5,
		},
		"ToFloatNaN": {
			reason:     "JSON knows no NaN.",
			value:      "NaN",
			transforms: []commonv1.Transform{converted("float64")},
			err:        "cannot be converted",
		},
		"ToBool": {
			reason:     "A text becomes a truth.",
			value:      "true",
			transforms: []commonv1.Transform{converted("bool")},
			want:       true,
		},
		"ToBoolTwo": {
			reason:     "Two is neither true nor false.",
			value:      int64(2),
			transforms: []commonv1.Transform{converted("bool")},
			err:        "cannot be converted",
		},
		"ToObject": {
			reason:     "JSON is parsed.",
			value:      `{"a":1}`,
			transforms: []commonv1.Transform{converted("object")},
			want:       map[string]any{"a": int64(1)},
		},
		"ToArray": {
			reason:     "So are lists.",
			value:      `[true]`,
			transforms: []commonv1.Transform{converted("array")},
			want:       []any{true},
		},
		"ToArrayObject": {
			reason:     "An object is no list.",
			value:      `{}`,
			transforms: []commonv1.Transform{converted("array")},
			err:        "cannot be converted",
		},
		"ToIntSecret": {
			reason:     "A failure does not tell the value.",
			value:      hidden,
			transforms: []commonv1.Transform{converted("int")},
			err:        "cannot be converted to int",
		},
		"InOrder": {
			reason:     "Transforms follow each other.",
			value:      int64(7),
			transforms: []commonv1.Transform{converted("string"), formatted("n%s")},
			want:       "n7",
		},
		"SecondFails": {
			reason:     "The error names the transform.",
			value:      "a",
			transforms: []commonv1.Transform{formatted("%s"), converted("int")},
			err:        "transforms[1]",
		},
		"LacksItsFields": {
			reason:     "A transform without settings is an error.",
			value:      "a",
			transforms: []commonv1.Transform{{Type: commonv1.TransformString}},
			err:        "or the field of that name is not set",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := transformed(tc.value, tc.transforms, new(int))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\ntransformed: -want, +got:\n%s", tc.reason, diff)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s\ntransformed: want error %q, got %v", tc.reason, tc.err, err)
			}
			if err != nil && strings.Contains(err.Error(), hidden) {
				t.Errorf("%s\ntransformed: the error tells the value: %v", tc.reason, err)
			}
		})
	}
}
