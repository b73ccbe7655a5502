package objectsync

import (
	"fmt"
	"slices"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// Reasons of events, as api-syncagent has them.
const (
	ReasonAccepted     = "ObjectAccepted"
	ReasonPlaced       = "ObjectPlaced"
	ReasonSynced       = "ObjectSynced"
	ReasonStatusSynced = "ObjectStatusSynced"
	ReasonCleanup      = "ObjectCleanup"
	ReasonDeleted      = "ObjectDeleted"
)

// Reasons of warnings.
const (
	ReasonNameTaken    = "NameTaken"
	ReasonRefused      = "RelatedObjectRefused"
	ReasonInvalidName  = "InvalidName"
	ReasonCannotMutate = "CannotTransform"
	ReasonTooLarge     = "ObjectTooLarge"
	ReasonRejected     = "ObjectRejected"
	ReasonCannotSync   = "ReconcilingError"
	// ReasonInvalidRelated means that the names of related objects in an object cannot be used.
	ReasonInvalidRelated = "InvalidRelatedName"
	// ReasonClaimMissing means that the workspace has not accepted a permission claim, ReasonNoRoom that a quota is used
	// up, and ReasonWorkspaceLimit that a workspace has as much as this provider lets it have.
	ReasonClaimMissing   = "PermissionClaimNotAccepted"
	ReasonNoRoom         = "QuotaExceeded"
	ReasonWorkspaceLimit = "WorkspaceLimitReached"
)

// An Event is for the consumer. Its message tells nothing of the service cluster.
type Event struct{ Type, Reason, Message string }

// tell adds what the consumer is told.
func (r *Result) tell(reason, message string) {
	r.Events = append(r.Events, Event{Type: corev1.EventTypeNormal, Reason: reason, Message: message})
}

// warning is what a consumer is told of an error.
type warning struct {
	cause           error
	reason, message string
}

// warnings are what consumers are told of errors they may be able to do something about.
var warnings = []warning{
	{
		ErrClosed, ReasonRefused,
		"This object names a related object of others. Use another name, or ask the provider of the service",
	},
	{
		ErrForeign, ReasonNameTaken,
		"The name of this object or of a related one is in use for another object. Use another name",
	},
	{ErrExists, ReasonNameTaken, "The name of this object is in use with the provider of the service. Use another name"},
	{ErrTooLarge, ReasonTooLarge, "This object and its related objects are too large. Make them smaller"},
	{related.ErrTooMany, ReasonTooLarge, fmt.Sprintf("This object refers to more than %d related objects. Refer to fewer",
		related.Max)},
	{
		ErrTooManyNamespaces, ReasonWorkspaceLimit,
		fmt.Sprintf("The objects of this workspace refer to related objects in more than %d namespaces. Refer to fewer",
			NamespacesMax),
	},
	{
		ErrNoRoom, ReasonWorkspaceLimit,
		fmt.Sprintf("The objects of this workspace refer to more than %d related objects, or "+
			"have more than %d MiB with them. Refer to fewer, or make them smaller", RoomMost/bytesPerName, RoomMost>>20),
	},
	{
		related.ErrNoNamespace, ReasonCannotSync,
		"Related objects have no namespace. Only the provider of the service can change that",
	},
	{
		related.ErrUneven, ReasonInvalidRelated,
		"A list of this object names more or fewer related objects than the service does. Give both as many, or ask the " +
			"provider of the service",
	},
	{
		related.ErrInvalidName, ReasonInvalidRelated,
		"A name of a related object in this object is no valid name. Correct it",
	},
	{
		ErrCredential, ReasonRefused,
		"A Secret that holds a token for a cluster is not copied. Use a Secret of another type",
	},
	{
		naming.ErrInvalidName, ReasonInvalidName,
		"The name of this object cannot be used with the provider of the service. Use another name",
	},
	{
		mutation.ErrFailed, ReasonCannotMutate,
		"The content of this object is not what the provider of the service expects. Check its fields",
	},
	{
		gotemplate.ErrFailed, ReasonCannotMutate,
		"This object lacks what the provider of the service needs, or has it in another form. Change it, or ask the " +
			"provider of the service",
	},
	{jsonpath.ErrTooLong, ReasonTooLarge, "A text in this object is too long to be processed. Make it shorter"},
	{gotemplate.ErrTooCostly, ReasonTooLarge, "This object is too large to be processed. Make it smaller"},
}

// IsLasting reports whether only a change of the object, of what has its name, of a right or of the spec cures an
// error.
func IsLasting(err error) bool {
	return RefusalOf(err) != nil || errors.Is(err, ErrAmbiguous) ||
		slices.ContainsFunc(warnings, func(w warning) bool { return errors.Is(err, w.cause) })
}

// ReasonOf returns the reason of the Warning that a consumer gets for an error, empty if it gets none.
func ReasonOf(err error) string {
	reason, _ := warningOf(err)
	return reason
}

// warningOf returns what a consumer is told of an error. Of conflicts and of what is not known yet, nothing is told.
func warningOf(err error) (reason, message string) {
	for _, w := range warnings {
		if errors.Is(err, w.cause) {
			return w.reason, w.message
		}
	}
	switch r := RefusalOf(err); {
	case err == nil, apierrors.IsConflict(err), errors.Is(err, ErrEnding):
		return "", ""
	case r != nil:
		return refusalWarning(r)
	}
	return ReasonCannotSync, "This object cannot be processed for now. It is tried again"
}
