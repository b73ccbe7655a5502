package expression

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
)

// evaluationMax is how long an expression that a tenant writes may take. A busy machine is slower than the software.
const evaluationMax = 10 * time.Second

// FuzzExpression looks for expressions that break out of their bounds: by a panic, by their time, by a changed
// resource, by what is no JSON, or by an error that is none of ours or quotes a value of the resource.
func FuzzExpression(f *testing.F) {
	const resource = `{"a":{"b":["x",2,true,null,1.5]},"secret":"hunter2hunter2","text":"aaaaaaaaaaaaaaaaaaaa"}`
	for _, text := range []string{
		"v.a.b[1] + 1", "v.text.replace('a', v.text)", "v.a.b.map(x, [x, v.a])", "{'x': v.secret}", "int(v.secret)",
		"v[v.secret]", "v.?x.orValue('y')",
		"'%s-%d'.format([v.text, 7])", "v.a.b.filter(x, type(x) == string).join(v.text)",
		"regex.replace(v.text, '(a+)+$', '$1')", "timestamp(v.secret)",
		"lists.range(100).map(i, lists.range(100))", "base64.decode(v.secret)", "v.text.split('').map(c, c + v.text)",
		"dyn(v).a.b.exists(x, x == v)",
		"math.greatest(v.a.b[1], 3) << 2", "sets.equivalent(v.a.b, v.a.b)", "v.text.matches(v.text)", "b'\xff'", "1.0 / 0.0",
		"-9223372036854775808 / -1", "v.a.transformMap(k, x, [x, x] == [x])", "v.text.findAll(v.secret + '|a{1,50}')",
		"quantity(v.secret)", "[v.a.b, v.a.b].flatten().distinct()",
	} {
		f.Add(text, resource)
	}
	environment := NewEnvironment("CEL expression", "v")
	f.Fuzz(func(t *testing.T, text, resource string) {
		var v, before map[string]any
		if json.Unmarshal([]byte(resource), &v) != nil || json.Unmarshal([]byte(resource), &before) != nil {
			return
		}
		began := time.Now()
		err := evaluate(environment, text, v)
		if took := time.Since(began); took > evaluationMax {
			t.Errorf("%q: it took %s", text, took)
		}
		if diff := cmp.Diff(before, v); diff != "" {
			t.Errorf("%q has changed the resource:\n%s", text, diff)
		}
		if err == nil {
			return
		}
		if !strings.HasPrefix(err.Error(), environment.what+" ") {
			t.Errorf("%q gives an error of another kind: %v", text, err)
		}
		if secret, ok := v["secret"].(string); ok && len(secret) > len(environment.what) &&
			strings.Contains(err.Error(), secret) &&
			!strings.Contains(text, secret) {
			t.Errorf("%q tells a value of the resource: %v", text, err)
		}
	})
}

// evaluate returns the error of an expression.
func evaluate(e Environment, text string, v any) error {
	p, err := e.Compile(text, cel.DynType)
	if err != nil {
		return err
	}
	out, err := p.Eval(map[string]any{"v": v})
	if err != nil {
		return err
	}
	value, err := p.JSON(out)
	if err != nil {
		return err
	}
	_, err = json.Marshal(value)
	return errors.Wrap(err, "value is no JSON")
}
