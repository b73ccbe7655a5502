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
			x := &found{o, pinOf(gvk, o), func() (map[string]any, error) { return content(o, gvk), nil }}
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
	type steps = []commonv1.Transform
	object := map[string]any{"a": int64(1)}
	for name, tc := range map[string]struct {
		reason string
		value  any
		steps  steps
		want   any
		err    string // part of the error, empty for none
	}{
		"None":           {"Without transforms a value stays as it is.", int64(1) << 62, nil, int64(1) << 62, ""},
		"Format":         {"A text is formatted.", "east", steps{formatted("us-%s")}, "us-east", ""},
		"FormatNumber":   {"So is a number.", int64(7), steps{formatted("%03d")}, "007", ""},
		"FormatObject":   {"An object is formatted as JSON.", object, steps{formatted("%s!")}, `{"a":1}!`, ""},
		"FormatPercent":  {"A value may look like what package fmt reports.", "%!s", steps{formatted("%s")}, "%!s", ""},
		"FormatWrong":    {"A verb must fit.", hidden, steps{formatted("%d")}, nil, "does not fit a value of type string"},
		"FormatNoVerb":   {"There must be one.", hidden, steps{formatted("x")}, nil, "does not fit"},
		"FormatTwoVerbs": {"And one only.", hidden, steps{formatted("%[1]s%[1]s")}, nil, "more than one placeholder"},
		"FormatEscaped":  {"A doubled percent sign is none.", "a", steps{formatted("100%% %s")}, "100% a", ""},
		"FormatGrows": {
			"Verbs that make a text longer do not ask for all memory.", hidden, slices.Repeat(steps{formatted("%x")}, 20), nil,
			"more than 1048576 bytes",
		},
		"Map":           {"A value is looked up.", "x", steps{lookedUp("x", `{"a":1}`)}, object, ""},
		"MapMissing":    {"One that is not expected is not told.", hidden, steps{lookedUp("a", "1")}, nil, "has no key"},
		"MapNumber":     {"Keys are texts.", int64(1), steps{lookedUp("1", "1")}, nil, "has type int64"},
		"ToString":      {"A number becomes a text.", 1.5, steps{converted("string")}, "1.5", ""},
		"ToInt":         {"A text becomes a whole number.", "42", steps{converted("int")}, int64(42), ""},
		"ToInt64":       {"A truth becomes a number.", true, steps{converted("int64")}, int64(1), ""},
		"ToFloat":       {"A text becomes a number.", "0.5", steps{converted("float64")}, 0.5, ""},
		"ToFloatNaN":    {"JSON knows no NaN.", "NaN", steps{converted("float64")}, nil, "cannot be converted"},
		"ToBool":        {"A text becomes a truth.", "true", steps{converted("bool")}, true, ""},
		"ToBoolTwo":     {"Two is neither true nor false.", int64(2), steps{converted("bool")}, nil, "cannot be converted"},
		"ToObject":      {"JSON is parsed.", `{"a":1}`, steps{converted("object")}, object, ""},
		"ToArray":       {"So are lists.", `[true]`, steps{converted("array")}, []any{true}, ""},
		"ToArrayObject": {"An object is no list.", `{}`, steps{converted("array")}, nil, "cannot be converted"},
		"ToIntSecret":   {"A failure does not tell the value.", hidden, steps{converted("int")}, nil, "converted to int"},
		"InOrder":       {"Transforms follow each other.", int64(7), steps{converted("string"), formatted("n%s")}, "n7", ""},
		"SecondFails":   {"The error names it.", "a", steps{formatted("%s"), converted("int")}, nil, "transforms[1]"},
		"NoSettings":    {"Each needs settings.", "a", steps{{Type: commonv1.TransformString}}, nil, "is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := transformed(tc.value, tc.steps, new(int))
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
