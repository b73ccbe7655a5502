package commandline

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
	"github.com/crossplane-contrib/provider-kcp/package/crds"
)

const (
	// patience is how long is waited for watches and for first answers, and pause how long between two looks.
	patience = 30 * time.Second
	pause    = 20 * time.Millisecond
)

// Options say what manifests are compared with.
type Options struct {
	// Files hold the manifests; - is In.
	Files []string
	In    io.Reader
	// ControlPlane is how the control plane of Objects is reached, nil to reach neither that nor a target. Namespace is
	// that of namespaced manifests of ours without one.
	ControlPlane *rest.Config
	Namespace    string
	// Target is how the cluster is reached that all manifests are compared with, nil for those of the ProviderConfigs of
	// Objects. TargetNamespace is that of namespaced resources without an Object and without a namespace.
	Target          *rest.Config
	TargetNamespace string
	// Connections are the options of connections that the provider has. The control plane is added.
	Connections clusters.Options
	// Sanitized says that the statuses of Objects do not show the values of Secrets.
	Sanitized bool
}

// A differ compares manifests.
type differ struct {
	options     Options
	definitions map[string]*apiextensionsv1.CustomResourceDefinition
	local       client.Client
	compared    object.Options
	target      *clusters.Cluster
}

// Diff returns what manifests would change. An error means that nothing could be compared.
func Diff(ctx context.Context, o Options) (*Report, error) {
	d, r := &differ{options: o}, &Report{Results: []*Result{}}
	var docs []document
	for _, file := range o.Files {
		more, err := read(file, o.In)
		if err != nil {
			return r, err
		}
		docs = append(docs, more...)
	}
	var err error
	if d.definitions, err = crds.All(); err != nil {
		return r, errors.Wrap(err, "cannot read the CustomResourceDefinitions of this provider")
	}
	if o.ControlPlane != nil {
		registry, err := d.registry(o.ControlPlane)
		if err != nil {
			return r, err
		}
		defer registry.Close()
		if err := d.connect(registry); err != nil {
			return r, err
		}
	}
	if o.ControlPlane != nil && o.Target != nil {
		registry, err := d.registry(o.Target)
		if err != nil {
			return r, err
		}
		defer registry.Close()
		d.target = registry.Local()
	}
	for _, doc := range docs {
		r.add(d.judge(ctx, doc))
	}
	return r, nil
}

// connect prepares the comparison of Objects by the connections of the control plane.
func (d *differ) connect(registry *clusters.Registry) error {
	scheme := runtime.NewScheme()
	err := apis.AddToScheme(scheme)
	if err == nil {
		d.local, err = client.New(d.options.ControlPlane, client.Options{Scheme: scheme})
	}
	if err != nil {
		return errors.Wrap(err, "cannot create client of the control plane")
	}
	d.compared = object.Options{
		Options: targetresource.Options{Registry: registry},
		References: reference.NewResolver(reference.Options{
			Cluster: registry.Local(), Wake: func(informer.Owner) {}, Sanitized: d.options.Sanitized,
			CrossNamespace: d.options.Connections.AllowCrossNamespace,
		}),
		List: d.list,
	}
	return nil
}

// list returns the Objects of both scopes that options select. The kind of a scope need not be installed.
func (d *differ) list(ctx context.Context, o ...client.ListOption) (all []client.Object, err error) {
	for _, l := range []resource.ManagedList{
		scope.ClusterObject(nil).NewList(), scope.NamespacedObject(nil).NewList(),
	} {
		if err := d.local.List(ctx, l, o...); err != nil && !apimeta.IsNoMatchError(err) {
			return nil, errors.Wrap(err, "cannot list Objects")
		}
		for _, mg := range l.GetItems() {
			all = append(all, mg)
		}
	}
	return all, nil
}

// registry returns a registry of connections whose own cluster is that of a configuration.
func (d *differ) registry(cfg *rest.Config) (*clusters.Registry, error) {
	o := d.options.Connections
	o.Injected = cfg
	r, err := clusters.NewRegistry(o)
	return r, errors.Wrap(err, "cannot create the registry of connections")
}

