package gotemplate

import (
	"strings"
	"sync"
	"testing"

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
			"spec":     map[string]any{"replicas": int64(3), "password": password, "long": strings.Repeat("x", 100_000), "items": []any{"a", "b"}},
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
		"Plain":          {"A text is itself.", "web", want{text: "web"}},
		"Trimmed":        {"White space around the output is dropped.", " {{ .ClusterName }}\n", want{text: "1084s8ceexsehjm2"}},
		"SHA3Short":      {"The first 20 digits are the default.", "{{ .Object.metadata.name | sha3short }}", want{text: "73d08a1ba188f1340dae"}},
		"SHA3Length":     {"Another length can be asked for.", "{{ sha3short .Object.metadata.name 4 }}", want{text: "73d0"}},
		"SHA3TooLong":    {"There are 64 digits.", "{{ sha3short .Object.metadata.name 65 }}", want{err: ErrFailed}},
		"SHA3Sum":        {"All digits.", "{{ sha3sum .Object.metadata.name | len }}", want{text: "64"}},
		"ShortHash":      {"SHA-1, as older names have it.", `{{ shortHash "abc" }}`, want{text: "a9993e364706816aba3e"}},
		"Path":           {"A path is a text, and more.", `{{ .ClusterPath | replace ":" "-" }}/{{ .ClusterPath.Base }}`, want{text: "root-org-team/team"}},
		"Sprig":          {"Functions of sprig work.", `{{ upper "a" }}{{ trunc 2 "bcd" }}{{ default "x" .Object.spec.none }}`, want{text: "Abcx"}},
		"Keys":           {"Keys are in order.", `{{ keys .Object.metadata.labels | join "," }}{{ values .Object.metadata.labels | join "," }}`, want{text: "a,b1,2"}},
		"And":            {"A condition stops early.", `{{ if and .Object.spec.none (index .Object.spec.none "x") }}y{{ else }}n{{ end }}`, want{text: "n"}},
		"Printf":         {"printf is what it is.", `{{ printf "%s-%03d" .ClusterName 7 }}`, want{text: "1084s8ceexsehjm2-007"}},
		"NoValue":        {"What is missing shows.", `{{ .Object.spec.none }}`, want{text: "<no value>"}},
		"Number":         {"A number is no text.", `{{ upper .Object.spec.replicas }}`, want{err: ErrFailed}},
		"Syntax":         {"What is no template is invalid.", "{{ .Object", want{err: ErrInvalid}},
		"TooLongText":    {"A template has a limit.", strings.Repeat("x", textMax+1), want{err: ErrInvalid}},
		"Environment":    {"The environment cannot be read.", `{{ env "PATH" }}`, want{err: ErrInvalid}},
		"Expand":         {"The environment cannot be expanded.", `{{ expandenv "$PATH" }}`, want{err: ErrInvalid}},
		"Network":        {"The network cannot be asked.", `{{ getHostByName "localhost" }}`, want{err: ErrInvalid}},
		"Now":            {"There is no clock.", "{{ now }}", want{err: ErrInvalid}},
		"Random":         {"There is no chance.", "{{ randInt 0 9 }}", want{err: ErrInvalid}},
		"Shuffle":        {"There is no chance.", `{{ shuffle "abc" }}`, want{err: ErrInvalid}},
		"PrivateKey":     {"There are no keys.", `{{ genPrivateKey "rsa" }}`, want{err: ErrInvalid}},
		"Repeat":         {"A text cannot be made too long.", `{{ repeat 1000000000 "xxxxxxxxxx" }}`, want{err: ErrTooCostly}},
		"Overflow":       {"Nor by a number that overflows.", `{{ repeat 9223372036854775807 "xxxxxxxxxx" }}`, want{err: ErrTooCostly}},
		"Until":          {"A list cannot be made too long.", `{{ until 100000000 | len }}`, want{err: ErrTooCostly}},
		"Seq":            {"Nor by its ends.", `{{ seq 0 100000000 | len }}`, want{err: ErrTooCostly}},
		"Loop":           {"A loop ends.", `{{ range 1000000000 }}{{ end }}`, want{err: ErrTooCostly}},
		"Recursion":      {"A template that calls itself is refused.", `{{ define "a" }}{{ range 9 }}{{ template "a" }}{{ end }}{{ end }}{{ template "a" }}`, want{err: ErrInvalid}},
		"Calls":          {"Templates call others.", `{{ define "a" }}{{ template "b" . }}{{ end }}{{ define "b" }}{{ .ClusterName }}{{ end }}{{ template "a" . }}`, want{text: "1084s8ceexsehjm2"}},
		"Doubling":       {"What doubles ends.", `{{ $s := "x" }}{{ range 99 }}{{ $s = print $s $s }}{{ end }}{{ len $s }}`, want{err: ErrTooCostly}},
		"SharedDoubling": {"What doubles by reference cannot be written.", `{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ $l }}`, want{err: ErrTooCostly}},
		"SharedJSON":     {"Nor encoded.", `{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ toJson $l }}`, want{err: ErrTooCostly}},
		"Cycle":          {"A map in itself cannot be written.", `{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}`, want{err: ErrTooCostly}},
		"Replace":        {"A replacement cannot make a text too long.", `{{ replace "x" .Object.spec.long .Object.spec.long }}`, want{err: ErrTooCostly}},
		"RegexReplace":   {"Nor by a pattern.", `{{ regexReplaceAll "x" .Object.spec.long .Object.spec.long }}`, want{err: ErrTooCostly}},
		"RegexLong":      {"A long text is not searched for all matches.", `{{ regexReplaceAll "https?://([^@]*@)?" (replace "x" "http://" (trunc 9000 .Object.spec.long)) "" }}`, want{err: ErrTooCostly}},
		"RegexLoop":      {"Nor are short ones without an end.", `{{ range 1000 }}{{ $x := regexFindAll "https?://([^@]*@)?" (repeat 500 "http://") -1 }}{{ end }}`, want{err: ErrTooCostly}},
		"RegexSplit":     {"Nor to split them.", `{{ regexSplit "x.*y|x" .Object.spec.long -1 }}`, want{err: ErrTooCostly}},
		"RegexRepeat":    {"What is repeated counts for each byte of the text.", `{{ range 300 }}{{ $x := regexMatch "(x.?.?.?.?){1000}y" (trunc 9000 $.Object.spec.long) }}{{ end }}`, want{err: ErrTooCostly}},
		"RegexPattern":   {"A pattern has a limit.", `{{ regexMatch (trunc 2000 .Object.spec.long) "x" }}`, want{err: ErrTooCostly}},
		"RegexNames":     {"Ordinary ones work, also in a loop.", `{{ range 200 }}{{ $x := regexMatch "^[a-z]{1,63}$" $.ClusterName }}{{ end }}{{ regexReplaceAll "[^a-z]+" .ClusterName "-" }}`, want{text: "-s-ceexsehjm-"}},
		"RegexText":      {"Also for texts of some length.", `{{ regexReplaceAll "x" (trunc 10000 .Object.spec.long) "" }}ok`, want{text: "ok"}},
		"Dict":           {"A map has keys that are texts.", `{{ (dict "a" 1 .ClusterPath 2 "odd").a }}{{ (dict .ClusterPath 2) | keys | first }}`, want{text: "1root:org:team"}},
		"DictNumber":     {"And no others.", `{{ dict 1 2 }}`, want{err: ErrFailed}},
		"DictCycle":      {"A map in itself is none.", `{{ $d := dict "a" 1 }}{{ $_ := set $d "d" $d }}{{ $x := dict $d 1 }}`, want{err: ErrFailed}},
		"DictDoubling":   {"Nor is what doubles by reference.", `{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ $x := dict $l 1 }}`, want{err: ErrFailed}},
		"Width":          {"Nor by a width.", `{{ printf "%1000000d%1000000d%1000000d%1000000d%1000000d" 1 1 1 1 1 }}`, want{err: ErrTooCostly}},
		"StarWidth":      {"Nor by a width that is an argument.", `{{ printf "%*d%*d%*d%*d%*d" 1000000 1 1000000 1 1000000 1 1000000 1 1000000 1 }}`, want{err: ErrTooCostly}},
		"Indent":         {"Nor by lines.", `{{ indent 100000 (replace "x" "\n" .Object.spec.long) }}`, want{err: ErrTooCostly}},
		"Output":         {"The output has a limit.", `{{ range 9 }}{{ $.Object.spec.long }}{{ end }}`, want{err: ErrTooCostly}},
		"LargeData":      {"Large data that are looked at cost little.", `{{ range 1000 }}{{ $x := get $.Object "spec" }}{{ end }}ok`, want{text: "ok"}},
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
	tpl, err := Parse(`{{ $_ := set .Object.metadata "name" "other" }}{{ $_ := unset .Object "spec" }}{{ $_ := merge .Object (dict "x" 1) }}{{ .Object.metadata.name }}`)
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
		`{{ semver .Object.spec.password }}`, `{{ template "none" .Object.spec.password }}`, `{{ add1 .Object.spec.password }}{{ slice 1 .Object.spec.password }}`,
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
	want := "template fails: at 2:3 <upper .Object.spec.replicas>: error calling upper"
	if err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
}

func TestRenderConcurrently(t *testing.T) {
	tpl, err := Parse(`{{ range 100 }}{{ $.ClusterName | upper | lower }}{{ end }}`)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("1084s8ceexsehjm2", 100)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got, err := tpl.Render(data()); got != want || err != nil {
					t.Errorf("want the name a hundred times, got %q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"{{ .ClusterName }}", `{{ range 3 }}{{ . }}{{ end }}`, `{{ with .Object }}{{ .spec | toJson | quote }}{{ end }}`, `{{ printf "%v" . }}`,
		`{{ define "a" }}{{ . }}{{ end }}{{ template "a" 1 }}`, `{{ dict "a" 1 | toPrettyJson | nindent 4 }}`, `{{ break }}`, `{{ regexFind "a{2}" "aa" }}`,
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
