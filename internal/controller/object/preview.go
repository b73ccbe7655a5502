package object

import (
	"context"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/diff"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// messageBytes is how long the messages of conditions UpToDate and Ready may be.
const messageBytes = 1024

// dryRun reports whether an Object must change nothing on its target.
func dryRun(o client.Object) bool { return o.GetAnnotations()[commonv1.AnnotationKeyDryRun] == "true" }

// manages reports whether an Object may create and change its resource at any time: its policy allows both, and it is
// on no dry run.
func manages(o Object) bool { return policy.Manages(o.GetManagementPolicies()) && !dryRun(o) }

// previews reports whether an Object says what an apply would change: on a dry run, or when its policy does not allow
// to apply but its manifest says more than which resource it is.
func previews(o Object) bool {
	return dryRun(o) || observes(o) && saysMore(o.Desired().ForProvider.Manifest.Raw)
}

// observes reports whether the policies of an Object do not allow to apply.
func observes(o Object) bool {
	p := o.GetManagementPolicies()
	return !policy.Allows(p, xpv2.ManagementActionCreate) && !policy.Allows(p, xpv2.ManagementActionUpdate)
}

// saysMore reports whether a manifest has fields beside those that identify the resource.
func saysMore(raw []byte) bool {
	var m map[string]any
	if decode(raw, &m) != nil {
		return false
	}
	about, _ := m["metadata"].(map[string]any)
	for _, fields := range []map[string]any{m, about} {
		for k, v := range fields {
			if v != nil && !slices.Contains([]string{"apiVersion", "kind", "metadata", "name", "namespace"}, k) {
				return true
			}
		}
	}
	return false
}

// preview looks at the resource and records what an apply would change. On a dry run a missing resource counts as one
// that is as it should be, so that nobody creates it.
func (e *external) preview(ctx context.Context, o Object) (managed.ExternalObservation, error) {
	p := previewer{e.remote}
	err := e.look(ctx, o)
	if err == nil {
		err = p.see(o)
	}
	if err == nil {
		err = p.compare(ctx, o)
	}
	if err == nil && e.live == nil && !dryRun(o) {
		return e.missing(ctx, o)
	}
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, err
}

// A previewer compares the resource of an Object with its manifest.
type previewer struct{ *remote }

// see records the live resource and whether it is ready. A dry run for another resource than the one the Object has
// applied does not make it forget that one.
func (e previewer) see(o Object) error {
	obs, seen := o.Observed(), identity(o)
	elsewhere := dryRun(o) && seen != nil && (e.moved || !sameResource(seen, e.Manifest))
	switch {
	case e.live != nil && elsewhere && obs.Applied != nil:
		e.judge(o, e.live)
		return nil
	case e.live != nil:
		return e.remote.see(o)
	case elsewhere && obs.Applied == nil: // It was only looked at.
		obs.Manifest, obs.OmittedBytes = runtime.RawExtension{}, 0
	}
	e.verdict = &readiness.Verdict{Message: messageMissing}
	return nil
}

func sameResource(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind().GroupKind() == b.GroupVersionKind().GroupKind() &&
		client.ObjectKeyFromObject(a) == client.ObjectKeyFromObject(b)
}

// compareAgain is after how long a comparison is tried again that the target could not make.
const compareAgain = 30 * time.Second

// compare records what an apply would change, unless that is known already. A resource that keeps changing is compared
// ever more slowly.
func (e previewer) compare(ctx context.Context, o Object) error {
	// A user may ask for another one by the annotation that requests a reconcile.
	asked, _ := meta.GetReconcileRequest(o)
	hash := apply.Hash([]any{e.Manifest.Object, applicable(e.live), o.GetGeneration(), asked})
	if o.Observed().Compared == hash {
		return nil
	}
	if wait := e.drift.Wait(e.Owner); wait > 0 {
		e.retry = wait
		return nil
	}
	wanted, err := e.wanted(ctx)
	var ops []commonv1.DiffOperation
	c := xpv2.Condition{Status: corev1.ConditionFalse, Reason: commonv1.ReasonCannotCompare}
	switch {
	case targetresource.IsCutOff(err), apierrors.IsUnauthorized(err), apierrors.IsConflict(err):
		return errors.Wrap(err, "cannot dry-run the manifest")
	case err != nil:
		_, said := recreation(e).isFollowed(ctx, o, err)
		c.Message = "The dry run of the manifest fails on the target: " + said.Error()
		if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) &&
			!targetresource.IsSchemaError(err) { // A webhook may be down, say, or a namespace to come.
			e.retry, hash = compareAgain, ""
		}
	default:
		ops = diff.Of(applicable(e.live), wanted, e.SecretFields...)
		c = e.outcome(ops)
	}
	o.Observed().Diff, o.Observed().Compared = diff.Limit(ops), hash
	c.Type, c.LastTransitionTime, c.ObservedGeneration = commonv1.TypeUpToDate, metav1.Now(), o.GetGeneration()
	c.Message = managedadapter.Clip(c.Message, messageBytes)
	o.SetConditions(c)
	return nil
}

