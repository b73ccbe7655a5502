package collection

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

var (
	// errInvalidSelection is the cause of errors that only a change of spec.observeObjects can cure.
	errInvalidSelection = targetresource.Because(commonv1.ReasonInvalidSelection, "spec.observeObjects is invalid")
	// errInvalidTemplate is the cause of errors that only a change of spec.objectTemplate can cure.
	errInvalidTemplate = targetresource.Because(commonv1.ReasonInvalidTemplate, "spec.objectTemplate is invalid")
	// errNameTaken is the cause of errors about Objects that are no members and have the names of members. Nobody tells
	// when they go: the collection looks again.
	errNameTaken = targetresource.Because(commonv1.ReasonNameTaken, "create the collection under another name")
)

func setCondition(c Collection, cond xpv2.Condition) {
	c.SetConditions(cond.WithObservedGeneration(c.GetGeneration()))
}

// Reasons of events.
const (
	reasonCannotConnect event.Reason = "CannotConnectToTarget"
	reasonCannotSelect  event.Reason = "CannotSelectResources"
	reasonCannotCompare event.Reason = "CannotCompareMembers"
	reasonCannotApply   event.Reason = "CannotApplyMembers"
	reasonCannotDelete  event.Reason = "CannotDeleteMembers"
)
