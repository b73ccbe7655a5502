package mutation

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/pkg/errors"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/expression"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
)

// ErrFailed means that a step does not work on this object.
var ErrFailed = errors.New("mutation fails")

// Mutations are the compiled steps for one kind of object. Nil are none.
type Mutations struct {
	spec, status []step
}

// decode reads an object from JSON. Whole numbers stay whole.
func decode(document []byte) (map[string]any, error) {
	var content map[string]any
	if err := utiljson.Unmarshal(document, &content); err != nil || content == nil {
		return nil, errors.Wrap(ErrFailed, "the result of the mutations is not an object")
	}
	return content, nil
}

// Sides are the object that is changed, as it was before all steps, and the one on the other side, of a consumer of a
// workspace. They are not changed.
type sides struct {
	self, other map[string]any
	workspace   gotemplate.Workspace
}

// New compiles the steps that stand in a field. An error is a kerrors.Aggregate of what does not compile, each with the
// path of its field.
func New(m *v1alpha1.ResourceMutations, at *field.Path) (*Mutations, error) {
	if m == nil || len(m.Spec)+len(m.Status) == 0 {
		return nil, nil //nolint:nilnil // No steps are none.
	}
	spec, ofSpec := compile(m.Spec, at.Child("spec"))
	status, ofStatus := compile(m.Status, at.Child("status"))
	return &Mutations{spec: spec, status: status}, kerrors.NewAggregate(append(ofSpec, ofStatus...))
}

func compile(steps []v1alpha1.ResourceMutation, at *field.Path) (out []step, errs []error) {
	for i := range steps {
		s, err := newStep(&steps[i], at.Index(i))
		out, errs = append(out, s), append(errs, err)
	}
	return out, errs
}

// Spec returns an object as the steps for spec make it. Its identity stays. Other is the object on the other side, or
// what it would be. Neither is changed; what is returned is a copy if there are steps. The cause of an error is
// ErrFailed.
func (m *Mutations) Spec(in gotemplate.Workspace, object, other *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if m == nil || len(m.spec) == 0 {
		return object, nil
	}
	content, err := run("spec", m.spec, sides{self: object.Object, other: other.Object, workspace: in})
	if err != nil {
		return nil, err
	}
	metadata := map[string]any{}
	if before, ok := object.Object["metadata"].(map[string]any); ok {
		metadata = runtime.DeepCopyJSON(before)
	}
	for _, field := range []string{"labels", "annotations"} {
		texts, there, err := unstructured.NestedStringMap(content, "metadata", field)
		if err != nil { // It may hold a value.
			return nil, errors.Wrapf(ErrFailed, "metadata.%s must be a map of strings after the mutations", field)
		}
		if delete(metadata, field); there {
			_ = unstructured.SetNestedStringMap(metadata, texts, field)
		}
	}
	content["metadata"] = metadata
	out := &unstructured.Unstructured{Object: content}
	out.SetGroupVersionKind(object.GroupVersionKind())
	return out, nil
}

// Status returns the status of an object as the steps for status make it, nil if there is none. Neither object is
// changed; what is returned is a copy if there are steps. The cause of an error is ErrFailed.
func (m *Mutations) Status(in gotemplate.Workspace, object, other *unstructured.Unstructured) (any, error) {
	status, ok := object.Object["status"]
	if !ok || m == nil || len(m.status) == 0 {
		return status, nil
	}
	content, err := run("status", m.status, sides{self: object.Object, other: other.Object, workspace: in})
	return content["status"], err
}

func run(list string, steps []step, s sides) (map[string]any, error) {
	document, err := encode(s.self)
	if err != nil {
		return nil, err
	}
	for i, one := range steps {
		if document, err = one(document, s); err != nil {
			return nil, errors.Wrapf(ErrFailed, "mutation.%s[%d]: %v", list, i, err)
		}
	}
	return decode(document)
}

