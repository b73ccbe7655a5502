package preflight

import (
	"context"
	"slices"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	collectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/collection/v1alpha1"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mcollectionv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/collection/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
)

// A kind is one whose objects are judged.
type kind struct {
	at    schema.GroupVersionResource
	judge func(*pass, context.Context, *unstructured.Unstructured, *Schema)
}

// Kinds that provider-kubernetes has.
var (
	kinds = []kind{
		{objectv1alpha2.GroupVersion.WithResource("objects"), (*pass).judgeObject},
		{mobjectv1alpha1.GroupVersion.WithResource("objects"), (*pass).judgeObject},
		{pcv1alpha1.GroupVersion.WithResource("providerconfigs"), (*pass).judgeConfig},
		{mpcv1alpha1.GroupVersion.WithResource("providerconfigs"), (*pass).judgeConfig},
		{mpcv1alpha1.GroupVersion.WithResource("clusterproviderconfigs"), (*pass).judgeConfig},
		{collectionv1alpha1.GroupVersion.WithResource("observedobjectcollections"), (*pass).judgeCollection},
		{mcollectionv1alpha1.GroupVersion.WithResource("observedobjectcollections"), (*pass).judgeCollection},
	}
	usageKinds = []schema.GroupVersionResource{
		pcv1alpha1.GroupVersion.WithResource("providerconfigusages"),
		mpcv1alpha1.GroupVersion.WithResource("providerconfigusages"),
	}
)

// providerKubernetes adds what becomes of all that provider-kubernetes has.
func (p *pass) providerKubernetes(ctx context.Context) error {
	if _, err := p.judgeWorkloads(ctx, ProviderKubernetes); err != nil {
		return err
	}
	for _, k := range kinds {
		judge := func(u *unstructured.Unstructured, s *Schema) { k.judge(p, ctx, u, s) }
		if err := p.each(ctx, k.at, judge); err != nil {
			return err
		}
	}
	for _, at := range usageKinds {
		p.definitionOf(at)
	}
	if p.found == 0 && p.known {
		p.t.addCount(kept("CustomResourceDefinition of provider-kubernetes: there is nothing to migrate"), "", 0)
	}
	return nil
}

// judgeCollection adds what becomes of an ObservedObjectCollection.
func (p *pass) judgeCollection(ctx context.Context, u *unstructured.Unstructured, s *Schema) {
	what := u.GetKind() + " of " + u.GroupVersionKind().Group
	if judgeSchema(ctx, p.t, u, s, what) {
		p.t.add(kept(what), nameOf(u))
	}
}

// judgeConfig adds what becomes of a ProviderConfig.
func (p *pass) judgeConfig(ctx context.Context, u *unstructured.Unstructured, s *Schema) {
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
			"migrate without the flag, list the namespaces, then set it: docs/how-to/isolate-tenants.md"), nameOf(u))
		return
	}
	c := commonv1.Connection{Spec: &config.Spec.ProviderConfigSpec, Tenant: u.GetNamespace()}
	p.judgeCredentials(ctx, what, nameOf(u), c)
}

// each calls f with each object of a kind that both providers have, and adds what becomes of the definition.
func (p *pass) each(
	ctx context.Context, at schema.GroupVersionResource, f func(*unstructured.Unstructured, *Schema),
) error {
	is := p.definitionOf(at)
	if is == nil {
		return nil
	}
	if !apihelpers.HasServedCRDVersion(is, at.Version) {
		p.t.add(refused("CustomResourceDefinition that does not serve "+at.Version,
			"the former provider is older than that version, and its objects cannot be read",
			"upgrade the former provider first, and run this again"), is.GetName())
		return nil
	}
	s, err := NewSchema(p.ours[at.GroupResource().String()], at.Version)
	if err != nil {
		return err
	}
	p.reader.each(ctx, at, func(u *unstructured.Unstructured) { f(u, s) })
	return nil
}

// definitionOf adds what becomes of the definition of a kind, and returns it, nil if there is none or none is known.
func (p *pass) definitionOf(at schema.GroupVersionResource) *apiextensionsv1.CustomResourceDefinition {
	is := p.theirs[at.GroupResource().String()]
	if is == nil {
		return nil
	}
	p.found++
	judgeDefinition(p.t, is, p.ours[is.GetName()])
	return is
}

