package publishedresource

import (
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
)

// Reasons of events beside those of conditions.
const (
	reasonSchemaPublished event.Reason = "CreatedSchema"
	reasonExportUpdated   event.Reason = "UpdatedAPIExport"
	reasonWithdrawn       event.Reason = "WithdrewAPI"
	reasonStillHeld       event.Reason = "LeftFinalizers"
)

// namedMost is how many consumers the status names.
const namedMost = 20

// describe records in the status what a pass has seen. What is not known yet stays as it was.
func (p *pass) describe() {
	s, w := &p.resource.Status, p.workspace
	if p.resource.GetDeletionTimestamp() == nil && (p.wanted != nil || p.refusal != nil) {
		s.APIExport = w.plan.export
		if c, ok := schemaCondition(p); ok {
			p.set(p.resource, c)
		}
		if c, ok := exportCondition(p); ok {
			p.set(p.resource, c)
		}
		if p.refusal == nil && w.schemaOf(p.wanted.resource) == p.wanted.schema {
			s.ResourceSchemaName = p.wanted.schema
		}
	}
	if p.seen != nil && !p.seen.early {
		p.describeConsumers()
	}
}

// schemaCondition returns condition SchemaPublished, and whether there is something to say.
func schemaCondition(p *pass) (xpv2.Condition, bool) {
	const t = v1alpha1.TypeSchemaPublished
	r := causeOf(p.refusal).Reason
	switch {
	case r == v1alpha1.ReasonSourceMissing, r == v1alpha1.ReasonAlreadyPublished, errors.Is(p.refusal, errRefusedSchema),
		projection.ReasonOf(p.refusal) != "":
		return condition(t, r, p.refusal.Error()), true
	case p.wanted == nil:
		return xpv2.Condition{}, false
	case p.wanted.held != "":
		return condition(t, v1alpha1.ReasonIncompatibleChange, p.wanted.held), true
	case p.workspace.hasSchema(p.wanted.schema):
		c := holds(t, v1alpha1.ReasonPublished)
		c.Message = p.wanted.notes
		return c, true
	}
	return condition(t, v1alpha1.ReasonNotPublished,
		fmt.Sprintf("APIResourceSchema %q does not exist: see condition Synced", p.wanted.schema)), true
}

// exportCondition returns condition ExportUpdated, and whether there is something to say.
func exportCondition(p *pass) (xpv2.Condition, bool) {
	const t = v1alpha1.TypeExportUpdated
	w, name := p.workspace, p.workspace.plan.export
	switch {
	case w.export == nil:
		return condition(t, v1alpha1.ReasonExportMissing,
			fmt.Sprintf("APIExport %q does not exist: create it, or set apiExport.create", name)), true
	case p.wanted == nil:
		last := p.resource.Status.ResourceSchemaName
		if r, ok := kcp.ResourceOf(last); ok && w.schemaOf(r) == last {
			return xpv2.Condition{}, false
		}
		return condition(t, v1alpha1.ReasonNotUpdated,
			fmt.Sprintf("APIExport %q does not offer the API: see condition Synced", name)), true
	case p.refusal != nil:
		return condition(t, v1alpha1.ReasonNotUpdated, p.refusal.Error()), true
	case !p.settled:
		return condition(t, v1alpha1.ReasonNotUpdated,
			fmt.Sprintf("APIExport %q does not offer schema %q with all claims: see condition Synced", name,
				p.wanted.schema)), true
	case kcp.IdentityHash(w.export) == "":
		return condition(t, v1alpha1.ReasonNoIdentity,
			fmt.Sprintf("kcp has not set the identity of APIExport %q yet: if this lasts, check the log of kcp", name)), true
	}
	return holds(t, v1alpha1.ReasonUpdated), true
}

// describeConsumers records in the status who uses the API. Those who are out of view still do: as long as there are
// any, the API must not get another name.
func (p *pass) describeConsumers() {
	v, s := p.seen, &p.resource.Status
	was := s.Workspaces
	s.Endpoints, s.Workspaces = nil, &v1alpha1.WorkspaceCounts{}
	for _, e := range v.endpoints {
		s.Endpoints = append(s.Endpoints, v1alpha1.Endpoint{URL: e.URL})
	}
	for _, c := range v.consumers {
		if c.Bound {
			s.Workspaces.Bound++
		}
	}
	if was != nil && !v.complete() {
		s.Workspaces.Bound = max(s.Workspaces.Bound, was.Bound)
	}
	s.Claims = claimCounts(v.consumers)
	if _, offered := p.published(); offered {
		p.set(p.resource, endpointsCondition(p))
		p.set(p.resource, claimsCondition(v))
		return
	}
	for _, t := range []xpv2.ConditionType{v1alpha1.TypeEndpointsReady, v1alpha1.TypeClaimsAccepted} {
		p.set(p.resource,
			undecided(t, v1alpha1.ReasonNotUpdated, "The APIExport does not offer the API: see condition Synced"))
	}
}

