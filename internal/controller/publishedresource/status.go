package publishedresource

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
)

// Reasons of events beside those of conditions.
const (
	reasonSchemaPublished event.Reason = "CreatedSchema"
	reasonSchemaDeleted   event.Reason = "DeletedSchema"
	reasonExportUpdated   event.Reason = "UpdatedAPIExport"
	reasonWithdrawn       event.Reason = "WithdrewAPI"
	reasonOrphaned        event.Reason = "OrphanedCopies"
	reasonStillHeld       event.Reason = "LeftFinalizers"
)

// namedMost is how many consumers the status names.
const namedMost = 20

// describe records in the status what has been published, and why no more if there is an error.
func (e *external) describe(o *v1alpha1.PublishedResource, err error) {
	o.Status.APIExport = e.plan.export
	if c, ok := e.schemaCondition(err); ok {
		e.set(o, c)
	}
	c, ok := e.exportCondition(o, err)
	if ok {
		e.set(o, c)
	}
	if ok && err == nil && e.desiredAPI != nil && e.state.schemaOf(e.desiredAPI.resource) == e.desiredAPI.schema {
		o.Status.ResourceSchemaName = e.desiredAPI.schema
	}
}

// schemaCondition returns condition SchemaPublished, and whether there is something to say.
func (e *external) schemaCondition(err error) (xpv2.Condition, bool) {
	r := reason(err)
	switch {
	case r == v1alpha1.ReasonSourceMissing, r == v1alpha1.ReasonAlreadyPublished, errors.Is(err, errRefusedSchema),
		projection.ReasonOf(err) != "":
		return condition(v1alpha1.TypeSchemaPublished, r, err.Error()), true
	case e.desiredAPI == nil:
		return xpv2.Condition{}, false
	case e.state.hasSchema(e.desiredAPI.schema):
		c := holds(v1alpha1.TypeSchemaPublished, v1alpha1.ReasonPublished)
		c.Message = e.desiredAPI.notes
		return c, true
	}
	return condition(v1alpha1.TypeSchemaPublished, v1alpha1.ReasonNotPublished,
		fmt.Sprintf("APIResourceSchema %q does not exist: see condition Synced", e.desiredAPI.schema)), true
}

// exportCondition returns condition ExportUpdated, and whether there is something to say.
func (e *external) exportCondition(o *v1alpha1.PublishedResource, err error) (xpv2.Condition, bool) {
	const t = v1alpha1.TypeExportUpdated
	switch {
	case e.state.export == nil:
		return condition(t, v1alpha1.ReasonExportMissing,
			fmt.Sprintf("APIExport %q does not exist: make it, or set apiExport.create", e.plan.export)), true
	case e.desiredAPI == nil:
		if r, ok := kcp.ResourceOf(o.Status.ResourceSchemaName); ok &&
			e.state.schemaOf(r) == o.Status.ResourceSchemaName {
			return xpv2.Condition{}, false
		}
		return condition(t, v1alpha1.ReasonNotUpdated,
			fmt.Sprintf("APIExport %q does not offer the API: see condition Synced", e.plan.export)), true
	case err != nil:
		return condition(t, v1alpha1.ReasonNotUpdated, err.Error()), true
	case !e.settled:
		return condition(t, v1alpha1.ReasonNotUpdated,
			fmt.Sprintf("APIExport %q does not offer schema %q with all claims", e.plan.export, e.desiredAPI.schema)), true
	case kcp.IdentityHash(e.state.export) == "":
		return condition(t, v1alpha1.ReasonNoIdentity,
			fmt.Sprintf("kcp has not given APIExport %q an identity yet: if this lasts, look at the log of kcp",
				e.plan.export)), true
	}
	return holds(t, v1alpha1.ReasonUpdated), true
}

// describeConsumers records in the status who uses the API.
func (e *external) describeConsumers(o *v1alpha1.PublishedResource) {
	o.Status.Endpoints = nil
	for _, url := range e.seen.endpoints {
		o.Status.Endpoints = append(o.Status.Endpoints, v1alpha1.Endpoint{URL: url})
	}
	o.Status.Workspaces = &v1alpha1.WorkspaceCounts{Bound: count(e.consumers)}
	o.Status.Claims = claimCounts(e.consumers)
	if _, offered := e.published(o); !offered {
		e.describeNotOffered(o)
		return
	}
	e.describeSettled(o, e.seen, e.consumers)
}

