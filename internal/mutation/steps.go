package mutation

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/pkg/errors"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/expression"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
)

// sizeMax is how large a document may get, in bytes. No server takes a larger one.
const sizeMax = 4 << 20

// environment is what expressions are compiled in.
var environment = expression.NewEnvironment("CEL expression", "value", "self", "other")

func newStep(m *v1alpha1.ResourceMutation) (step, error) {
	set := 0
	for _, is := range []bool{m.Delete != nil, m.Regex != nil, m.Template != nil, m.CEL != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return nil, errors.New("exactly one of delete, regex, template and cel must be set")
	}
	switch {
	case m.Delete != nil:
		p, err := jsonpath.Parse(string(m.Delete.Path))
		if err == nil && p.Complex() {
			err = errors.New("delete cannot select several values")
		}
		return deletion{p}, err
	case m.Regex != nil:
		p, err := jsonpath.Parse(string(m.Regex.Path))
		if err != nil {
			return nil, err
		}
		r, err := jsonpath.NewReplacement(m.Regex.Pattern, m.Regex.Replacement)
		return replacement{p, r}, err
	case m.Template != nil:
		p, err := jsonpath.Parse(string(m.Template.Path))
		if err != nil {
			return nil, err
		}
		t, err := gotemplate.Parse(m.Template.Template)
		return rendering{p, t}, err
	}
	p, err := jsonpath.Parse(string(m.CEL.Path))
	if err != nil {
		return nil, err
	}
	e, err := environment.Compile(m.CEL.Expression, cel.DynType)
	return evaluation{p, e}, err
}

// A deletion removes a value.
type deletion struct{ path jsonpath.Path }

func (d deletion) apply(document []byte, _ sides) ([]byte, error) {
	if !d.path.Get(document).Exists() {
		return document, nil
	}
	out, err := sjson.DeleteBytes(document, d.path.String())
	return out, errors.Wrap(err, "cannot delete value")
}

// A replacement changes texts.
type replacement struct {
	path jsonpath.Path
	by   jsonpath.Replacement
}

func (r replacement) apply(document []byte, _ sides) ([]byte, error) {
	found := r.path.Get(document)
	if !found.Exists() || found.Type == gjson.Null {
		return document, nil
	}
	if !r.path.Complex() {
		raw, err := r.replace(found)
		if err != nil || raw == found.Raw {
			return document, err
		}
		return setRaw(document, r.path, raw)
	}
	values := jsonpath.Each(found)
	slices.SortFunc(values, func(a, b gjson.Result) int { return cmp.Compare(b.Index, a.Index) })
	for _, v := range values {
		if v.Index == 0 {
			return nil, errors.New("path selects values that cannot be changed")
		}
		raw, err := r.replace(v)
		if err != nil {
			return nil, err
		}
		document = slices.Concat(document[:v.Index], []byte(raw), document[v.Index+len(v.Raw):])
	}
	return limited(document)
}

// replace returns the JSON of a changed value. A number stays one if it can.
func (r replacement) replace(v gjson.Result) (string, error) {
	if v.Type != gjson.String && v.Type != gjson.Number {
		return "", errors.New("the value is neither a text nor a number")
	}
	text := v.String()
	if v.Type == gjson.Number {
		text = v.Raw
	}
	changed, err := r.by.Apply(text)
	if err != nil {
		return "", err
	}
	if v.Type == gjson.Number {
		if _, err := strconv.ParseFloat(changed, 64); err == nil && gjson.Valid(changed) {
			return changed, nil
		}
	}
	raw, err := encode(changed)
	return string(raw), err
}

// A rendering sets a value to the text of a template.
type rendering struct {
	path     jsonpath.Path
	template *gotemplate.Template
}

func (r rendering) apply(document []byte, s sides) ([]byte, error) {
	self, err := decode(document)
	if err != nil {
		return nil, err
	}
	text, err := r.template.Render(map[string]any{
		"Value": jsonpath.Value{Result: r.path.Get(document)}, "LocalObject": self, "RemoteObject": s.other,
	})
	if err != nil {
		return nil, err
	}
	raw, err := encode(text)
	if err != nil {
		return nil, err
	}
	return setRaw(document, r.path, string(raw))
}

// An evaluation sets a value to what an expression gives.
type evaluation struct {
	path    jsonpath.Path
	program *expression.Program
}

func (e evaluation) apply(document []byte, s sides) ([]byte, error) {
	var value any
	if found := e.path.Get(document); found.Exists() {
		if err := utiljson.Unmarshal([]byte(found.Raw), &value); err != nil {
			return nil, errors.New("the value cannot be read")
		}
	}
	self, err := decode(document)
	if err != nil {
		return nil, err
	}
	out, err := e.program.Eval(map[string]any{"value": value, "self": self, "other": s.other})
	if err != nil {
		return nil, err
	}
	native, err := e.program.JSON(out)
	if err != nil {
		return nil, err
	}
	raw, err := encode(native)
	if err != nil {
		return nil, err
	}
	return setRaw(document, e.path, string(raw))
}

// setRaw sets a value, or all that a path selects.
func setRaw(document []byte, p jsonpath.Path, raw string) ([]byte, error) {
	if p.Complex() && !p.Get(document).Exists() {
		return document, nil
	}
	out, err := sjson.SetRawBytes(document, p.String(), []byte(raw))
	if err != nil {
		return nil, errors.New("the value cannot be set")
	}
	return limited(out)
}

func limited(document []byte) ([]byte, error) {
	if len(document) > sizeMax {
		return nil, errors.New("the object gets too large")
	}
	return document, nil
}