// claimCounts counts claims over all consumers, and names those who have not accepted all.
func claimCounts(consumers []kcp.Consumer) *v1alpha1.ClaimCounts {
	counts := &v1alpha1.ClaimCounts{}
	for _, c := range consumers {
		counts.Accepted += int64(len(c.Accepted))
		counts.Total += int64(len(c.Accepted) + len(c.Open))
		if len(c.Open) == 0 || len(counts.Pending) == namedMost {
			continue
		}
		counts.Pending = append(counts.Pending, v1alpha1.PendingClaims{Workspace: c.Name(), Claims: resources(c.Open)})
	}
	return counts
}

// endpointsCondition returns condition EndpointsReady.
func endpointsCondition(p *pass) xpv2.Condition {
	const t = v1alpha1.TypeEndpointsReady
	failing := p.seen.failing()
	switch plan := p.workspace.plan; {
	case p.workspace.slice == nil:
		return condition(t, v1alpha1.ReasonEndpointSliceMissing,
			fmt.Sprintf("APIExportEndpointSlice %q does not exist: create it, or correct apiExport.endpointSlice", plan.slice))
	case len(p.seen.endpoints) == 0:
		return undecided(t, v1alpha1.ReasonNotBound,
			fmt.Sprintf("No workspace has bound APIExport %q: kcp creates an endpoint for the first APIBinding", plan.export))
	case len(failing) > 0:
		var all []string
		for _, e := range failing {
			all = append(all, "endpoint "+e.URL+": "+e.err.Error())
		}
		return condition(t, v1alpha1.ReasonNotServing, strings.Join(all, "; "))
	}
	return holds(t, v1alpha1.ReasonServing)
}

// claimsCondition returns condition ClaimsAccepted. It also names the workspaces that have bound the APIExport and
// cannot use the API yet.
func claimsCondition(v *consumerView) xpv2.Condition {
	const t = v1alpha1.TypeClaimsAccepted
	var open []string
	for _, c := range v.consumers {
		switch {
		case len(c.Open) > 0:
			open = append(open, "workspace "+c.Name()+" has not accepted the claims for "+
				strings.Join(resources(c.Open), ", "))
		case c.Problem != "":
			open = append(open, "workspace "+c.Name()+" cannot use the API: "+c.Problem)
		}
	}
	switch {
	case len(open) > 0:
		return condition(t, v1alpha1.ReasonPending, managedadapter.Some(open, namedMost, "; "))
	case len(v.failing()) > 0:
		return undecided(t, v1alpha1.ReasonNotServing, "Cannot read the APIBindings of an endpoint: see condition "+
			"EndpointsReady")
	case len(v.consumers) == 0:
		return undecided(t, v1alpha1.ReasonNotBound, "No workspace has bound the APIExport")
	}
	return holds(t, v1alpha1.ReasonAccepted)
}

// readyCondition returns condition Ready: whether the API can be bound, and is served to those who have.
func readyCondition(o *v1alpha1.PublishedResource) xpv2.Condition {
	for _, t := range []xpv2.ConditionType{
		v1alpha1.TypeSchemaPublished, v1alpha1.TypeExportUpdated, v1alpha1.TypeEndpointsReady,
	} {
		switch c := o.GetCondition(t); {
		case c.Status == corev1.ConditionTrue, c.Reason == v1alpha1.ReasonIncompatibleChange:
		case c.Reason == v1alpha1.ReasonNotBound:
			return xpv2.Available().WithMessage(c.Message)
		default:
			return xpv2.Unavailable().WithMessage(c.Message)
		}
	}
	return xpv2.Available()
}

func holds(t xpv2.ConditionType, r xpv2.ConditionReason) xpv2.Condition {
	return xpv2.Condition{Type: t, Status: corev1.ConditionTrue, Reason: r, LastTransitionTime: metav1.Now()}
}

// undecided returns a condition with status Unknown.
func undecided(t xpv2.ConditionType, r xpv2.ConditionReason, message string) xpv2.Condition {
	c := holds(t, r)
	c.Status, c.Message = corev1.ConditionUnknown, message
	return c
}

// condition returns one that does not hold.
func condition(t xpv2.ConditionType, r xpv2.ConditionReason, message string) xpv2.Condition {
	c := undecided(t, r, message)
	c.Status = corev1.ConditionFalse
	return c
}