// describeSettled records in the status whether consumers can use the API. As long as kcp may be about to cure what is
// wrong, conditions stay as they were.
func (e *external) describeSettled(o *v1alpha1.PublishedResource, v *consumerView, consumers []kcp.Consumer) {
	lasting, next := e.memory.lasting(e.passing(v, consumers), time.Now())
	e.pass.lookAgain(next)
	settled := *v
	settled.problems = slices.DeleteFunc(slices.Clone(v.problems),
		func(p endpointProblem) bool { return p.unserved && !lasting[p.url] })
	using := slices.DeleteFunc(slices.Clone(consumers),
		func(c kcp.Consumer) bool { return establishing(c) && !lasting[c.Cluster] })
	serves, accepts := e.endpointsCondition(&settled), claimsCondition(&settled, using)
	missing := e.state.slice == nil && !lasting[problemNoSlice]
	if !missing && (serves.Status != corev1.ConditionTrue || len(settled.problems) == len(v.problems)) {
		e.set(o, serves)
	}
	if accepts.Status == corev1.ConditionFalse ||
		len(settled.problems) == len(v.problems) && len(using) == len(consumers) {
		e.set(o, accepts)
	}
}

// problemNoSlice is the key of the problem that the APIExportEndpointSlice does not exist. kcp creates one for a new
// APIExport.
const problemNoSlice = "APIExportEndpointSlice"

// passing returns what tells apart the problems that kcp may be about to cure.
func (e *external) passing(v *consumerView, consumers []kcp.Consumer) []string {
	var out []string
	if e.state.slice == nil {
		out = append(out, problemNoSlice)
	}
	for _, p := range v.problems {
		if p.unserved {
			out = append(out, p.url)
		}
	}
	for _, c := range consumers {
		if establishing(c) {
			out = append(out, c.Cluster)
		}
	}
	return out
}

// establishing reports whether a consumer cannot use the API yet for no fault of its own.
func establishing(c kcp.Consumer) bool { return !c.Bound && len(c.Open) == 0 }

