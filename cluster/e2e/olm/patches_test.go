package olm

import (
	"context"
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/pkg/errors"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/runtime"
)

// patches is the function patch-and-transform as far as the stacks use it: optional patches from fields of a composite
// resource, which a format may change. The module of the real one cannot be had. That the stacks mean to the real one
// what they mean here, Crossplane 1 shows, which has the same by itself.
type patches struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// An input is that of patch-and-transform.
type input struct {
	Resources []struct {
		Name    string         `json:"name"`
		Base    map[string]any `json:"base"`
		Patches []struct {
			FromFieldPath string `json:"fromFieldPath"`
			ToFieldPath   string `json:"toFieldPath"`
			Transforms    []struct {
				String struct {
					Fmt string `json:"fmt"`
				} `json:"string"`
			} `json:"transforms"`
		} `json:"patches"`
	} `json:"resources"`
}

// RunFunction renders the resources of a composite resource.
func (patches) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	in := &input{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(req.GetInput().AsMap(), in); err != nil {
		return nil, errors.Wrap(err, "cannot parse input")
	}
	xr := fieldpath.Pave(req.GetObserved().GetComposite().GetResource().AsMap())
	desired := &fnv1.State{Resources: map[string]*fnv1.Resource{}}
	if d, ok := proto.Clone(req.GetDesired()).(*fnv1.State); ok && d != nil {
		desired.Composite = d.GetComposite()
	}
	for _, r := range in.Resources {
		base := fieldpath.Pave(r.Base)
		for _, p := range r.Patches {
			v, err := xr.GetValue(p.FromFieldPath)
			if fieldpath.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, errors.Wrapf(err, "cannot read %s", p.FromFieldPath)
			}
			for _, t := range p.Transforms {
				v = fmt.Sprintf(t.String.Fmt, v)
			}
			if err := base.SetValue(p.ToFieldPath, v); err != nil {
				return nil, errors.Wrapf(err, "cannot set %s", p.ToFieldPath)
			}
		}
		s, err := structpb.NewStruct(base.UnstructuredContent())
		if err != nil {
			return nil, errors.Wrapf(err, "cannot encode %s", r.Name)
		}
		desired.Resources[r.Name] = &fnv1.Resource{Resource: s}
	}
	meta := &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(soon)}
	return &fnv1.RunFunctionResponse{Meta: meta, Desired: desired}, nil
}
