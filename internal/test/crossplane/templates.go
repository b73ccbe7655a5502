package crossplane

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/pkg/errors"
	"google.golang.org/protobuf/encoding/protojson"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// templateName is the annotation that gives a resource its name within a composite resource.
const templateName = "gotemplating.fn.crossplane.io/composition-resource-name"

// templates is the function go-templating as far as the guides use it: a template in its input, with the functions of
// sprig and setResourceNameAnnotation. The module of the real one cannot be had.
type templates struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// RunFunction renders the resources of a composite resource.
func (templates) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	in := &struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Source     string `json:"source"`
		Inline     struct {
			Template string `json:"template"`
		} `json:"inline"`
	}{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(req.GetInput().AsMap(), in,
		true); err != nil {
		return nil, errors.Wrap(err, "cannot parse input")
	}
	text, err := execute(in.Inline.Template, req)
	if err != nil {
		return nil, err
	}
	xr := &unstructured.Unstructured{Object: req.GetObserved().GetComposite().GetResource().AsMap()}
	status, rendered := map[string]any{}, map[string]map[string]any{}
	for d := yaml.NewYAMLOrJSONDecoder(text, text.Len()); ; {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return respond(req, status, rendered)
		}
		if err != nil {
			return nil, errors.Wrap(err, "cannot parse what the template makes")
		}
		if u.GroupVersionKind() == xr.GroupVersionKind() {
			status["status"] = u.Object["status"]
			continue
		}
		annotations := u.GetAnnotations()
		name := annotations[templateName]
		if name == "" {
			return nil, errors.Errorf("%s %q has no annotation %s", u.GetKind(), u.GetName(), templateName)
		}
		delete(annotations, templateName)
		u.SetAnnotations(annotations)
		rendered[name] = u.Object
	}
}

// execute returns what a template makes of a request.
func execute(text string, req *fnv1.RunFunctionRequest) (*bytes.Buffer, error) {
	t, err := template.New("").Funcs(sprig.TxtFuncMap()).Funcs(template.FuncMap{
		"setResourceNameAnnotation": func(name string) string { return templateName + ": " + name },
	}).Parse(text)
	if err != nil {
		return nil, errors.Wrap(err, "cannot parse template")
	}
	encoded, err := protojson.Marshal(req)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode request")
	}
	var data map[string]any
	if err := json.Unmarshal(encoded, &data); err != nil {
		return nil, errors.Wrap(err, "cannot decode request")
	}
	b := &bytes.Buffer{}
	return b, errors.Wrap(t.Execute(b, data), "cannot execute template")
}
