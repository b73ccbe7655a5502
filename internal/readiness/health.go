package readiness

import (
	"cmp"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// Health is whether a resource works, as far as it shows that itself.
type Health struct {
	// Reason is that of condition Healthy: ReasonHealthy, ReasonProgressing, ReasonFailed or ReasonUnknown of commonv1.
	Reason xpv2.ConditionReason
	// Message says why, to users and without a final dot. It may be words of the resource, of any length. It is empty if
	// the resource shows that it is healthy.
	Message string
}

// Verdict returns the verdict of policy DeriveFromHealth: a resource is ready while it is healthy.
func (h Health) Verdict() Verdict {
	switch h.Reason { //nolint:exhaustive // The others say it in their messages.
	case commonv1.ReasonProgressing:
		h.Message = strings.TrimSuffix("In progress: "+h.Message, ": ")
	case commonv1.ReasonFailed:
		h.Message = strings.TrimSuffix("Failed: "+h.Message, ": ")
	}
	return Verdict{Ready: h.Reason == commonv1.ReasonHealthy, Message: h.Message}
}

// HealthOf returns the health of a resource as it is on its server, with its status: neither that of a manifest, nor of
// what is left of a resource that was too large to be shown. Whole numbers are int64, as in any unstructured resource.
//
// hasStatus says that its server serves subresource status of its kind (clusters.Mapping has it): then the resource is
// in progress until somebody has written a status, where one without is healthy once it exists. Where that is not
// known, false takes a resource that nobody has looked at yet for healthy, and true takes one that never gets a status
// for one in progress.
//
// There is always an answer. A status that cannot be read gives ReasonUnknown, and a message that quotes nothing of it.
// The resource is not changed.
func HealthOf(u *unstructured.Unstructured, hasStatus bool) (h Health) {
	defer func() {
		if recover() != nil { // kstatus takes it that servers validate Pods, which a target may not do.
			h = Health{commonv1.ReasonUnknown, "its health cannot be told: status is malformed"}
		}
	}()
	if m := deletionOf(u); m != "" {
		return Health{commonv1.ReasonProgressing, m}
	}
	u = withNumber(u)
	found, err := status.Compute(u)
	if err != nil {
		field := "status"
		if _, err := status.GetObjectWithConditions(u.Object); err != nil {
			field = "status.conditions"
		}
		return Health{commonv1.ReasonUnknown, "its health cannot be told: " + field + " is malformed"}
	}
	h = Health{commonv1.ReasonProgressing, found.Message}
	switch found.Status { //nolint:exhaustive // The others mean that it does not work yet, or not for long.
	case status.CurrentStatus:
		h.Reason = commonv1.ReasonHealthy
	case status.FailedStatus:
		h.Reason = commonv1.ReasonFailed
	}
	for _, c := range found.Conditions {
		h.Message = cmp.Or(h.Message, c.Reason)
	}
	if status.GetLegacyConditionsFn(u) != nil {
		return correct(h, u)
	}
	ready := fromConditions(u, "Ready")
	switch {
	case h.Reason != commonv1.ReasonHealthy:
	case h.Message == "Resource is Ready" && !ready.Ready: // Of a former generation, as conditions may tell.
		return Health{commonv1.ReasonProgressing, ready.Message}
	case ready.Ready:
		h.Message = ""
	case hasStatus && u.Object["status"] == nil:
		return Health{commonv1.ReasonProgressing, "the resource has no status yet"}
	default:
		h.Message = "the resource exists, and has no status that reports its health"
	}
	return h
}

// correct returns the health of a resource that kstatus has a rule for, where that rule takes for healthy what does not
// work, or not yet.
func correct(h Health, u *unstructured.Unstructured) Health {
	kind, isHealthy := u.GroupVersionKind().GroupKind().String(), h.Reason == commonv1.ReasonHealthy
	get := func(path string) string { return status.GetStringField(u.Object, path, "") }
	suspended, _, _ := unstructured.NestedBool(u.Object, "spec", "suspend")
	addresses, _, _ := unstructured.NestedSlice(u.Object, "status", "loadBalancer", "ingress")
	switch {
	case kind == "Job.batch" && suspended && fromConditions(u, "Suspended").Ready:
		h.Reason = commonv1.ReasonHealthy
	case kind == "Job.batch" && isHealthy && !fromConditions(u, "Complete").Ready:
		h.Reason = commonv1.ReasonProgressing
	case kind == "Pod" && isHealthy && get(".status.phase") == "Failed":
		h.Reason = commonv1.ReasonFailed
	case kind == "Service" && isHealthy && get(".spec.type") == "LoadBalancer" && len(addresses) == 0:
		return Health{commonv1.ReasonProgressing, "the load balancer has no address yet"}
	}
	if h.Reason == commonv1.ReasonHealthy {
		h.Message = ""
	}
	return h
}
