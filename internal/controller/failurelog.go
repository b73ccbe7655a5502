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

// A failureLog logs a line for each condition of a resource that turns to a failure or back. It reads the changes that
// informers deliver, so that it needs no state and makes no request.
//
// What failed before this replica began to lead is not logged again. Logging all of it was rejected: a target that is
// down has thousands of lines at each start, and conditions show the same.
type failureLog struct {
	log     logging.Logger
	kind    schema.GroupVersionKind
	elected <-chan struct{}          // closed when this replica leads
	owned   func(client.Object) bool // reports whether a resource is this replica's, nil if all are
}

// OnAdd logs what is wrong with a resource that fails when it is first seen.
func (l failureLog) OnAdd(is any, initial bool) {
	if o, ok := is.(conditioned); ok && !initial {
		l.compare(nil, o)
	}
}

// OnUpdate logs what has become wrong with a resource, and what is well again.
func (l failureLog) OnUpdate(was, is any) {
	before, ok := was.(conditioned)
	after, same := is.(conditioned)
	if ok && same && before.GetUID() == after.GetUID() {
		l.compare(before, after)
	}
}

// OnDelete logs nothing: a deletion is no failure.
func (failureLog) OnDelete(any) {}

var _ cache.ResourceEventHandler = failureLog{}

func (l failureLog) compare(was, is conditioned) {
	select {
	case <-l.elected:
	default:
		return // The leader logs it.
	}
	if l.owned != nil && !l.owned(is) {
		return // So does the replica that has its slot.
	}
	for _, t := range loggedConditions {
		before, after := xpv2.Condition{Type: t}, is.GetCondition(t)
		if was != nil {
			before = was.GetCondition(t)
		}
		switch {
		case isFailure(before) == isFailure(after):
		case isFailure(after):
			l.log.Info("Condition has failed", append(l.about(is, t), "reason", string(after.Reason),
				"message", after.Message)...)
		default:
			l.log.Info("Condition fails no more", append(l.about(is, t), "reason", string(after.Reason),
				"failed", string(before.Reason))...)
		}
	}
}

// loggedConditions are the types of conditions whose failures are logged: those of all resources, and what a
// PublishedResource has beside them.
var loggedConditions = []xpv2.ConditionType{
	xpv2.TypeSynced, xpv2.TypeReady, syncagentv1alpha1.TypeSchemaPublished, syncagentv1alpha1.TypeExportUpdated,
	syncagentv1alpha1.TypeEndpointsReady, syncagentv1alpha1.TypeClaimsAccepted,
}

// expectedReasons are reasons for which a condition is False on the way, or because somebody wants it.
var expectedReasons = map[xpv2.ConditionType][]xpv2.ConditionReason{
	xpv2.TypeSynced:                       {xpv2.ReasonReconcilePaused},
	xpv2.TypeReady:                        {xpv2.ReasonCreating, xpv2.ReasonDeleting, xpv2.ReasonUnavailable},
	syncagentv1alpha1.TypeSchemaPublished: {syncagentv1alpha1.ReasonNotPublished},
	syncagentv1alpha1.TypeExportUpdated:   {syncagentv1alpha1.ReasonNotUpdated},
}

// about returns what names a condition of a resource in a line of the log.
func (l failureLog) about(o conditioned, t xpv2.ConditionType) []any {
	values := []any{"kind", l.kind.GroupKind().String(), "name", o.GetName(), "condition", string(t)}
	if o.GetNamespace() != "" {
		values = append(values, "namespace", o.GetNamespace())
	}
	if config := configOf(o); config != "" {
		values = append(values, "providerConfig", config)
	}
	return values
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

// isFailure reports whether a condition means that somebody may have to act. A resource that is not ready yet, or that
// is being deleted, is on its way, and a pause is somebody's wish.
func isFailure(c xpv2.Condition) bool {
	return c.Status == corev1.ConditionFalse && !slices.Contains(expectedReasons[c.Type], c.Reason)
}
