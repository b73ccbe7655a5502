package readiness

import (
	"sort"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// A Verdict reports whether a resource is ready and, if it is not, why: a message for users, without a final dot.
type Verdict struct {
	Ready   bool
	Message string
}

// Of returns the verdict of a policy on a resource. An empty policy is SuccessfulCreate, which any existing resource
// satisfies. The error says that the policy is not one this package knows.
func Of(r commonv1.Readiness, u *unstructured.Unstructured) (Verdict, error) {
	switch r.Policy {
	case commonv1.ReadinessSuccessfulCreate, "":
		return Verdict{Ready: true}, nil
	case commonv1.ReadinessDeriveFromObject:
		return fromReadyCondition(conditions(u)), nil
	case commonv1.ReadinessAllTrue:
		return fromAllConditions(conditions(u)), nil
	case commonv1.ReadinessDeriveFromCelQuery:
		return fromQuery(r.CelQuery, u), nil
	}
	return Verdict{}, errors.Errorf("readiness policy %q is unknown", r.Policy)
}

func fromQuery(query string, u *unstructured.Unstructured) Verdict {
	ready, err := Query(query, u.Object)
	if err != nil {
		return Verdict{Message: err.Error()}
	}
	if !ready {
		return Verdict{Message: "The CEL query is false"}
	}
	return Verdict{Ready: true}
}

func fromReadyCondition(statuses map[string]string) Verdict {
	switch s, ok := statuses["Ready"]; {
	case !ok:
		return Verdict{Message: "The resource has no condition Ready"}
	case s != "True":
		return Verdict{Message: "Condition Ready of the resource is " + s}
	}
	return Verdict{Ready: true}
}

func fromAllConditions(statuses map[string]string) Verdict {
	if len(statuses) == 0 {
		return Verdict{Message: "The resource has no conditions"}
	}
	var not []string
	for t, s := range statuses {
		if s != "True" {
			not = append(not, t)
		}
	}
	if len(not) == 0 {
		return Verdict{Ready: true}
	}
	sort.Strings(not)
	return Verdict{Message: "Conditions of the resource are not True: " + strings.Join(not, ", ")}
}

// conditions returns the status of each condition by its type. Malformed conditions are left out.
func conditions(u *unstructured.Unstructured) map[string]string {
	// What is no list holds no conditions.
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	statuses := map[string]string{}
	for _, item := range list {
		c, ok := item.(map[string]any)
		if !ok {
			continue
		}
		t, okType := c["type"].(string)
		s, okStatus := c["status"].(string)
		if okType && okStatus {
			statuses[t] = s
		}
	}
	return statuses
}
