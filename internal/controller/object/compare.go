package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/apply"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/diff"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/readiness"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// A Comparer finds out what Objects of one scope would change, as their previews do, without a controller. It writes
// nothing.
type Comparer[T Object] struct {
	// Kind of the Objects.
	Kind scope.Kind[T]
	// Options of a controller, of which Registry, References and Index are used.
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

// IndexOf returns an Index that asks the control plane.
func IndexOf(c client.Reader, newLists ...func() resource.ManagedList) *Index {
	x := &Index{}
	for _, newList := range newLists {
		x.lists = append(x.lists, func(ctx context.Context, o ...client.ListOption) ([]resource.Managed, error) {
			l := newList()
			err := c.List(ctx, l, o...)
			if apimeta.IsNoMatchError(err) { // The kind of a scope need not be installed.
				err = nil
			}
			return l.GetItems(), errors.Wrap(err, "cannot list Objects")
		})
	}
	return x
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
	r.references, err = c.Options.References.Resolve(ctx, reference.Referrer{Object: o, GVK: c.Kind.GVK, Owner: owner})
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
