package preflight

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mcollectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/collection/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
)

// An objectKind is Object in one scope.
type objectKind struct {
	at  schema.GroupVersionResource
	new func() object.Object
}

// Kinds that provider-kubernetes has.
var (
	objectKinds = []objectKind{
		{objectv1alpha2.GroupVersion.WithResource("objects"), func() object.Object { return &objectv1alpha2.Object{} }},
		{mobjectv1alpha1.GroupVersion.WithResource("objects"), func() object.Object { return &mobjectv1alpha1.Object{} }},
	}
	configKinds = []schema.GroupVersionResource{
		pcv1alpha1.GroupVersion.WithResource("providerconfigs"),
		mpcv1alpha1.GroupVersion.WithResource("providerconfigs"),
		mpcv1alpha1.GroupVersion.WithResource("clusterproviderconfigs"),
	}
	collectionKinds = []schema.GroupVersionResource{
		collectionv1alpha1.GroupVersion.WithResource("observedobjectcollections"),
		mcollectionv1alpha1.GroupVersion.WithResource("observedobjectcollections"),
	}
	usageKinds = []schema.GroupVersionResource{
		pcv1alpha1.GroupVersion.WithResource("providerconfigusages"),
		mpcv1alpha1.GroupVersion.WithResource("providerconfigusages"),
	}
)

// providerKubernetes adds what becomes of all that provider-kubernetes has.
func (p *pass) providerKubernetes(ctx context.Context) error {
	w, err := p.judgeWorkloads(ctx, ProviderKubernetes)
	if err != nil {
		return err
	}
	w.judgeFlags(p.t, p.options.Flags)
	x := newObjects(p.t, p.options.Target.AllowCrossNamespace)
	for _, k := range objectKinds {
		judge := func(u *unstructured.Unstructured, s *kindSchema) { x.judge(ctx, u, s, k.new()) }
		if err := p.each(ctx, k.at, judge); err != nil {
			return err
		}
	}
	judge := func(u *unstructured.Unstructured, s *kindSchema) { p.judgeConfig(ctx, u, s) }
	for _, at := range configKinds {
		if err := p.each(ctx, at, judge); err != nil {
			return err
		}
	}
	for _, at := range collectionKinds {
		if err := p.each(ctx, at, func(u *unstructured.Unstructured, s *kindSchema) {
			what := u.GetKind() + " of " + at.Group
			if judgeSchema(ctx, p.t, u, s, what) {
				p.t.add(kept(what), nameOf(u))
			}
		}); err != nil {
			return err
		}
	}
	for _, at := range usageKinds {
		p.definitionOf(ctx, at)
	}
	if p.found == 0 {
		p.t.addCount(kept("CustomResourceDefinition of provider-kubernetes: there is nothing to take over"), "", 0)
	}
	return nil
}

// judgeConfig adds what becomes of a ProviderConfig.
func (p *pass) judgeConfig(ctx context.Context, u *unstructured.Unstructured, s *kindSchema) {
	what := u.GetKind() + " of " + u.GroupVersionKind().Group
	if !judgeSchema(ctx, p.t, u, s, what) {
		return
	}
	config := struct {
		Spec mpcv1alpha1.ClusterProviderConfigSpec `json:"spec"`
	}{}
	if err := decode(u, &config); err != nil {
		p.t.add(refused(what, err.Error(), "change it"), nameOf(u))
		return
	}
	if u.GetKind() == mpcv1alpha1.ClusterProviderConfigGroupVersionKind.Kind &&
		config.Spec.AllowedNamespaces == nil && p.options.Target.RestrictClusterConfigs {
		p.t.add(refused(what+" without allowedNamespaces",
			"with --restrict-cluster-provider-configs it serves no namespace",
			"take over without the flag, list the namespaces, and set it then: docs/tenancy.md"), nameOf(u))
		return
	}
	c := commonv1.Connection{Spec: &config.Spec.ProviderConfigSpec, Tenant: u.GetNamespace()}
	p.configs.judge(ctx, what, nameOf(u), c)
}

// each calls f with each object of a kind that both providers have, and adds what becomes of the definition.
func (p *pass) each(
	ctx context.Context, at schema.GroupVersionResource, f func(*unstructured.Unstructured, *kindSchema),
) error {
	is := p.definitionOf(ctx, at)
	if is == nil {
		return nil
	}
	if !projection.Serves(is, at.Version) {
		p.t.add(refused("CustomResourceDefinition that does not serve "+at.Version,
			"the former provider is older than that version, and its objects cannot be read",
			"upgrade the former provider first, and run this again"), is.GetName())
		return nil
	}
	s, err := newSchema(p.ours[at.GroupResource().String()], at.Version)
	if err != nil {
		return err
	}
	p.reader.each(ctx, at, func(u *unstructured.Unstructured) { f(u, s) })
	return nil
}

// definitionOf adds what becomes of the definition of a kind, and returns it, nil if there is none or none is known.
func (p *pass) definitionOf(
	ctx context.Context, at schema.GroupVersionResource,
) *apiextensionsv1.CustomResourceDefinition {
	is, _ := p.reader.definition(ctx, at.GroupResource().String())
	if is == nil {
		return nil
	}
	p.found++
	judgeDefinition(p.t, is, p.ours[is.GetName()])
	return is
}
