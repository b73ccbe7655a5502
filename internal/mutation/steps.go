package mutation

import (
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/kcp-dev/logicalcluster/v3"
	"github.com/pkg/errors"
	"github.com/tidwall/gjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/expression"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// sizeMax is how large a document may get, in bytes. No server takes a larger one.
const sizeMax = 4 << 20

// squaresMax is what the values that one step replaces may cost together: the squares of their lengths.
const squaresMax = 1 << 29

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
		return step{}, errors.New("exactly one of delete, regex, template and cel must be set")
	}
	switch {
	case m.Delete != nil:
		p, err := jsonpath.Parse(string(m.Delete.Path))
		if err == nil && p.Complex() {
			err = errors.New("delete cannot select several values")
		}
		return step{path: p, apply: func(document []byte, _ sides) ([]byte, error) { return p.Delete(document) }}, err
	case m.Regex != nil:
		p, err := jsonpath.ParseTarget(string(m.Regex.Path))
		if err != nil {
			return step{}, err
		}
		by, err := jsonpath.NewReplacement(m.Regex.Pattern, m.Regex.Replacement)
		constant := m.Regex.Pattern == "" && !strings.ContainsAny(m.Regex.Replacement, `$\`)
		return step{path: p, apply: replacement{p, by}.apply, constant: constant}, err
	case m.Template != nil:
		p, err := jsonpath.ParseTarget(string(m.Template.Path))
		if err != nil {
			return step{}, err
		}
		t, err := gotemplate.Parse(m.Template.Template)
		return step{path: p, apply: rendering{p, t}.apply, template: provenance.Parse(m.Template.Template)}, err
	}
	p, err := jsonpath.ParseTarget(string(m.CEL.Path))
	if err != nil {
		return step{}, err
	}
	e, err := environment.Compile(m.CEL.Expression, cel.DynType)
	return step{path: p, apply: evaluation{p, e}.apply}, err
}

// A replacement changes texts.
type replacement struct {
	path jsonpath.Path
	by   jsonpath.Replacement
}

func (r replacement) apply(document []byte, _ sides) ([]byte, error) {
	if found := r.path.Get(document); found.Type == gjson.Null {
		return document, nil
	}
	squares := 0
	return r.path.Splice(document, sizeMax, func(v gjson.Result) (string, error) {
		if squares += r.by.Cost(v.Raw); squares > squaresMax {
			return "", errors.New("the values are too long for a regular expression")
		}
		return r.replace(v)
	})
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
		"Value": jsonpath.NewValue(r.path.Get(document)), "LocalObject": self, "RemoteObject": s.other,
		"ClusterName": s.workspace.Cluster, "ClusterPath": logicalcluster.NewPath(s.workspace.Path),
	})
	if err != nil {
		return nil, err
	}
	raw, err := encode(text)
	if err != nil {
		return nil, err
	}
	return r.path.Set(document, sizeMax, string(raw))
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
	return e.path.Set(document, sizeMax, string(raw))
}