// encode returns a value as JSON that keeps texts as they are.
func encode(v any) ([]byte, error) {
	b := &bytes.Buffer{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, errors.Wrap(ErrFailed, "a value cannot be written as JSON")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// sizeMax is how large a document may get, in bytes. No server takes a larger one.
const sizeMax = 4 << 20

// squaresMax is what the values that one step replaces may cost together: the squares of their lengths.
const squaresMax = 1 << 29

// environment is what expressions are compiled in.
var environment = expression.NewEnvironment("CEL expression", "value", "self", "other")

// A step is one compiled step. It returns the document as it is after the step.
type step func(document []byte, s sides) ([]byte, error)

// newStep compiles a step. The API server sees to it that it has one way.
func newStep(m *v1alpha1.ResourceMutation, at *field.Path) (step, error) {
	switch {
	case m.Delete != nil:
		p, err := jsonpath.Parse(string(m.Delete.Path))
		if err == nil && p.Complex() {
			err = errors.New("delete cannot select several values")
		}
		return func(document []byte, _ sides) ([]byte, error) { return p.Delete(document) },
			errors.Wrap(err, at.Child("delete", "path").String())
	case m.Regex != nil:
		return newReplacement(m.Regex, at.Child("regex"))
	case m.Template != nil:
		return newRendering(m.Template, at.Child("template"))
	case m.CEL != nil:
		return newEvaluation(m.CEL, at.Child("cel"))
	}
	return nil, errors.Errorf("%s: one of delete, regex, template and cel must be set", at)
}

// newReplacement returns a step that changes texts.
func newReplacement(m *v1alpha1.RegexMutation, at *field.Path) (step, error) {
	p, err := jsonpath.ParseTarget(string(m.Path))
	if err != nil {
		return nil, errors.Wrap(err, at.Child("path").String())
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
	}, errors.Wrap(err, at.Child("pattern").String())
}

// replace returns the JSON of a changed value. A number stays one if it can.
func replace(by jsonpath.Replacement, v gjson.Result) (string, error) {
	if v.Type != gjson.String && v.Type != gjson.Number {
		return "", errors.New("the value must be a string or a number")
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
func newRendering(m *v1alpha1.TemplateMutation, at *field.Path) (step, error) {
	t, err := gotemplate.Parse(m.Template)
	if err != nil {
		return nil, errors.Wrap(err, at.Child("template").String())
	}
	return setting(m.Path, at, func(found gjson.Result, self map[string]any, s sides) (any, error) {
		data := s.workspace.Data()
		data["Value"], data["LocalObject"], data["RemoteObject"] = jsonpath.Value{Result: found}, self, s.other
		return t.Render(data)
	})
}

// newEvaluation returns a step that sets a value to what an expression gives.
func newEvaluation(m *v1alpha1.CELMutation, at *field.Path) (step, error) {
	program, err := environment.Compile(m.Expression, cel.DynType)
	if err != nil {
		return nil, errors.Wrap(err, at.Child("expression").String())
	}
	return setting(m.Path, at, func(found gjson.Result, self map[string]any, s sides) (any, error) {
		var value any
		if found.Exists() {
			if err := utiljson.Unmarshal([]byte(found.Raw), &value); err != nil {
				return nil, errors.New("the value cannot be read")
			}
		}
		out, err := program.Eval(map[string]any{"value": value, "self": self, "other": s.other})
		if err != nil {
			return nil, err
		}
		return program.JSON(out)
	})
}

// setting returns a step that sets a value to what is made of that and of the object as it is before the step.
func setting(path v1alpha1.MutationPath, at *field.Path,
	by func(found gjson.Result, self map[string]any, s sides) (any, error),
) (step, error) {
	p, err := jsonpath.ParseTarget(string(path))
	return func(document []byte, s sides) ([]byte, error) {
		self, err := decode(document)
		if err != nil {
			return nil, err
		}
		value, err := by(p.Get(document), self, s)
		if err != nil {
			return nil, err
		}
		raw, err := encode(value)
		if err != nil {
			return nil, err
		}
		return p.Set(document, sizeMax, string(raw))
	}, errors.Wrap(err, at.Child("path").String())
}
