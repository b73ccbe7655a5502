package crossplane

import (
	"context"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/pkg/errors"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/runtime"
)

// patches is the function patch-and-transform as far as the examples use it: patches between fields of a composite
// resource and of what it is made of, which a format may change. The module of the real one cannot be had. That the
// examples mean to the real one what they mean here, Crossplane 1 shows, which has the same by itself. What it does not
// know it refuses.
type patches struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// An input is that of patch-and-transform.
type input struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	PatchSets  []struct {
		Name    string  `json:"name"`
		Patches []patch `json:"patches"`
	} `json:"patchSets"`
	Resources []struct {
		Name    string         `json:"name"`
		Base    map[string]any `json:"base"`
		Patches []patch        `json:"patches"`
	} `json:"resources"`
}

// A patch writes one field.
type patch struct {
	Type          string `json:"type"`
	PatchSetName  string `json:"patchSetName"`
	FromFieldPath string `json:"fromFieldPath"`
	Combine       struct {
		Variables []struct {
			FromFieldPath string `json:"fromFieldPath"`
		} `json:"variables"`
		Strategy string `json:"strategy"`
		String   struct {
			Fmt string `json:"fmt"`
		} `json:"string"`
	} `json:"combine"`
	ToFieldPath string `json:"toFieldPath"`
	Policy      struct {
		FromFieldPath string `json:"fromFieldPath"`
	} `json:"policy"`
	Transforms []struct {
		Type   string `json:"type"`
		String struct {
			Type string `json:"type"`
			Fmt  string `json:"fmt"`
		} `json:"string"`
	} `json:"transforms"`
}

// RunFunction renders the resources of a composite resource.
func (patches) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	in := &input{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(req.GetInput().AsMap(), in,
		true); err != nil {
		return nil, errors.Wrap(err, "cannot parse input")
	}
	xr := fieldpath.Pave(req.GetObserved().GetComposite().GetResource().AsMap())
	status := fieldpath.Pave(map[string]any{})
	rendered := map[string]map[string]any{}
	for _, r := range in.Resources {
		base := fieldpath.Pave(r.Base)
		var seen *fieldpath.Paved
		if o := req.GetObserved().GetResources()[r.Name]; o != nil {
			seen = fieldpath.Pave(o.GetResource().AsMap())
		}
		for _, p := range in.flat(r.Patches) {
			from, to := xr, base
			if p.Type == "ToCompositeFieldPath" {
				from, to = seen, status
			}
			if from == nil {
				continue
			}
			if err := p.apply(from, to); err != nil {
				return nil, errors.Wrapf(err, "cannot patch %s", r.Name)
			}
		}
		rendered[r.Name] = base.UnstructuredContent()
	}
	return respond(req, status.UnstructuredContent(), rendered)
}

// flat returns patches with those of the sets they name.
func (in *input) flat(all []patch) []patch {
	var out []patch
	for _, p := range all {
		if p.Type != "PatchSet" {
			out = append(out, p)
			continue
		}
		for _, s := range in.PatchSets {
			if s.Name == p.PatchSetName {
				out = append(out, s.Patches...)
			}
		}
	}
	return out
}

// apply writes a field. It does nothing if one that it is made of is missing, unless the policy requires it.
func (p patch) apply(from, to *fieldpath.Paved) error {
	var v any
	var err error
	switch p.Type {
	case "", "FromCompositeFieldPath", "ToCompositeFieldPath":
		v, err = from.GetValue(p.FromFieldPath)
	case "CombineFromComposite":
		v, err = p.combine(from)
	default:
		return errors.Errorf("unknown type of patch %q", p.Type)
	}
	if fieldpath.IsNotFound(err) && p.Policy.FromFieldPath != "Required" {
		return nil
	}
	if err != nil {
		return errors.Wrapf(err, "cannot read what makes %s", p.ToFieldPath)
	}
	for _, t := range p.Transforms {
		v = fmt.Sprintf(t.String.Fmt, v)
	}
	return errors.Wrapf(to.SetValue(p.ToFieldPath, v), "cannot set %s", p.ToFieldPath)
}

// combine returns the fields of a combination in its format.
func (p patch) combine(from *fieldpath.Paved) (any, error) {
	var all []any
	for _, f := range p.Combine.Variables {
		v, err := from.GetValue(f.FromFieldPath)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return fmt.Sprintf(p.Combine.String.Fmt, all...), nil
}

// respond returns the answer of the first function that says anything of the composite resource: its status, and what
// it is made of.
func respond(req *fnv1.RunFunctionRequest, status map[string]any, rendered map[string]map[string]any,
) (*fnv1.RunFunctionResponse, error) {
	of, err := structpb.NewStruct(status)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode status")
	}
	desired := &fnv1.State{
		Composite: &fnv1.Resource{Resource: of}, Resources: map[string]*fnv1.Resource{},
	}
	for name, r := range rendered {
		s, err := structpb.NewStruct(r)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot encode %s", name)
		}
		desired.Resources[name] = &fnv1.Resource{Resource: s}
	}
	meta := &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(soon)}
	return &fnv1.RunFunctionResponse{Meta: meta, Desired: desired}, nil
}