// judgeObject adds what becomes of an Object of either scope.
func (p *pass) judgeObject(ctx context.Context, u *unstructured.Unstructured, s *Schema) {
	var o object.Object = &objectv1alpha2.Object{}
	if u.GetNamespace() != "" {
		o = &mobjectv1alpha1.Object{}
	}
	what := "Object of " + u.GroupVersionKind().Group
	name := nameOf(u)
	before := p.t.total
	fits := judgeSchema(ctx, p.t, u, s, what)
	if err := decode(u, o); err != nil {
		if fits {
			p.t.add(refused(what, err.Error(), "change it"), name)
		}
		return
	}
	p.judgeReferences(u.GroupVersionKind(), what, o)
	p.judgeState(what, o)
	if object.AppliedByClient(o) {
		p.t.add(differs(what+" that was applied client-side",
			"one patch transfers its fields to manager provider-kubernetes/<name>. "+
				"This removes fields that are no longer in the manifest"), name)
	}
	if p.t.total == before {
		p.t.add(kept(what), name)
	}
	if !o.Desired().Watch {
		p.t.add(differs(what+" without watch: true",
			"this provider watches the resource anyway: it reverts drift at once, not at the next poll"), name)
	}
}

// judgeReferences adds the references that are refused, and those of which more counts than before.
func (p *pass) judgeReferences(gvk schema.GroupVersionKind, what string, o object.Object) {
	rules := reference.Rules{GVK: gvk, Namespace: o.GetNamespace(), CrossNamespace: p.options.Target.AllowCrossNamespace}
	open := rules
	open.CrossNamespace = true
	others := reference.Normalise(o.Desired(), open)
	if slices.ContainsFunc(o.Desired().References, func(r commonv1.Reference) bool {
		return r.DependsOn != nil && r.PatchesFrom != nil
	}) {
		p.t.add(differs(what+" with both dependsOn and patchesFrom in a reference",
			"both apply: the Object is not reconciled while the resource in dependsOn does not exist, "+
				"and that resource is deleted after the Object"), nameOf(o))
	}
	for i, r := range reference.Normalise(o.Desired(), rules) {
		switch {
		case r.Err == nil:
		case others[i].Err == nil:
			p.t.add(refused(what+" with a reference to another namespace",
				"namespaced Objects may only refer to resources in their namespace",
				"start this provider, and this check, with --allow-cross-namespace-references, "+
					"or refer to a copy in the namespace: docs/reference/object.md"),
				nameOf(o))
		default:
			p.t.add(refused(what+" with a reference that is refused", r.Err.Error(),
				"change the reference: docs/reference/object.md"), nameOf(o))
		}
	}
}

// judgeState adds what the takeover finds half done.
func (p *pass) judgeState(what string, o object.Object) {
	name := nameOf(o)
	if o.GetDeletionTimestamp() != nil {
		p.t.add(differs(what+" that is being deleted",
			"its deletion continues, and deletes only the resource that the Object has created or last observed"), name)
		return
	}
	synced := o.GetCondition(xpv2.TypeSynced)
	if synced.Status != corev1.ConditionTrue && synced.Reason != xpv2.ReasonReconcilePaused {
		p.t.add(refused(what+" that is not Synced",
			"this provider would make a change that provider-kubernetes could not make, or fail like it",
			"read the condition, then fix the Object or delete it"), name)
	}
}

// judgeSchema completes an object by our schema, adds what the schema refuses, and reports whether that is nothing.
func judgeSchema(ctx context.Context, t *tally, u *unstructured.Unstructured, s *Schema, what string) bool {
	s.Complete(u)
	wrong := s.Check(ctx, u)
	for _, text := range wrong {
		t.add(refused(what+" that the CustomResourceDefinition of this provider rejects", text, "change the field"),
			nameOf(u))
	}
	return len(wrong) == 0
}

// nameOf returns the name of an object, with its namespace if it has one.
func nameOf(o metav1.Object) string { return cache.MetaObjectToName(o).String() }
