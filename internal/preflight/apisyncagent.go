package preflight

import (
	"cmp"
	"context"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/publishedresource"
)

const (
	guideOfAgent  = "docs/how-to/migrate-from-api-syncagent.md"
	rejectedSpecs = "docs/reference/api-syncagent.md, Rejected specs"
	whatPublished = "PublishedResource"
	whatConfig    = "ClusterProviderConfig"
)

// configFlags are the flags of an agent that are fields of a ClusterProviderConfig here.
var configFlags = []struct{ flag, field string }{
	{"--agent-name", "spec.kcp.agentName"},
	{"--apiexportendpointslice-ref", "spec.kcp.apiExport.endpointSlice"},
	{"--apiexport-ref", "spec.kcp.apiExport.name"},
}

var (
	publishedKind = v1alpha1.GroupVersion.WithResource("publishedresources")
	publishConfig = mpcv1alpha1.GroupVersion.WithResource("clusterproviderconfigs")
)

// apiSyncAgent adds what becomes of all that api-syncagent has.
func (p *pass) apiSyncAgent(ctx context.Context) error {
	w, err := p.judgeWorkloads(ctx, APISyncAgent)
	if err != nil {
		return err
	}
	configs, known := p.publishConfigs(ctx)
	var all []*published
	if err := p.each(ctx, publishedKind, func(u *unstructured.Unstructured, s *Schema) {
		if o := p.readPublished(ctx, u, s); o != nil {
			all = append(all, o)
		}
	}); err != nil {
		return err
	}
	if p.found == 0 {
		if p.known {
			p.t.addCount(kept("CustomResourceDefinition of api-syncagent: there is nothing to migrate"), "", 0)
		}
		return nil
	}
	apis, complete := p.reader.definitions(ctx, func(u *unstructured.Unstructured) bool {
		group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
		gk := schema.GroupKind{Group: group, Kind: kind}
		return slices.ContainsFunc(all, func(o *published) bool { return o.api() == gk })
	})
	used := map[string]struct{}{}
	for _, o := range all {
		name := o.Spec.ProviderConfigReference.Name
		used[name] = struct{}{}
		o.definition, o.definitionKnown = p.source(o.api(), apis, complete)
		o.config = configs[name]
		o.judge(p.t)
	}
	for name := range used {
		if configs[name] != nil || known {
			p.judgePublishConfig(ctx, name, configs[name], w)
		}
	}
	for _, agent := range w.former {
		judgeAgent(p.t, agent, p.options.Selector, all)
	}
	for namespace, count := range p.reader.states(ctx) {
		is := kept("sync-state Secret in namespace " + namespace)
		if !slices.ContainsFunc(all, func(o *published) bool { return o.Spec.StateNamespace == namespace }) {
			is = refused(is.what, "no PublishedResource has its sync states there, so this provider would not know the "+
				"existing copies",
				"unless they belong to another agent, start this provider, and this check, with --state-namespace "+namespace+
					", or set spec.stateNamespace")
		}
		p.t.addCount(is, "", count)
	}
	return nil
}

// publishConfigs returns the specs of ClusterProviderConfigs by their names, and whether they are known. There are none
// if the kind is not installed yet.
func (p *pass) publishConfigs(ctx context.Context) (map[string]*commonv1.ProviderConfigSpec, bool) {
	all := map[string]*commonv1.ProviderConfigSpec{}
	known := p.reader.eachServed(ctx, publishConfig, func(u *unstructured.Unstructured) {
		pc := &mpcv1alpha1.ClusterProviderConfig{}
		if err := decode(u, pc); err != nil {
			p.t.add(refused(whatConfig, err.Error(), "change it"), u.GetName())
			return
		}
		all[u.GetName()] = &pc.Spec.ProviderConfigSpec
	})
	return all, known
}

// judgePublishConfig adds what becomes of the ClusterProviderConfig that PublishedResources use.
func (p *pass) judgePublishConfig(ctx context.Context, name string, spec *commonv1.ProviderConfigSpec, w *workloads) {
	if spec != nil {
		p.judgeCredentials(ctx, whatConfig, name, commonv1.Connection{Spec: spec})
		return
	}
	p.t.add(refused(whatConfig+" that is missing",
		"PublishedResources without providerConfigRef use that of --default-provider-config",
		"create it from the kubeconfig and flags of the agent, with its definition from package/crds: "+guideOfAgent+
			configFields(w.former...)), name)
}

// configFields returns what ClusterProviderConfigs need for the flags of agents, as the end of a sentence.
func configFields(agents ...workload) string {
	var needed []string
	for _, agent := range agents {
		for _, f := range configFlags {
			if v := agent.value(f.flag); v != "" {
				needed = append(needed, f.field+": "+v+" ("+f.flag+" of "+agent.name+")")
			}
		}
	}
	if needed == nil {
		return ""
	}
	return "; it needs " + strings.Join(needed, ", ")
}

// readPublished returns a PublishedResource of this provider, nil if it is none, or none that can be read.
func (p *pass) readPublished(ctx context.Context, u *unstructured.Unstructured, s *Schema) *published {
	if !p.options.Selector.Matches(labels.Set(u.GetLabels())) {
		p.t.add(differs(whatPublished+" that is not selected", "--published-resource-selector leaves it to another provider"),
			u.GetName())
		return nil
	}
	o := &published{fits: judgeSchema(ctx, p.t, u, s, whatPublished)}
	if err := decode(u, &o.PublishedResource); err != nil {
		if o.fits {
			p.t.add(refused(whatPublished, err.Error(), "change it"), u.GetName())
		}
		return nil
	}
	o.Spec.StateNamespace = cmp.Or(o.Spec.StateNamespace, p.options.StateNamespace)
	o.Spec.ProviderConfigReference = cmp.Or(o.Spec.ProviderConfigReference,
		&v1alpha1.ConfigReference{Name: p.options.DefaultConfig})
	return o
}

// source returns the definition of an API of the service cluster, nil if there is none, and whether that is known.
func (p *pass) source(gk schema.GroupKind,
	custom map[string]*apiextensionsv1.CustomResourceDefinition, complete bool,
) (*apiextensionsv1.CustomResourceDefinition, bool) {
	for _, d := range custom {
		if d.Spec.Group == gk.Group && d.Spec.Names.Kind == gk.Kind {
			return d, true
		}
	}
	if gk.Group != "" && !complete {
		return nil, false
	}
	d, err := publishedresource.BuiltIn(p.reader.discovery, gk)
	if err != nil {
		p.t.add(unknown(gk.String(), "cannot read its definition: "+err.Error(), ""), "")
	}
	return d, err == nil
}
