package gotemplate

import (
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kcp-dev/logicalcluster/v3"
)

// password is a value that no error may tell.
const password = "hunter2"

func data() map[string]any {
	return map[string]any{
		"ClusterName": "1084s8ceexsehjm2",
		"ClusterPath": logicalcluster.NewPath("root:org:team"),
		"Object": map[string]any{
			"metadata": map[string]any{"name": "objname", "labels": map[string]any{"b": "2", "a": "1"}},
			"spec": map[string]any{
				"replicas": int64(3), "password": password, "long": strings.Repeat("x", 100_000),
				"items": []any{"a", "b"},
			},
		},
	}
}

func TestRender(t *testing.T) {
	type want struct {
		text string
		err  error
	}
	for name, tc := range map[string]struct {
		reason string
		text   string
		want   want
	}{
		"Plain": {reason: "A text is itself.", text: "web", want: want{text: "web"}},
		"Trimmed": {
			reason: "White space around the output is dropped.",
			text:   " {{ .ClusterName }}\n",
			want:   want{text: "1084s8ceexsehjm2"},
		},
		"SHA3Short": {
			reason: "The first 20 digits are the default.",
			text:   "{{ .Object.metadata.name | sha3short }}",
			want:   want{text: "73d08a1ba188f1340dae"},
		},
		"SHA3TooLong": {
			reason: "There are 64 digits.",
			text:   "{{ sha3short .Object.metadata.name 65 }}",
			want:   want{err: ErrFailed},
		},
		"ShortHash": {
			reason: "SHA-1, as older names have it.",
			text:   `{{ shortHash "abc" }}`,
			want:   want{text: "a9993e364706816aba3e"},
		},
		"Path": {
			reason: "A path writes itself, and is more than a text.",
			text:   `{{ toString .ClusterPath | replace ":" "-" }}/{{ .ClusterPath.Base }}`,
			want:   want{text: "root-org-team/team"},
		},
		"Sprig": {
			reason: "Functions of sprig work.",
			text:   `{{ upper "a" }}{{ trunc 2 "bcd" }}{{ default "x" .Object.spec.none }}`,
			want:   want{text: "Abcx"},
		},
		"Keys": {
			reason: "Keys are in order.",
			text:   `{{ keys .Object.metadata.labels | join "," }}{{ values .Object.metadata.labels | join "," }}`,
			want:   want{text: "a,b1,2"},
		},
		"NoValue": {
			reason: "What is missing shows.",
			text:   `{{ .Object.spec.none }}`,
			want:   want{text: "<no value>"},
		},
		"Syntax": {reason: "What is no template is invalid.", text: "{{ .Object", want: want{err: ErrInvalid}},
		"Environment": {
			reason: "The environment cannot be read.",
			text:   `{{ env "PATH" }}`,
			want:   want{err: ErrInvalid},
		},
		"Turn": {
			reason: "The function that counts turns is no function of templates, with loops or without.",
			text:   "{{ range until 2 }}{{ _turn }}{{ end }}",
			want:   want{err: ErrInvalid},
		},
		"Now": {reason: "There is no clock.", text: "{{ now }}", want: want{err: ErrInvalid}},
		"Repeat": {
			reason: "A text cannot be made too long.",
			text:   `{{ repeat 9223372036854775807 "xxxxxxxxxx" }}`,
			want:   want{err: ErrTooCostly},
		},
		"Until": {
			reason: "A list cannot be made too long.",
			text:   `{{ until 100000000 | len }}`,
			want:   want{err: ErrTooCostly},
		},
		"Loop": {reason: "A loop ends.", text: `{{ range 1000000000 }}{{ end }}`, want: want{err: ErrTooCostly}},
		"Recursion": {
			reason: "A template calls no other, which could call itself.",
			text:   `{{ define "a" }}{{ range 9 }}{{- template "a" }}{{ end }}{{ end }}`,
			want:   want{err: ErrInvalid},
		},
		"Compared": {
			reason: "A long list is not compared with itself.",
			text:   `{{ splitList "" .Object.spec.long | uniq | len }}`,
			want:   want{err: ErrTooCostly},
		},
		"Verbs": {
			reason: "A format has a limit.",
			text:   `{{ printf (replace "x" "%9d" (trunc 1000 .Object.spec.long)) 1 | len }}`,
			want:   want{err: ErrTooCostly},
		},
		"Doubling": {
			reason: "What doubles ends.",
			text:   `{{ $s := "x" }}{{ range 99 }}{{ $s = print $s $s }}{{ end }}{{ len $s }}`,
			want:   want{err: ErrTooCostly},
		},
		"Replace": {
			reason: "A replacement cannot make a text too long.",
			text:   `{{ replace "x" .Object.spec.long .Object.spec.long }}`,
			want:   want{err: ErrTooCostly},
		},
		"RegexReplace": {
			reason: "Nor by a pattern.",
			text:   `{{ regexReplaceAll "x" .Object.spec.long .Object.spec.long }}`,
			want:   want{err: ErrTooCostly},
		},
		"RegexLong": {
			reason: "A long text is not searched for all matches.",
			text:   `{{ regexReplaceAll "https?://([^@]*@)?" (replace "x" "http://" (trunc 9000 .Object.spec.long)) "" }}`,
			want:   want{err: ErrTooCostly},
		},
		"RegexPattern": {
			reason: "A pattern has a limit.",
			text:   `{{ regexMatch (trunc 2000 .Object.spec.long) "x" }}`,
			want:   want{err: ErrTooCostly},
		},
		"RegexNames": {
			reason: "Ordinary ones work, also in a loop.",
			text: `{{ range 200 }}{{ $x := regexMatch "^[a-z]{1,63}$" $.ClusterName }}{{ end }}` +
				`{{ regexReplaceAll "[^a-z]+" .ClusterName "-" }}`,
			want: want{text: "-s-ceexsehjm-"},
		},
		"RegexText": {
			reason: "Also for texts of some length.",
			text:   `{{ regexReplaceAll "x" (trunc 4000 .Object.spec.long) "" }}ok`,
			want:   want{text: "ok"},
		},
		"Indent": {
			reason: "Nor by lines.",
			text:   `{{ indent 100000 (replace "x" "\n" .Object.spec.long) }}`,
			want:   want{err: ErrTooCostly},
		},
		"Output": {
			reason: "The output has a limit.",
			text:   `{{ range 9 }}{{ $.Object.spec.long }}{{ end }}`,
			want:   want{err: ErrTooCostly},
		},
		"LargeData": {
			reason: "Large data that are looked at cost little.",
			text:   `{{ range 1000 }}{{ $x := get $.Object "spec" }}{{ end }}ok`,
			want:   want{text: "ok"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got want
			tpl, err := Parse(tc.text)
			if err == nil {
				got.text, err = tpl.Render(data())
			}
			got.err = err
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDataAreNotChanged(t *testing.T) {
	tpl, err := Parse(`{{ $_ := set .Object.metadata "name" "other" }}{{ $_ := unset .Object "spec" }}` +
		`{{ $_ := merge .Object (dict "x" 1) }}{{ .Object.metadata.name }}`)
	if err != nil {
		t.Fatal(err)
	}
	d := data()
	got, err := tpl.Render(d)
	if err != nil || got != "other" {
		t.Errorf("Render: want other, got %q, %v", got, err)
	}
	if diff := cmp.Diff(data(), d, cmp.Comparer(func(a, b logicalcluster.Path) bool { return a == b })); diff != "" {
		t.Errorf("The data are shared with caches: -want, +got:\n%s", diff)
	}
}

func TestErrorsTellNoValues(t *testing.T) {
	for _, text := range []string{
		`{{ .Object.spec.password.x }}`, `{{ fail .Object.spec.password }}`, `{{ mustFromJson .Object.spec.password }}`,
		`{{ index .Object.spec.items .Object.spec.password }}`, `{{ mustRegexMatch (print "(" .Object.spec.password) "x" }}`,
		`{{ semver .Object.spec.password }}`,
		`{{ add1 .Object.spec.password }}{{ slice 1 .Object.spec.password }}`,
	} {
		tpl, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tpl.Render(data())
		if err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%s: want an error without the value, got %v", text, err)
		}
	}
}

func TestErrorsTellThePlace(t *testing.T) {
	tpl, err := Parse("{{ .ClusterName }}\n{{ upper .Object.spec.replicas }}")
	if err != nil {
		t.Fatal(err)
	}
	_, err = tpl.Render(data())
	want := "template fails: at 2:16 <.Object.spec.replicas>: wrong type for value; expected string; got int64"
	if err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
	want = `template is invalid: :1: function "_turn" not defined`
	if _, err = Parse("{{ _turn }}"); err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"{{ .ClusterName }}", `{{ range 3 }}{{ . }}{{ end }}`, `{{ with .Object }}{{ .spec | toJson | quote }}{{ end }}`,
		`{{ printf "%v" . }}`,
		`{{ define "a" }}{{ . }}{{ end }}{{ template "a" 1 }}`, `{{ dict "a" 1 | toPrettyJson | nindent 4 }}`, `{{ break }}`,
		`{{ regexFind "a{2}" "aa" }}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tpl, err := Parse(text)
		if err != nil {
			return
		}
		d := data()
		one, err := tpl.Render(d)
		if len(one) > outputMax {
			t.Errorf("output of %d bytes", len(one))
		}
		two, again := tpl.Render(d)
		if one != two || (err == nil) != (again == nil) {
			t.Errorf("two outputs: %q, %v and %q, %v", one, err, two, again)
		}
	})
}

// TestAllowedExist shows that sprig has each function that is allowed, and that those which it counts as not repeatable
// are not.
func TestAllowedExist(t *testing.T) {
	all, hermetic := sprig.TxtFuncMap(), sprig.HermeticTxtFuncMap()
	for name := range strings.FieldsSeq(allowed) {
		if all[name] == nil {
			t.Errorf("function %s: want it in sprig, got none", name)
		}
		if hermetic[name] == nil {
			t.Errorf("function %s: want a repeatable one, got one that sprig leaves out of those", name)
		}
	}
}