// judge returns what becomes of a manifest.
func (d *differ) judge(ctx context.Context, doc document) *Result {
	if doc.err != nil {
		return &Result{Effect: Invalid, Object: doc.at, Messages: []string{doc.err.Error()}}
	}
	definition := d.definitionOf(doc.Unstructured)
	if definition == nil {
		return d.judgeResource(ctx, doc.Unstructured)
	}
	if doc.GetNamespace() == "" && definition.Spec.Scope == apiextensionsv1.NamespaceScoped {
		doc.SetNamespace(d.options.Namespace)
	}
	r := &Result{Effect: None, Object: nameOf(doc, doc.GetKind())}
	o, wrong := d.compile(ctx, doc.Unstructured, definition)
	switch {
	case len(wrong) > 0:
		r.Effect, r.Messages = Invalid, wrong
	case o != nil && d.local != nil:
		c, err := object.Comparison{}, d.recall(ctx, o)
		if err == nil {
			c, err = d.compare(ctx, o)
		}
		r.take(c, err)
	}
	return r
}

// recall gives an Object the UID and the status of the one on the control plane, if there is one.
func (d *differ) recall(ctx context.Context, o object.Object) error {
	known := newObject(o.GetObjectKind().GroupVersionKind().GroupKind())
	err := d.local.Get(ctx, client.ObjectKeyFromObject(o), known)
	if client.IgnoreNotFound(err) != nil {
		return errors.Wrap(err, "cannot get the Object from the control plane")
	}
	o.SetUID(known.GetUID())
	*o.Observed() = *known.Observed()
	return nil
}

// judgeResource returns what becomes of the manifest of a resource, as if it were that of a new Object of its name.
func (d *differ) judgeResource(ctx context.Context, u *unstructured.Unstructured) *Result {
	r := &Result{Effect: None, Resource: nameOf(u, u.GetKind())}
	switch {
	case d.local == nil:
		return r
	case d.target == nil:
		r.Effect = Unknown
		r.Messages = []string{
			"the manifest is not an Object: set --target-kubeconfig to the cluster to compare with",
		}
		return r
	case u.GetNamespace() == "":
		u.SetNamespace(d.options.TargetNamespace) // What is not namespaced loses it again.
	}
	o := &objectv1alpha2.Object{}
	o.SetName(u.GetName())
	o.Spec.ManagementPolicies = xpv2.ManagementPolicies{xpv2.ManagementActionAll}
	o.Spec.ForProvider.Manifest.Raw, _ = u.MarshalJSON() // It has been parsed.
	r.take(d.compare(ctx, o))
	return r
}

// compare returns what an Object would change, when it is not too early to tell any more.
func (d *differ) compare(ctx context.Context, o object.Object) (c object.Comparison, err error) {
	_ = wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		switch o := o.(type) {
		case *objectv1alpha2.Object:
			c, err = compareAs(ctx, d, scope.ClusterObject(d.local), o)
		case *mobjectv1alpha1.Object:
			c, err = compareAs(ctx, d, scope.NamespacedObject(d.local), o)
		}
		return !apierrors.IsConflict(err) && !clusters.IsBrief(err), nil
	}) // What it says last counts.
	return c, err
}

func compareAs[T object.Object](ctx context.Context, d *differ, k scope.Kind[T], o T) (object.Comparison, error) {
	return object.Comparer[T]{Kind: k, Options: d.compared, Target: d.target}.Compare(ctx, o)
}

// take fills in what a comparison has found, or why it has found nothing.
func (r *Result) take(c object.Comparison, err error) {
	r.Resource, r.Target, r.Diff, r.Was = cmp.Or(c.Resource, r.Resource), c.Target, c.Operations, c.Reverse
	switch {
	case err != nil:
		r.Effect, r.Messages = Unknown, []string{err.Error()}
		switch cmp.Or(reference.ReasonOf(err), targetresource.CauseOf(err).Reason) { //nolint:exhaustive // Others may pass.
		case commonv1.ReasonInvalidManifest, commonv1.ReasonInvalidReference:
			r.Effect = Invalid
		}
		return
	case c.Missing:
		r.Effect = Creates
	case len(c.Operations) > 0 || c.Replaced != "":
		r.Effect = Changes
	default:
		return
	}
	if c.Replaced != "" {
		r.Messages = append(r.Messages, "it replaces "+c.Replaced)
	}
	if !c.Allowed {
		r.Messages = append(r.Messages, "the management policies do not allow that")
	}
}

// nameOf names a manifest: its kind, namespace and name.
func nameOf(u metav1.Object, kind string) string {
	return kind + " " + cache.MetaObjectToName(u).String()
}
