package mutation

import (
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/kcp-dev/logicalcluster/v3"
	"github.com/pkg/errors"
	"github.com/tidwall/gjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/expression"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
)

// sizeMax is how large a document may get, in bytes. No server takes a larger one.
const sizeMax = 4 << 20

// squaresMax is what the values that one step replaces may cost together: the squares of their lengths.
const squaresMax = 1 << 29

// environment is what expressions are compiled in.
var environment = expression.NewEnvironment("CEL expression", "value", "self", "other")

// A step is one compiled step. It returns the document as it is after the step.
type step func(document []byte, s sides) ([]byte, error)

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
		return func(document []byte, _ sides) ([]byte, error) { return p.Delete(document) }, err
	case m.Regex != nil:
		return newReplacement(m.Regex)
	case m.Template != nil:
		return newRendering(m.Template)
	}
	return newEvaluation(m.CEL)
}

// newReplacement returns a step that changes texts.
func newReplacement(m *v1alpha1.RegexMutation) (step, error) {
	p, err := jsonpath.ParseTarget(string(m.Path))
	if err != nil {
		return nil, err
	}
	by, err := jsonpath.NewReplacement(m.Pattern, m.Replacement)
	return func(document []byte, _ sides) ([]byte, error) {
		if found := p.Get(document); found.Type == gjson.Null {
			return document, nil
		}
		squares := 0
		return p.Splice(document, sizeMax, func(v gjson.Result) (string, error) {
			if squares += by.Cost(v.Raw); squares > squaresMax {
				return "", errors.New("the values are too long for a regular expression")
			}
			return replace(by, v)
		})
	}, err
}

// replace returns the JSON of a changed value. A number stays one if it can.
func replace(by jsonpath.Replacement, v gjson.Result) (string, error) {
	if v.Type != gjson.String && v.Type != gjson.Number {
		return "", errors.New("the value is neither a text nor a number")
	}
	text := v.String()
	if v.Type == gjson.Number {
		text = v.Raw
	}
	changed, err := by.Apply(text)
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

// newRendering returns a step that sets a value to the text of a template, in which LocalObject is the object that is
// changed and RemoteObject the other one.
func newRendering(m *v1alpha1.TemplateMutation) (step, error) {
	p, err := jsonpath.ParseTarget(string(m.Path))
	if err != nil {
		return nil, err
	}
	t, err := gotemplate.Parse(m.Template)
	return func(document []byte, s sides) ([]byte, error) {
		self, err := decode(document)
		if err != nil {
			return nil, err
		}
		text, err := t.Render(map[string]any{
			"Value": jsonpath.NewValue(p.Get(document)), "LocalObject": self, "RemoteObject": s.other,
			"ClusterName": s.workspace.Cluster, "ClusterPath": logicalcluster.NewPath(s.workspace.Path),
		})
		if err != nil {
			return nil, err
		}
		return set(p, document, text)
	}, err
}

// newEvaluation returns a step that sets a value to what an expression gives.
func newEvaluation(m *v1alpha1.CELMutation) (step, error) {
	p, err := jsonpath.ParseTarget(string(m.Path))
	if err != nil {
		return nil, err
	}
	program, err := environment.Compile(m.Expression, cel.DynType)
	return func(document []byte, s sides) ([]byte, error) {
		var value any
		if found := p.Get(document); found.Exists() {
			if err := utiljson.Unmarshal([]byte(found.Raw), &value); err != nil {
				return nil, errors.New("the value cannot be read")
			}
		}
		self, err := decode(document)
		if err != nil {
			return nil, err
		}
		out, err := program.Eval(map[string]any{"value": value, "self": self, "other": s.other})
		if err != nil {
			return nil, err
		}
		native, err := program.JSON(out)
		if err != nil {
			return nil, err
		}
		return set(p, document, native)
	}, err
}

// set returns a document with a value set at a path.
func set(p jsonpath.Path, document []byte, value any) ([]byte, error) {
	raw, err := encode(value)
	if err != nil {
		return nil, err
	}
	return p.Set(document, sizeMax, string(raw))
}
