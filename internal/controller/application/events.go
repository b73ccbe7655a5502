package application

import "github.com/crossplane/crossplane-runtime/v2/pkg/event"

// Reasons of events.
const (
	reasonScheduled      event.Reason = "ScheduledApplication"
	reasonCannotSchedule event.Reason = "CannotScheduleApplication"
	reasonCreated        event.Reason = "CreatedResource"
	reasonUpdated        event.Reason = "UpdatedResource"
	reasonDeleted        event.Reason = "DeletedResource"
	reasonSubmitted      event.Reason = "SubmittedApplication"
	reasonCannotClaim    event.Reason = "CannotClaim"
	reasonCannotCompare  event.Reason = "CannotCompareResources"
	reasonCannotPrune    event.Reason = "CannotPruneResources"
	reasonCannotRender   event.Reason = "CannotRenderResources"
	reasonCannotDelete   event.Reason = "CannotDeleteResources"
	reasonCannotRelease  event.Reason = "CannotRelease"
)
