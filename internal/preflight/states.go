package preflight

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

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
