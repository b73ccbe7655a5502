package readiness

import (
	"fmt"
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
		return caughtUp(u, fromReadyCondition(conditions(u)), "Ready"), nil
	case commonv1.ReadinessAllTrue:
		return caughtUp(u, fromAllConditions(conditions(u)), ""), nil
	case commonv1.ReadinessDeriveFromCelQuery:
		return fromQuery(r.CelQuery, u), nil
	}
	return Verdict{}, errors.Errorf("readiness policy %q is unknown", r.Policy)
}

// caughtUp returns a verdict on a resource whose controller has seen its generation, as far as the status tells that.
// Otherwise the resource is not ready: its conditions are of a former spec. Only a status that does not tell goes by
// what the conditions tell, of one type or, if that is empty, of all.
func caughtUp(u *unstructured.Unstructured, v Verdict, conditionType string) Verdict {
	now := u.GetGeneration()
	if !v.Ready {
		return v
	}
	observed, found, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	if !found {
		observed = now
		list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, item := range list {
			c, _ := item.(map[string]any)
			if g, ok := c["observedGeneration"].(int64); ok && (conditionType == "" || c["type"] == conditionType) {
				observed = min(observed, g)
			}
		}
	}
	if observed < now {
		return Verdict{Message: fmt.Sprintf("The resource is at generation %d, and its status still of generation %d",
			now, observed)}
	}
	return v
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