// wanted returns what an apply can change of the resource, as it would be after one. If the resource has our label, it
// keeps it: a server sets labels of a resource without any, as those of a Job from its template.
func (e *remote) wanted(ctx context.Context) (map[string]any, error) {
	m := e.Manifest.DeepCopy()
	if e.live != nil && targetresource.IsLabelled(e.live) {
		_ = label(m) // Of labels that are not a map the target tells.
	}
	u, err := e.ignored.Payload(e.live, m, e.manager)
	if err == nil {
		u, err = e.Client(e.manager).DryRun(ctx, u)
	}
	return applicable(u), err
}

// applicable returns what an apply can change of a resource: all but its status, the metadata that the server alone
// decides and our label. It shares nothing with the resource, and is nil if that is.
func applicable(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	u = u.DeepCopy()
	apply.Prepare(u)
	meta.RemoveLabels(u, commonv1.LabelKeyManaged)
	if len(u.GetLabels()) == 0 {
		u.SetLabels(nil)
	}
	return u.Object
}

func (e previewer) outcome(ops []commonv1.DiffOperation) xpv2.Condition {
	c := xpv2.Condition{Status: corev1.ConditionFalse, Reason: commonv1.ReasonDifferent}
	switch {
	case e.live == nil:
		c.Message = "Applying the manifest would create the resource"
	case len(ops) > 0:
		c.Message = "Applying the manifest would change " + diff.Summary(ops)
	default:
		c.Status, c.Reason = corev1.ConditionTrue, commonv1.ReasonNoDifference
		c.Message = "Applying the manifest would change nothing"
	}
	return c
}

// endPreview drops what an Object says of changes when it does not preview any more.
func endPreview(o Object) {
	if o.GetCondition(commonv1.TypeUpToDate).Reason == "" || previews(o) {
		return
	}
	o.Observed().Diff, o.Observed().Compared = nil, ""
	o.RemoveCondition(commonv1.TypeUpToDate)
}

// A Comparer finds out what Objects of one scope would change, as their previews do, without a controller. It writes
// nothing.
type Comparer[T Object] struct {
	// Kind of the Objects.
	Kind scope.Kind[T]
	// Options of the controller. Only Registry, References and List are used.
	Options Options
	// Target is the cluster of the resources, nil for those of the ProviderConfigs.
	Target *clusters.Cluster
}

// A Comparison is what an apply of the manifest of an Object would change.
type Comparison struct {
	// Resource names the resource, empty if it is not known which.
	Resource string
	// Target names the ProviderConfig or the server.
	Target string
	// Missing says that the resource does not exist, and Allowed that the management policies allow the change.
	Missing, Allowed bool
	// Operations make what the server would hold of what it holds, and Reverse has the one back for each: what status
	// and condition of a preview say. There is none for what an Object only observes.
	Operations, Reverse []commonv1.DiffOperation
	// Replaced names the resource that gives way to this one, empty if none does.
	Replaced string
}

