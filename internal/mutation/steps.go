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

// A step is one compiled step.
type step struct {
	path jsonpath.Path // what it changes
	// apply returns the document as it is after the step.
	apply func(document []byte, s sides) ([]byte, error)
	// origin tells who decides on what the step leaves at its path: the author of the object if it is nil.
	origin func(other func(path ...string) provenance.Value) provenance.Value
}

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
		return newReplacement(m.Regex)
	case m.Template != nil:
		return newRendering(m.Template)
	}
	return newEvaluation(m.CEL)
}

// newReplacement returns a step that changes texts. The rule alone decides on what it leaves if it keeps nothing of
// what was there.
func newReplacement(m *v1alpha1.RegexMutation) (step, error) {
	p, err := jsonpath.ParseTarget(string(m.Path))
	if err != nil {
		return step{}, err
	}
	by, err := jsonpath.NewReplacement(m.Pattern, m.Replacement)
	s := step{path: p, apply: func(document []byte, _ sides) ([]byte, error) {
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
	}}
	if m.Pattern == "" && !strings.ContainsAny(m.Replacement, `$\`) {
		s.origin = func(func(path ...string) provenance.Value) provenance.Value { return provenance.Fixed }
	}
	return s, err
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

// newRendering returns a step that sets a value to the text of a template. Who decides on that is told by what the
// template is made of: LocalObject is the object that is changed, RemoteObject the other one. The workspace is what
// naming knows it as.
func newRendering(m *v1alpha1.TemplateMutation) (step, error) {
	p, err := jsonpath.ParseTarget(string(m.Path))
	if err != nil {
		return step{}, err
	}
	t, err := gotemplate.Parse(m.Template)
	source := provenance.Parse(m.Template)
	return step{path: p, apply: func(document []byte, s sides) ([]byte, error) {
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
	}, origin: func(other func(path ...string) provenance.Value) provenance.Value {
		return source.Value(provenance.Context{Of: func(path ...string) provenance.Value {
			switch {
			case path[0] == "RemoteObject":
				return other(path[1:]...)
			case path[0] == "ClusterName":
				return provenance.Assigned
			case strings.Join(path, ".") == "LocalObject.metadata.uid":
				return provenance.Assigned
			}
			return provenance.Entered
		}})
	}}, err
}

// newEvaluation returns a step that sets a value to what an expression gives. Nobody looks into who decides on that.
func newEvaluation(m *v1alpha1.CELMutation) (step, error) {
	p, err := jsonpath.ParseTarget(string(m.Path))
	if err != nil {
		return step{}, err
	}
	program, err := environment.Compile(m.Expression, cel.DynType)
	return step{path: p, apply: func(document []byte, s sides) ([]byte, error) {
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
	}}, err
}

// set returns a document with a value set at a path.
func set(p jsonpath.Path, document []byte, value any) ([]byte, error) {
	raw, err := encode(value)
	if err != nil {
		return nil, err
	}
	return p.Set(document, sizeMax, string(raw))
}
