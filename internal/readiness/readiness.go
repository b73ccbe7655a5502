package readiness

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/expression"
)

// A Verdict reports whether a resource is ready, and why or what to know of it, if there is anything to say: a message
// for users, without a final dot.
type Verdict struct {
	Ready   bool
	Message string
}

// Of returns the verdict of a policy on a resource. An empty policy is DeriveFromCelQuery if there is a query, and
// SuccessfulCreate if there is none, which any existing resource satisfies. A resource that is being deleted satisfies
// none. hasStatus is that of HealthOf.
func Of(r commonv1.Readiness, u *unstructured.Unstructured, hasStatus bool) Verdict {
	if m := deletionOf(u); m != "" {
		return Verdict{Message: m}
	}
	if r.Policy == "" && r.CelQuery != "" {
		r.Policy = commonv1.ReadinessDeriveFromCelQuery
	}
	switch r.Policy {
	case commonv1.ReadinessSuccessfulCreate, "":
		if r.CelQuery != "" { // provider-kubernetes has stored this policy where nobody has named one.
			return Verdict{Ready: true, Message: "celQuery is ignored, because policy is SuccessfulCreate: set policy to " +
				"DeriveFromCelQuery"}
		}
		return Verdict{Ready: true}
	case commonv1.ReadinessDeriveFromObject:
		return fromConditions(u, "Ready")
	case commonv1.ReadinessAllTrue:
		return fromConditions(u, "")
	case commonv1.ReadinessDeriveFromCelQuery:
		return fromQuery(r.CelQuery, u)
	case commonv1.ReadinessDeriveFromHealth:
		return HealthOf(u, hasStatus).Verdict()
	}
	return Verdict{Message: fmt.Sprintf("readiness policy %q is unknown", r.Policy)}
}

// OfCondition returns the verdict of one condition of a resource, as policy DeriveFromObject does of Ready.
func OfCondition(u *unstructured.Unstructured, t xpv2.ConditionType) Verdict {
	if m := deletionOf(u); m != "" {
		return Verdict{Message: m}
	}
	return fromConditions(u, string(t))
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

// fromConditions returns a verdict by the conditions of a resource: by that of one type or, if that is empty, by all.
// Malformed ones are left out. While the controller of the resource has not seen its generation, as far as the status
// tells that, the resource is not ready: its conditions are of a former spec. Only a status that does not tell goes by
// what the conditions tell that count.
func fromConditions(u *unstructured.Unstructured, only string) Verdict {
	u = withNumber(u)
	now := u.GetGeneration()
	seen, statuses := now, map[string]string{}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions") // What is no list holds none.
	for _, item := range list {
		c, _ := item.(map[string]any)
		t, isType := c["type"].(string)
		s, isStatus := c["status"].(string)
		if !isType || !isStatus || only != "" && t != only {
			continue
		}
		statuses[t] = s
		if g, ok := c["observedGeneration"].(int64); ok {
			seen = min(seen, g)
		}
	}
	if observed, ok, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); ok {
		seen = observed
	}
	not := slices.DeleteFunc(slices.Sorted(maps.Keys(statuses)), func(t string) bool { return statuses[t] == "True" })
	switch {
	case len(statuses) == 0 && only != "":
		return Verdict{Message: "The resource has no condition " + only}
	case len(statuses) == 0:
		return Verdict{Message: "The resource has no conditions"}
	case len(not) > 0 && only != "":
		return Verdict{Message: "Condition " + only + " of the resource is " + statuses[only]}
	case len(not) > 0:
		return Verdict{Message: "Conditions of the resource are not True: " + strings.Join(not, ", ")}
	case seen < now:
		return Verdict{Message: fmt.Sprintf("The resource is at generation %d, but its status is of generation %d: its "+
			"controller has not processed the change yet",
			now, seen)}
	}
	return Verdict{Ready: true}
}