// describeNotOffered takes back that consumers can use an API that the APIExport does not offer any more. Before it has
// offered it, nothing is said of them.
func (e *external) describeNotOffered(o *v1alpha1.PublishedResource) {
	for _, t := range []xpv2.ConditionType{v1alpha1.TypeEndpointsReady, v1alpha1.TypeClaimsAccepted} {
		if o.GetCondition(t).Status == corev1.ConditionTrue {
			e.set(o, undecided(t, v1alpha1.ReasonNotUpdated, "The APIExport does not offer the API: see condition Synced"))
		}
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

func resources(claims []kcp.Claim) []string {
	var names []string
	for _, c := range claims {
		names = append(names, c.String())
	}
	slices.Sort(names)
	return names
}

// endpointsCondition returns condition EndpointsReady.
func (e *external) endpointsCondition(v *consumerView) xpv2.Condition {
	const t = v1alpha1.TypeEndpointsReady
	switch {
	case e.state.slice == nil:
		return condition(t, v1alpha1.ReasonEndpointSliceMissing,
			fmt.Sprintf("APIExportEndpointSlice %q does not exist: make it, or correct apiExport.endpointSlice", e.plan.slice))
	case len(v.endpoints) == 0:
		return undecided(t, v1alpha1.ReasonNotBound,
			fmt.Sprintf("No workspace has bound APIExport %q: kcp makes an endpoint with the first APIBinding",
				e.plan.export))
	case len(v.problems) > 0:
		return condition(t, v1alpha1.ReasonNotServing, v.describe())
	}
	return holds(t, v1alpha1.ReasonServing)
}

// describe returns all problems of endpoints.
func (v *consumerView) describe() string {
	var all []string
	for _, p := range v.problems {
		all = append(all, p.message)
	}
	return strings.Join(all, "; ")
}

// claimsCondition returns condition ClaimsAccepted. It also names the workspaces that have bound the APIExport and
// cannot use the API yet.
func claimsCondition(v *consumerView, consumers []kcp.Consumer) xpv2.Condition {
	const t = v1alpha1.TypeClaimsAccepted
	var open []string
	for _, c := range consumers {
		switch {
		case len(c.Open) > 0:
			open = append(open, "workspace "+c.Name()+" has not accepted the claims for "+
				strings.Join(resources(c.Open), ", "))
		case c.Problem != "":
			open = append(open, "workspace "+c.Name()+" cannot use the API: "+c.Problem)
		}
	}
	if more := len(open) - namedMost; more > 0 {
		open = append(open[:namedMost], fmt.Sprintf("and %d more", more))
	}
	switch {
	case len(open) > 0:
		return condition(t, v1alpha1.ReasonPending, strings.Join(open, "; "))
	case len(v.problems) > 0:
		return undecided(t, v1alpha1.ReasonNotServing, "An endpoint does not show APIBindings: see EndpointsReady")
	case len(consumers) == 0:
		return undecided(t, v1alpha1.ReasonNotBound, "No workspace has bound the APIExport")
	}
	return holds(t, v1alpha1.ReasonAccepted)
}

// judge reports whether the API is ready: whether it can be bound, and is served to those who have.
func (e *external) judge(o *v1alpha1.PublishedResource) {
	for _, t := range []xpv2.ConditionType{
		v1alpha1.TypeSchemaPublished, v1alpha1.TypeExportUpdated, v1alpha1.TypeEndpointsReady,
	} {
		c := o.GetCondition(t)
		if c.Status == corev1.ConditionTrue {
			continue
		}
		ready := xpv2.Unavailable().WithMessage(c.Message)
		if c.Reason == v1alpha1.ReasonNotBound {
			ready = xpv2.Available().WithMessage(c.Message)
		}
		e.pass.ready = &ready
		return
	}
	ready := xpv2.Available()
	e.pass.ready = &ready
}

// set sets a condition, and records an event if it says something else than before.
func (e *external) set(o *v1alpha1.PublishedResource, c xpv2.Condition) {
	was := o.GetCondition(c.Type)
	e.pass.set(o, c)
	if was.Status == c.Status && was.Reason == c.Reason &&
		(c.Reason != v1alpha1.ReasonPending || was.Message == c.Message) {
		return
	}
	switch {
	case c.Status == corev1.ConditionTrue:
		if m, ok := good[c.Type]; ok {
			e.events.Event(o, event.Normal(event.Reason(c.Type), m))
		}
	case c.Status == corev1.ConditionFalse && !expected(c.Reason):
		e.events.Event(o, event.Warning(event.Reason(string(c.Type)+string(c.Reason)), errors.New(c.Message)))
	}
}

// good says what has happened when a condition begins to hold, if no other event does.
var good = map[xpv2.ConditionType]string{
	v1alpha1.TypeEndpointsReady: "All endpoints serve the API",
	v1alpha1.TypeClaimsAccepted: "All workspaces that have bound the API have accepted its permission claims",
}

// expected reports whether a reason is one of a condition that is about to hold. No event has to tell of that.
func expected(r xpv2.ConditionReason) bool {
	return slices.Contains([]xpv2.ConditionReason{
		v1alpha1.ReasonNotPublished, v1alpha1.ReasonNotUpdated, v1alpha1.ReasonNoIdentity,
	}, r)
}

func holds(t xpv2.ConditionType, r xpv2.ConditionReason) xpv2.Condition {
	return xpv2.Condition{Type: t, Status: corev1.ConditionTrue, Reason: r, LastTransitionTime: metav1.Now()}
}

// condition returns one that does not hold. Messages begin with a capital.
func condition(t xpv2.ConditionType, r xpv2.ConditionReason, message string) xpv2.Condition {
	return xpv2.Condition{
		Type: t, Status: corev1.ConditionFalse, Reason: r, Message: capital(message), LastTransitionTime: metav1.Now(),
	}
}

func undecided(t xpv2.ConditionType, r xpv2.ConditionReason, message string) xpv2.Condition {
	return xpv2.Condition{
		Type: t, Status: corev1.ConditionUnknown, Reason: r, Message: message, LastTransitionTime: metav1.Now(),
	}
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
