package controller

import (
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	syncagentv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// conditioned is a resource of ours with conditions.
type conditioned interface {
	client.Object
	GetCondition(t xpv2.ConditionType) xpv2.Condition
}

// loggedConditions are the types of conditions whose failures are logged.
var loggedConditions = []xpv2.ConditionType{
	xpv2.TypeSynced, xpv2.TypeReady, syncagentv1alpha1.TypeSchemaPublished, syncagentv1alpha1.TypeExportUpdated,
	syncagentv1alpha1.TypeEndpointsReady, syncagentv1alpha1.TypeClaimsAccepted,
}

// expectedReasons are reasons for which a condition is False on the way, or because somebody wants it.
var expectedReasons = []xpv2.ConditionReason{
	xpv2.ReasonReconcilePaused, xpv2.ReasonCreating, xpv2.ReasonDeleting, xpv2.ReasonUnavailable,
	syncagentv1alpha1.ReasonNotPublished, syncagentv1alpha1.ReasonNotUpdated,
}

// isFailure reports whether a condition means that somebody may have to act.
func isFailure(c xpv2.Condition) bool {
	return c.Status == corev1.ConditionFalse && !slices.Contains(expectedReasons, c.Reason)
}

// failureLog returns what logs a line for each condition of a resource that turns to a failure or back, as changes of
// resources tell. works reports whether this replica writes the conditions of a resource; else another one logs them.
func failureLog(log logging.Logger, kind schema.GroupKind, works func(client.Object) bool) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, now any) {
		was, ok := old.(conditioned)
		is, same := now.(conditioned)
		if !ok || !same || was.GetUID() != is.GetUID() || !works(is) {
			return
		}
		for _, t := range loggedConditions {
			before, after := was.GetCondition(t), is.GetCondition(t)
			if isFailure(before) == isFailure(after) {
				continue
			}
			message := "Condition no longer fails"
			if isFailure(after) {
				message = "Condition has failed"
			}
			log.Info(message, "kind", kind.String(), "namespace", is.GetNamespace(), "name", is.GetName(),
				"providerConfig", configOf(is), "condition", string(t), "reason", string(after.Reason), "message", after.Message)
		}
	}}
}

// configOf returns the name of the ProviderConfig that a resource refers to, and its kind if that is chosen.
func configOf(o conditioned) string {
	switch ref := scope.ConfigRef(o).(type) {
	case *xpv2.Reference:
		return ref.Name
	case *xpv2.ProviderConfigReference:
		return ref.Kind + "/" + ref.Name
	}
	return ""
}
