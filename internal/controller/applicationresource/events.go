package applicationresource

import "github.com/crossplane/crossplane-runtime/v2/pkg/event"

// Reasons of events.
const (
	reasonSubmitted       event.Reason = "SubmittedResource"
	reasonPropagated      event.Reason = "PropagatedSecret"
	reasonWithdrawn       event.Reason = "DeletedSecret"
	reasonDeleted         event.Reason = "DeletedFromCluster"
	reasonLeft            event.Reason = "LeftExternalResource"
	reasonCannotClaim     event.Reason = "CannotClaim"
	reasonCannotConnect   event.Reason = "CannotConnectToTarget"
	reasonCannotPlace     event.Reason = "CannotPlaceResource"
	reasonCannotPropagate event.Reason = "CannotPropagateSecrets"
	reasonCannotSubmit    event.Reason = "CannotSubmitResource"
	reasonCannotDelete    event.Reason = "CannotDeleteResource"
	reasonCannotRelease   event.Reason = "CannotRelease"
)
