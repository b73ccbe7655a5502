package crossplane

import (
	"context"
	"regexp"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/pkg/errors"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// conditions is the function status-transformer as far as the examples use it: conditions of a composite resource that
// follow from those of any resource it is composed of, where the first hook that matches has its way. The module of the
// real one cannot be had.
type conditions struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// A condition is one to look for, where what is empty matches everything, or to set.
type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// A transformation is the input of status-transformer.
type transformation struct {
	Hooks []struct {
		Matchers []struct {
			Type      string `json:"type"`
			Resources []struct {
				Name string `json:"name"`
			} `json:"resources"`
			Conditions []condition `json:"conditions"`
		} `json:"matchers"`
		SetConditions []struct {
			Condition condition `json:"condition"`
		} `json:"setConditions"`
	} `json:"statusConditionHooks"`
}

var statuses = map[string]fnv1.Status{
	"True": fnv1.Status_STATUS_CONDITION_TRUE, "False": fnv1.Status_STATUS_CONDITION_FALSE,
}

// RunFunction sets the conditions of a composite resource.
func (conditions) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	in := &transformation{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(req.GetInput().AsMap(), in); err != nil {
		return nil, errors.Wrap(err, "cannot parse input")
	}
	out := &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(soon)},
		Desired: req.GetDesired(), Context: req.GetContext(),
	}
	set := map[string]bool{}
	for _, hook := range in.Hooks {
		matched := true
		for _, m := range hook.Matchers {
			if len(m.Resources) != 1 || len(m.Conditions) != 1 || m.Type != "AnyResourceMatchesAllConditions" {
				return nil, errors.Errorf("matchers of type %q are not known here", m.Type)
			}
			name, err := regexp.Compile(m.Resources[0].Name)
			if err != nil {
				return nil, errors.Wrap(err, "cannot parse name")
			}
			matched = matched && m.Conditions[0].isOfAny(req.GetObserved().GetResources(), name)
		}
		for _, s := range hook.SetConditions {
			if matched && !set[s.Condition.Type] {
				set[s.Condition.Type] = true
				out.Conditions = append(out.Conditions, s.Condition.toSet())
			}
		}
	}
	return out, nil
}

// isOfAny reports whether one of the resources with a name has the condition.
func (c condition) isOfAny(resources map[string]*fnv1.Resource, name *regexp.Regexp) bool {
	for key, r := range resources {
		if !name.MatchString(key) {
			continue
		}
		all, _, _ := unstructured.NestedSlice(r.GetResource().AsMap(), "status", "conditions")
		for _, has := range all {
			m, ok := has.(map[string]any)
			if ok && m["type"] == c.Type && (c.Status == "" || m["status"] == c.Status) &&
				(c.Reason == "" || m["reason"] == c.Reason) {
				return true
			}
		}
	}
	return false
}

// toSet returns the condition for a composite resource and its claim.
func (c condition) toSet() *fnv1.Condition {
	return &fnv1.Condition{
		Type: c.Type, Status: statuses[c.Status], Reason: c.Reason, Message: &c.Message,
		Target: fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum(),
	}
}