// withNumber returns a resource whose status has its observed generation as a number. Argo Rollouts writes a text. It
// does not change the given one.
func withNumber(u *unstructured.Unstructured) *unstructured.Unstructured {
	text, _, _ := unstructured.NestedString(u.Object, "status", "observedGeneration")
	g, err := strconv.ParseInt(text, 10, 64)
	status, ok := u.Object["status"].(map[string]any)
	if err != nil || !ok {
		return u
	}
	content := maps.Clone(u.Object)
	status = maps.Clone(status)
	content["status"], status["observedGeneration"] = status, g
	return &unstructured.Unstructured{Object: content}
}

// programsMax is how many queries are kept compiled.
const programsMax = 500

// variable is the name of the resource in a query.
const variable = "object"

// programs are the queries that were used last, compiled or found invalid, by their text.
var programs = lru.New(programsMax)

// environment is what queries are compiled in.
var environment = expression.NewEnvironment("CEL query", variable)

// A query is one that was compiled, or an error instead.
type query struct {
	program *expression.Program
	err     error
}

// Query answers a query about a resource: true or false. The resource is neither copied nor changed. The text of an
// error quotes nothing of the resource.
func Query(text string, object map[string]any) (bool, error) {
	q := compiled(text)
	if q.err != nil {
		return false, q.err
	}
	out, err := q.program.Eval(map[string]any{variable: object})
	if err != nil {
		return false, err
	}
	answer, ok := out.(types.Bool)
	if !ok {
		return false, errors.Errorf("CEL query does not return a bool: it returns a value of type %s", out.Type().TypeName())
	}
	return bool(answer), nil
}

// CheckQuery returns the error of a query that is invalid, whatever it is asked about.
func CheckQuery(text string) error { return compiled(text).err }

// compiled returns a query, from memory if it was asked before.
func compiled(text string) *query {
	if known, ok := programs.Get(text); ok {
		if q, ok := known.(*query); ok {
			return q
		}
	}
	q := &query{}
	q.program, q.err = environment.Compile(text, cel.BoolType)
	programs.Add(text, q)
	return q
}

// deletionOf returns what to say of a resource that is being deleted, empty if it is not.
func deletionOf(u *unstructured.Unstructured) string {
	if u.GetDeletionTimestamp() == nil {
		return ""
	}
	return strings.TrimSuffix("The resource is being deleted; "+DeletionBlockers(u), "; ")
}

// DeletionBlockers returns what keeps a resource that is being deleted, in words that follow the resource in a message:
// its finalizers, the time it has to end, and what its conditions say if they are about that. Empty if it is not being
// deleted.
func DeletionBlockers(live *unstructured.Unstructured) string {
	if live == nil || live.GetDeletionTimestamp() == nil {
		return ""
	}
	var parts []string
	if finalizers := slices.Sorted(slices.Values(live.GetFinalizers())); len(finalizers) > 0 {
		parts = append(parts, "finalizers: "+strings.Join(finalizers, ", "))
	}
	if grace := live.GetDeletionGracePeriodSeconds(); grace != nil && *grace > 0 {
		parts = append(parts, fmt.Sprintf("it has a grace period of %d s", *grace))
	}
	return strings.Join(append(parts, endingConditions(live)...), "; ")
}

// endingConditions returns the conditions of a resource that say why it is not gone: all that are True of a Namespace,
// and Terminating of others, such as CustomResourceDefinitions.
func endingConditions(live *unstructured.Unstructured) []string {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	var said []string
	isNamespace := live.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Namespace"}
	for _, x := range conditions {
		c, _ := x.(map[string]any)
		kind, _ := c["type"].(string)
		message, _ := c["message"].(string)
		if c["status"] != "True" || message == "" || !isNamespace && kind != "Terminating" {
			continue
		}
		said = append(said, kind+": "+strings.TrimSuffix(message, "."))
	}
	slices.Sort(said)
	return said
}
