package objectsync

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/apply"
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
	ReasonContested    = "Contested"
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

// A warning is what a consumer is told of an error.
type warning struct {
	cause           error
	reason, message string
}

// warnings are what consumers are told of errors they may be able to do something about.
var warnings = []warning{
	{
		ErrClosed, ReasonRefused,
		"This object names a related object of another owner. Use another name, or ask the provider of the service",
	},
	{
		ErrForeign, ReasonNameTaken,
		"The name of this object or of a related one is in use for another object. Use another name",
	},
	{ErrExists, ReasonNameTaken, "The name of this object is in use with the provider of the service. Use another name"},
	{ErrTooLarge, ReasonTooLarge, tooLarge},
	{jsonpath.ErrTooLong, ReasonTooLarge, tooLarge},
	{gotemplate.ErrTooCostly, ReasonTooLarge, tooLarge},
	{related.ErrTooMany, ReasonTooLarge, fmt.Sprintf("This object refers to more than %d related objects. Refer to fewer",
		related.Max)},
	{
		ErrTooManyNamespaces, ReasonWorkspaceLimit,
		fmt.Sprintf("The objects of this workspace refer to related objects in more than %d namespaces. Refer to fewer",
			NamespacesMax),
	},
	{
		related.ErrInvalidName, ReasonInvalidRelated,
		"A name of a related object in this object, or the number of names, is not valid. Correct it, or ask the provider " +
			"of the service",
	},
	{
		ErrCredential, ReasonRefused,
		"A Secret that holds a token for a cluster is not copied. Use a Secret of another type",
	},
	{
		naming.ErrInvalidName, ReasonInvalidName,
		"The name of this object cannot be used with the provider of the service. Use another name",
	},
	{mutation.ErrFailed, ReasonCannotMutate, cannotMutate},
	{gotemplate.ErrFailed, ReasonCannotMutate, cannotMutate},
}

const (
	tooLarge = "This object, a text in it, or the object with its related objects is too large to be processed. Make it " +
		"smaller"
	cannotMutate = "A field that the provider of the service needs is missing or wrong in this object. Correct it, or " +
		"ask the provider of the service"
)

// WarningOf returns what a consumer is told of an error. Of conflicts and of what is not known yet, nothing is told.
func WarningOf(err error) (reason, message string) {
	for _, w := range warnings {
		if errors.Is(err, w.cause) {
			return w.reason, w.message
		}
	}
	switch r := RefusalOf(err); {
	case err == nil, apierrors.IsConflict(err):
		return "", ""
	case r != nil:
		return refusalWarning(r)
	}
	return ReasonCannotSync, "This object cannot be processed now. The provider of the service tries again"
}

// A RefusalCause tells what stands against a write, and so who can cure it.
type RefusalCause int

const (
	// RefusedByPolicy means that the server does not accept the content: validation, a webhook or a policy.
	RefusedByPolicy RefusalCause = iota
	// RefusedByQuota means that there is no room for the object.
	RefusedByQuota
	// RefusedByRights means that the provider may not write it: RBAC, or a permission claim that is not accepted.
	RefusedByRights
	// RefusedByOthers means that others undo a write again and again, so that it is repeated ever more slowly.
	RefusedByOthers
	// RefusedUnread means that the object stays as it is because we cannot read it. Its server refuses nothing.
	RefusedUnread
)

// A RefusalError is the answer of a server that decided against a write. The same write fails again until somebody
// changes something.
type RefusalError struct {
	error // the answer of the server

	// Workspace reports whether the workspace refuses, and not the service cluster.
	Workspace bool
	// Resource is what was to be written.
	Resource schema.GroupResource
	// Object is the related object it was written for, as the workspace has it. It has no name for all else.
	Object Ref
	// Cause tells what stands against it.
	Cause RefusalCause
}

// Unwrap returns the answer of the server.
func (r *RefusalError) Unwrap() error { return r.error }

// NewClaimRefusal returns the refusal of a workspace that has not accepted the permission claim for a resource, or not
// for all objects, and so hides what it has of it.
func NewClaimRefusal(r schema.GroupResource) *RefusalError {
	return &RefusalError{
		Workspace: true, Resource: r, Cause: RefusedByRights,
		error: errors.Errorf("the workspace has not accepted the permission claim for all %s", r),
	}
}

// NewUnreadRefusal returns the refusal of an object of the workspace, or else of the service cluster, that cannot be
// read. The error says why.
func NewUnreadRefusal(workspace bool, r schema.GroupResource, why error) *RefusalError {
	return &RefusalError{Workspace: workspace, Resource: r, Cause: RefusedUnread, error: why}
}

