package preflight

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/publishedresource"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// A published is a PublishedResource that names its ProviderConfig and the namespace of its states, with what it
// depends on.
type published struct {
	v1alpha1.PublishedResource

	fits            bool                                      // our schema refuses nothing of it
	config          *commonv1.ProviderConfigSpec              // nil if there is none, or none is known
	definition      *apiextensionsv1.CustomResourceDefinition // of the API, nil if there is none, or none is known
	definitionKnown bool

	agent  string // the owner, empty if it is not known
	schema string // the name of the APIResourceSchema, empty if it is not known
}

// api returns the kind that is published.
func (o *published) api() schema.GroupKind {
	return schema.GroupKind{Group: o.Spec.Resource.APIGroup, Kind: o.Spec.Resource.Kind}
}

// judge adds what becomes of a PublishedResource.
func (o *published) judge(t *tally) {
	errs := []error{publishedresource.Compile(&o.PublishedResource), nil, nil}
	if o.config != nil {
		o.agent, errs[1] = publishedresource.AgentName(&o.PublishedResource, o.config.KCP)
	}
	if o.definition != nil {
		o.schema, errs[2] = publishedresource.SchemaName(&o.PublishedResource, o.definition)
	}
	if !o.fits {
		return // It has been said.
	}
	before := t.total
	if wrong := kerrors.Flatten(kerrors.NewAggregate(errs)); wrong != nil {
		for _, err := range wrong.Errors() {
			t.add(refused(whatPublished+" that is refused", err.Error(), "change it: "+rejectedSpecs), o.GetName())
		}
	}
	if o.definition == nil && o.definitionKnown {
		t.add(refused(whatPublished+" of an API that the service cluster does not have", "nothing can be published",
			"install the API, or delete the PublishedResource"), o.GetName())
	}
	o.judgeRelated(t)
	if was, is := o.Status.ResourceSchemaName, o.schema; was != "" && is != "" && was != is {
		t.add(differs(whatPublished+" with another APIResourceSchema",
			"a new one is created next to that of the agent: docs/reference/publishedresource.md, Schemas"), o.GetName())
	}
	if t.total == before {
		t.add(kept(whatPublished), o.GetName())
	}
}

// judgeRelated adds related resources that consumers name in places which others share, and which the service owner has
// not opened. A spec that is refused has been told of.
func (o *published) judgeRelated(t *tally) {
	scope := v1alpha1.ScopeNamespaced
	if o.definition != nil {
		scope = v1alpha1.ResourceScope(o.definition.Spec.Scope)
	}
	namer, err := naming.New(o.Spec.Naming, scope)
	if err != nil {
		return
	}
	_, by := namer.Who()
	for i := range o.Spec.Related {
		r, err := related.New(&o.Spec.Related[i], scope, scope)
		if err != nil {
			return
		}
		for _, field := range r.Unopened(by == naming.Workspace) {
			t.add(refused("related resource with "+field+" that consumers name and that other workspaces share",
				"new related objects that the copy does not own are refused",
				"set spec.related[].consumerMayName."+field+": docs/how-to/sync-related-objects.md, Allow more names"),
				o.GetName()+"/"+o.Spec.Related[i].Name())
		}
	}
}

// judgeAgent adds the flags of an agent that this provider has to be given.
func judgeAgent(t *tally, agent workload, selector labels.Selector, of []*published) {
	what, where := "flag of api-syncagent", "Deployment "+agent.name
	value := agent.value
	add := func(flag, why, cure string) { t.add(refused(what+" "+flag, why, cure), where) }
	if v := value("--published-resource-selector"); v != "" {
		if is, err := labels.Parse(v); err != nil || is.String() != selector.String() {
			add("--published-resource-selector", "this provider would reconcile other PublishedResources than the agent: "+
				selector.String(), "start this provider, and this check, with --published-resource-selector="+v)
		}
	}
	in := value("--namespace")
	if in != "" && !slices.ContainsFunc(of, func(o *published) bool { return o.Spec.StateNamespace == in }) {
		add("--namespace", "no PublishedResource has its sync states there",
			"start this provider, and this check, with --state-namespace "+in)
	}
	if v := value("--disabled-controllers"); v != "" {
		add("--disabled-controllers", "the agent leaves "+v+" to another program",
			"set spec.managementPolicies and spec.synchronization of the PublishedResources accordingly")
	}
	owner := value("--agent-name")
	if slice := value("--apiexportendpointslice-ref"); owner == "" && slice != "" {
		owner = slice + "-syncagent"
	}
	known := slices.ContainsFunc(of, func(o *published) bool { return o.agent != "" })
	if owner != "" && known && !slices.ContainsFunc(of, func(o *published) bool { return o.agent == owner }) {
		add("--agent-name", "no PublishedResource would have "+owner+" as its owner, as those of the agent have",
			"change the ClusterProviderConfig: "+guideOfAgent+configFields(agent))
	}
}
