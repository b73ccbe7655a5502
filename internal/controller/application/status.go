package application

import (
	"fmt"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// namedMost is how many resources a message names.
const namedMost = 5

// messageBytes is how long the message of condition Healthy may be.
const messageBytes = 1024

// failures are errors by the names of templates.
type failures map[string]error

// A tally counts the resources of an application's templates.
type tally struct {
	desired, submitted, failed int
	// messages say what is wrong with resources that failed, sorted by their names.
	messages []string
}

// count counts the resources of templates. held are those there are, and failed is what could not be rendered.
func count(templates []template, held map[string]*resource, failed failures) tally {
	t := tally{desired: len(templates)}
	names := make([]string, 0, len(templates))
	for _, of := range templates {
		names = append(names, of.Metadata.Name)
	}
	slices.Sort(names)
	for _, name := range names {
		r := held[name]
		switch {
		case failed[name] != nil:
			t.failed++
			t.messages = append(t.messages, name+" cannot be rendered")
		case r == nil, r.Status.ObservedGeneration != r.GetGeneration():
		case r.Status.State == workloadv1alpha1.StateSubmitted:
			t.submitted++
		case r.Status.State == workloadv1alpha1.StateFailed:
			t.failed++
			t.messages = append(t.messages, name+" failed: "+r.GetCondition(xpv2.TypeSynced).Message)
		default:
			t.messages = append(t.messages, name+" waits: "+r.GetCondition(xpv2.TypeSynced).Message)
		}
	}
	return t
}

// state returns the state of an application that is scheduled and not deleted.
func (t tally) state() workloadv1alpha1.State {
	switch {
	case t.submitted == t.desired:
		return workloadv1alpha1.StateSubmitted
	case t.submitted > 0:
		return workloadv1alpha1.StatePartiallySubmitted
	case t.failed == t.desired:
		return workloadv1alpha1.StateFailed
	}
	return workloadv1alpha1.StateScheduled
}

// message says how many resources are submitted, and what is wrong with others.
func (t tally) message() string {
	m := fmt.Sprintf("%d of %d resources are submitted", t.submitted, t.desired)
	if len(t.messages) > 0 {
		m += ": " + managedadapter.Some(t.messages, namedMost, "; ")
	}
	return m
}

// describe puts into the status what a pass has found.
func describe(p *pass, err error) {
	switch {
	case meta.WasDeleted(p.app):
		p.app.Status.State = workloadv1alpha1.StateDeleting
		set(p.app, xpv2.Deleting().WithMessage("Waiting for the deletion of resources"+list(p.leaving)))
	case p.app.Spec.ClusterRef == nil:
		p.app.Status.State = workloadv1alpha1.StatePending
		p.app.Status.DesiredResources = int64(len(p.app.Spec.ResourceTemplates))
		set(p.app, xpv2.Unavailable().WithMessage("The application is not scheduled to a cluster: see condition Synced"))
	case p.held != nil:
		t := count(p.app.Spec.ResourceTemplates, p.held, p.failed)
		p.app.Status.State = t.state()
		p.app.Status.DesiredResources, p.app.Status.SubmittedResources = int64(t.desired), int64(t.submitted)
		ready := xpv2.Available()
		if p.app.Status.State != workloadv1alpha1.StateSubmitted {
			ready = xpv2.Unavailable().WithMessage(t.message())
		}
		set(p.app, ready)
	}
	switch {
	case p.app.Status.State != workloadv1alpha1.StateSubmitted:
		set(p.app, commonv1.Health(commonv1.ReasonProgressing, "Not all resources are submitted: see condition Ready"))
	case p.held != nil:
		set(p.app, health(p.app.Spec.ResourceTemplates, p.held))
	}
	p.app.Status.ObservedGeneration = p.app.GetGeneration()
	set(p.app, synced(p, err))
}

// health returns condition Healthy of an application whose resources are all submitted. It is for the worst reason of
// theirs, and names those with that first.
func health(templates []template, held map[string]*resource) xpv2.Condition {
	messages := map[xpv2.ConditionReason][]string{}
	for _, t := range templates {
		c := held[t.Metadata.Name].GetCondition(xpv2.TypeHealthy)
		if c.Reason == "" { // It was submitted before there was health, and its cluster is away.
			c.Reason, c.Message = commonv1.ReasonUnknown, "its health is not known yet"
		}
		messages[c.Reason] = append(messages[c.Reason], t.Metadata.Name+": "+c.Message)
	}
	worst, all := commonv1.ReasonHealthy, []string{}
	for _, r := range []xpv2.ConditionReason{
		commonv1.ReasonUnknown, commonv1.ReasonProgressing, commonv1.ReasonFailed,
	} {
		if of := messages[r]; len(of) > 0 {
			slices.Sort(of)
			worst, all = r, slices.Concat(of, all)
		}
	}
	return commonv1.Health(worst, managedadapter.Clip(managedadapter.Some(all, namedMost, "; "), messageBytes))
}

// synced returns condition Synced after a pass.
func synced(p *pass, err error) xpv2.Condition {
	var c xpv2.Condition
	for _, name := range slices.Sorted(maps.Keys(p.held)) {
		r := p.held[name]
		if err != nil || r == nil || !isOwn(p.app, r) {
			continue
		}
		switch c = r.GetCondition(xpv2.TypeSynced); c.Reason { //nolint:exhaustive // Others are about the resource alone.
		case commonv1.ReasonTargetUnreachable, commonv1.ReasonInvalidConnection, commonv1.ReasonUnauthorized,
			commonv1.ReasonNamespaceNotAllowed:
			return c
		}
	}
	c = targetresource.Synced(p.app, err)
	switch {
	case err == nil && len(p.leaving) > 0 && !meta.WasDeleted(p.app):
		c = xpv2.ReconcileError(errors.New("Waiting for the deletion of resources" + list(p.leaving)))
		c.Reason = commonv1.ReasonWaitingForDeletion
	case errors.Is(err, errConflict): // An aggregate does not state it.
		c.Reason = commonv1.ReasonNameTaken
	}
	return c
}

// list names some of the resources of a list.
func list(names []string) string {
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return ": " + managedadapter.Some(names, namedMost, ", ")
}

func set(app *application, c xpv2.Condition) {
	app.SetConditions(c.WithObservedGeneration(app.GetGeneration()))
}
