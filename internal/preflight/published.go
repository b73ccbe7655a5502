package preflight

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/publishedresource"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// A published is a PublishedResource, with what it depends on.
type published struct {
	v1alpha1.PublishedResource

	stateNamespace  string                                    // if the spec names none
	defaultConfig   string                                    // the ClusterProviderConfig if the spec names none
	fits            bool                                      // our schema refuses nothing of it
	config          *commonv1.ProviderConfigSpec              // nil if there is none, or none is known
	definition      *apiextensionsv1.CustomResourceDefinition // of the API, nil if there is none, or none is known
	definitionKnown bool

	preview publishedresource.Preview
}

// configName returns the name of the ClusterProviderConfig.
func (o *published) configName() string {
	if r := o.Spec.ProviderConfigReference; r != nil {
		return r.Name
	}
	return o.defaultConfig
}

// statesIn returns the namespace with the states.
func (o *published) statesIn() string { return cmp.Or(o.Spec.StateNamespace, o.stateNamespace) }

// judge adds what becomes of a PublishedResource.
func (o *published) judge(t *tally) {
	var connection *commonv1.KCPConnection
	if o.config != nil {
		connection = &commonv1.KCPConnection{}
		if o.config.KCP != nil {
			connection = o.config.KCP
		}
	}
	o.preview = publishedresource.PreviewOf(&o.PublishedResource, connection, o.definition)
	if !o.fits {
		return // It has been said.
	}
	before := t.total
	for _, err := range o.preview.Errs {
		t.add(refused(whatPublished+" that is refused", err.Error(), "change it as "+guideOfAgent+" says: What is refused"),
			o.GetName())
	}
	if o.definition == nil && o.definitionKnown {
		t.add(refused(whatPublished+" of an API that the service cluster does not have", "nothing can be published",
			"install the API, or delete the PublishedResource"), o.GetName())
	}
	o.judgeRelated(t)
	if was, is := o.Status.ResourceSchemaName, o.preview.Schema; was != "" && is != "" && was != is {
		t.add(differs(whatPublished+" with another APIResourceSchema",
			"a new one is made beside that of the agent: docs/publish.md, Schemas"), o.GetName())
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
			t.add(refused("related resource whose "+field+" consumers name, and other workspaces share",
				"new related objects that the copy does not own are refused",
				"set spec.related[].consumerMayName."+field+": docs/related-resources.md, Who may name what"),
				o.GetName()+"/"+o.Spec.Related[i].Name())
		}
	}
}

// states are the objects that Secrets in each namespace remember, by the key of the identity that their labels say.
type states map[string]map[string]struct{}

// add adds the state Secret of a namespace with labels.
func (s states) add(namespace string, labels map[string]string) {
	if s[namespace] == nil {
		s[namespace] = map[string]struct{}{}
	}
	s[namespace][keyOf(labels)] = struct{}{}
}

// in returns the first namespace with the state of a key, empty if there is none. Those that are given come first.
func (s states) in(key string, first []string) string {
	for _, ns := range append(slices.Clone(first), slices.Sorted(maps.Keys(s))...) {
		if _, ok := s[ns][key]; ok {
			return ns
		}
	}
	return ""
}

func keyOf(labels map[string]string) string {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetLabels(labels)
	return objectsync.KeyOf(u)
}

// copies are what the agent has made of one kind.
type copies struct{ all []copied }

// A copied is one of them.
type copied struct{ name, key, agent string }

func (c *copies) add(m *metav1.PartialObjectMetadata) {
	if key := keyOf(m.GetLabels()); key != "" && m.GetLabels()[objectsync.LabelState] == "" {
		c.all = append(c.all, copied{
			qualified(m.GetNamespace(), m.GetName()), key, m.GetLabels()[v1alpha1.LabelKeyAgentName],
		})
	}
}

// judge adds what becomes of the copies that PublishedResources have.
func (s states) judge(t *tally, of []*published, all map[schema.GroupVersionResource]*copies) {
	for at, made := range all {
		var expected, agents []string
		for _, o := range of {
			if o.preview.Copies == at {
				expected, agents = append(expected, o.statesIn()), append(agents, o.preview.Agent)
			}
		}
		for _, c := range made.all {
			s.judgeCopy(t, at.GroupResource().String(), c, expected)
			judgeOwner(t, at.GroupResource().String(), c, agents)
		}
	}
	for ns, keys := range s {
		if slices.ContainsFunc(of, func(o *published) bool { return o.statesIn() == ns }) {
			t.addCount(kept("state Secret in namespace "+ns), "", len(keys))
		}
	}
}

// judgeCopy adds whether the state of a copy is found.
func (s states) judgeCopy(t *tally, what string, c copied, expected []string) {
	what = "copy of " + what
	switch in := s.in(c.key, expected); {
	case in == "":
		t.add(differs(what+" without a state",
			"what others have set of it is overwritten where the consumer sets it, too, "+
				"and related objects that are copied already are refused"), c.name)
	case !slices.Contains(expected, in):
		t.add(refused(what+" with its state in namespace "+in,
			"this provider looks in "+strings.Join(slices.Compact(slices.Sorted(slices.Values(expected))), ", ")+
				", and would not know what the agent has copied",
			"start this provider, and this check, with --state-namespace "+in+", or set spec.stateNamespace"), c.name)
	default:
		t.add(kept(what), c.name)
	}
}

// judgeOwner adds that a copy has another owner than this provider would be.
func judgeOwner(t *tally, what string, c copied, agents []string) {
	if c.agent == "" || slices.Contains(agents, c.agent) || slices.Contains(agents, "") {
		return
	}
	t.add(refused("copy of "+what+" of agent "+c.agent, "it would be somebody else's: this provider would be "+
		strings.Join(slices.Compact(slices.Sorted(slices.Values(agents))), ", "),
		"set spec.kcp.agentName of the ClusterProviderConfig to "+c.agent+": "+guideOfAgent), c.name)
}

// judgeAgent adds the flags of an agent that this provider has to be given.
func judgeAgent(t *tally, agent workload, selector labels.Selector, of []*published) {
	what, where := "flag of api-syncagent", "Deployment "+agent.name
	value := agent.settings.value
	add := func(flag, why, cure string) { t.add(refused(what+" "+flag, why, cure), where) }
	if v := value("--published-resource-selector"); v != "" {
		if is, err := labels.Parse(v); err != nil || is.String() != selector.String() {
			add("--published-resource-selector", "this provider would reconcile other PublishedResources than the agent: "+
				selector.String(), "start this provider, and this check, with --published-resource-selector="+v)
		}
	}
	in := value("--namespace")
	if in != "" && !slices.ContainsFunc(of, func(o *published) bool { return o.statesIn() == in }) {
		add("--namespace", "no PublishedResource has its states there",
			"start this provider, and this check, with --state-namespace "+in)
	}
	if v := value("--disabled-controllers"); v != "" {
		add("--disabled-controllers", "the agent leaves "+v+" to somebody else",
			"say so by spec.managementPolicies and spec.synchronization of the PublishedResources")
	}
	owner := value("--agent-name")
	if slice := value("--apiexportendpointslice-ref"); owner == "" && slice != "" {
		owner = slice + "-syncagent"
	}
	known := slices.ContainsFunc(of, func(o *published) bool { return o.preview.Agent != "" })
	if owner != "" && known && !slices.ContainsFunc(of, func(o *published) bool { return o.preview.Agent == owner }) {
		add("--agent-name", "no PublishedResource would have "+owner+" as its owner, as those of the agent have",
			"change the ClusterProviderConfig: "+guideOfAgent+configFields(agent))
	}
}