// NewContestedRefusal returns the refusal of what others in the workspace, or else on the service cluster, undo.
func NewContestedRefusal(workspace bool, r schema.GroupResource) *RefusalError {
	return &RefusalError{
		Workspace: workspace, Resource: r, Cause: RefusedByOthers,
		error: errors.Errorf("another client, such as a webhook, reverts %s again and again: the provider writes once a "+
			"minute until this stops", r),
	}
}

// RefusalOf returns the refusal that an error is caused by, nil if there is none.
func RefusalOf(err error) (r *RefusalError) {
	errors.As(err, &r)
	return r
}

// create creates an object.
func (s Side) create(ctx context.Context, r schema.GroupVersionResource, u *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	answer, err := s.Writer.Create(ctx, r, u)
	return answer, s.explain(err, r, u.Object)
}

// delete deletes an object if it has a UID, as the original, nil if there is none, asks for it. What is deleted in a
// workspace has its original on the service cluster, which has no say.
func (s Side) delete(ctx context.Context, o Ref, uid types.UID, asks *unstructured.Unstructured) error {
	var propagation metav1.DeletionPropagation
	if asks != nil && !s.ofWorkspace {
		switch asks.GetAnnotations()[AnnotationDeletionPropagation] {
		case "foreground":
			propagation = metav1.DeletePropagationForeground
		case "background":
			propagation = metav1.DeletePropagationBackground
		}
	}
	return s.explain(s.Writer.Delete(ctx, o, uid, propagation), o.GVR(), nil)
}

// patch sends a patch of an object as it was read, nil if that does not matter. It is a conflict if another object has
// taken the place of the one it is for.
func (s Side) patch(
	ctx context.Context, o Ref, u *unstructured.Unstructured, body map[string]any, subresources ...string,
) (*unstructured.Unstructured, error) {
	answer, err := s.Writer.Patch(ctx, o, patchFor(u, body), subresources...)
	var status apierrors.APIStatus
	if apierrors.IsInvalid(err) && errors.As(err, &status) && status.Status().Details != nil && slices.ContainsFunc(
		status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" }) {
		return nil, awaited(o)
	}
	return answer, errors.Wrapf(s.explain(err, o.GVR(), body), "cannot patch %s", o)
}

// explain returns what is said of an error of a write of some content. If the server has decided against the write, it
// is a RefusalError. It repeats nothing of a Secret, as it is shown to all who may read a PublishedResource.
func (s Side) explain(err error, r schema.GroupVersionResource, content map[string]any) error {
	forbidden := apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) &&
		!apply.IsKindTerminating(err)
	refused, cause := forbidden || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err), RefusedByPolicy
	switch {
	case !forbidden:
	case strings.Contains(err.Error(), `is forbidden: User "`):
		cause = RefusedByRights // The text of every authorizer, see responsewriters.Forbidden.
	case apply.IsQuotaExceeded(err):
		cause = RefusedByQuota
	}
	if r == Secrets {
		err = apply.HideSecret(err, content)
	}
	if !refused {
		return err
	}
	err = &RefusalError{Workspace: s.ofWorkspace, Resource: r.GroupResource(), Cause: cause, error: err}
	side := map[bool]string{true: "workspace", false: "service cluster"}[s.ofWorkspace]
	return errors.Wrapf(err, "the %s rejects the write", side)
}

// refusalWarning is what a consumer can do about a refusal. It reveals nothing of the service cluster.
func refusalWarning(r *RefusalError) (reason, message string) {
	what, of := "this object", r.Resource.String()
	if r.Object.Name != "" {
		what, of = r.Object.String(), r.Object.String()
	}
	switch {
	case r.Workspace && r.Cause == RefusedUnread:
		return ReasonTooLarge, r.Error()
	case r.Workspace && r.Cause == RefusedByOthers:
		return ReasonContested, "A client in this workspace, such as a webhook, reverts what the provider of the service " +
			"writes to " + of + " again and again. Stop that client. Until then, the provider writes once a minute"
	case r.Workspace && r.Cause == RefusedByRights:
		return ReasonClaimMissing, "This workspace does not let the provider of the service write " + of +
			". Accept its permission claim in the APIBinding, for all objects"
	case r.Workspace && r.Cause == RefusedByQuota:
		return ReasonNoRoom, "The quota of this workspace is used up, so it rejects " + r.Resource.String() +
			" of the service. Raise the quota, or delete other objects"
	case r.Workspace:
		return ReasonRejected, "This workspace does not accept " + of +
			" of the service. Check policies, webhooks and immutable fields"
	case r.Cause == RefusedByRights, r.Cause == RefusedByOthers, r.Cause == RefusedUnread:
		return ReasonCannotSync, "This object cannot be processed until the provider of the service changes its setup"
	case r.Cause == RefusedByQuota:
		return ReasonNoRoom, "The provider of the service has no capacity for " + what +
			". Delete other objects, or ask the provider of the service"
	}
	return ReasonRejected, "The provider of the service does not accept " + what + " as it is. Check its fields"
}