// Compare compares the resource of an Object, whose status may be that of the control plane, with its manifest. An
// error that is a conflict means that it is too early to tell. The name of the resource is usable beside an error.
func (c Comparer[T]) Compare(ctx context.Context, o T) (Comparison, error) {
	owner := informer.Owner{Controller: "diff", NamespacedName: client.ObjectKeyFromObject(o)}
	r := &remote{reconciliation: &reconciliation{}, Resource: targetresource.Resource{
		Cluster: c.Target, Owner: owner, Purpose: purposeManifest,
	}, options: c.Options}
	out := Comparison{Target: c.Kind.Ref(o).Name}
	if c.Target != nil {
		out.Target = c.Target.Server()
	}
	if m, err := manifest(o, nil); err == nil && !reference.Names(o.Desired()) {
		out.Resource = describe(m)
	}
	var err error
	r.references, err = c.Options.References.Resolve(ctx, reference.Referrer{Object: o, GVK: c.Kind.GVK})
	if err == nil && c.Target == nil {
		r.Cluster, err = targetresource.Connect(ctx, c.Options.Registry, owner, targetresource.ConfigOf(c.Kind, o))
	}
	if err == nil {
		err = (&external{remote: r}).prepare(ctx, o)
	}
	if r.Manifest != nil {
		out.Resource = describe(r.Manifest)
	}
	if err == nil {
		err = r.compare(ctx, o, &out)
	}
	return out, err
}

// compare fills in what an apply would change of the resource.
func (e *remote) compare(ctx context.Context, o Object, out *Comparison) (err error) {
	if e.live, err = e.Ask(ctx); err != nil {
		return err
	}
	action := xpv2.ManagementActionUpdate
	if out.Missing = e.live == nil; out.Missing {
		action = xpv2.ManagementActionCreate
	}
	out.Allowed = policy.Allows(o.GetManagementPolicies(), action)
	if seen := identity(o); seen != nil && !sameResource(seen, e.Manifest) {
		out.Replaced = describe(seen)
	}
	if observes(o) && !previews(o) {
		return nil
	}
	if err := e.claimAlone(ctx, o); err != nil {
		return err
	}
	wanted, err := e.wanted(ctx)
	if err != nil {
		return err
	}
	live := applicable(e.live)
	out.Operations = diff.Of(live, wanted, e.SecretFields...)
	if live != nil {
		out.Reverse = diff.Of(wanted, live, e.SecretFields...)
	}
	return nil
}

// claimAlone is claim without the list of all Objects where that is not needed, as tenants may not have it: the Object
// has applied the resource, or no Object of its name has fields there.
func (e *remote) claimAlone(ctx context.Context, o Object) error {
	e.manager = ManagerOf(o)
	if e.live == nil || o.Observed().Applied != nil && hasSeen(o, e.live.GetUID()) ||
		!apply.Manages(e.live, fieldManager(o)) && !apply.Manages(e.live, ownFieldManager(o)) {
		return nil
	}
	return e.claim(ctx, o)
}

// Compile returns what is wrong with the queries and paths of an Object, each with its field.
func Compile(o Object, crossNamespace bool) (wrong []string) {
	spec := o.Desired()
	add := func(err error, at string) {
		if err != nil {
			wrong = append(wrong, at+err.Error())
		}
	}
	if spec.Readiness.CelQuery != "" {
		add(readiness.CheckQuery(spec.Readiness.CelQuery), "spec.readiness.celQuery: ")
	}
	_, err := ignored(o)
	add(err, "")
	rules := reference.Rules{Namespace: o.GetNamespace(), CrossNamespace: crossNamespace}
	for _, r := range reference.Normalise(spec, rules) {
		add(r.Err, "")
		if r.Query != "" {
			add(readiness.CheckQuery(r.Query), r.At+".celQuery: ")
		}
	}
	return wrong
}

// ManagerOf returns the field manager of an Object, as its status tells.
func ManagerOf(o Object) string {
	if a := o.Observed().Applied; a != nil && a.FieldManager != "" {
		return a.FieldManager
	}
	return fieldManager(o)
}
