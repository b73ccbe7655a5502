package preflight

import (
	"cmp"
	"context"

	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/package/crds"
)

// What can be taken over.
const (
	ProviderKubernetes = "provider-kubernetes"
	APISyncAgent       = "api-syncagent"
)

// Options say how the provider will run after the takeover.
type Options struct {
	// ControlPlane is how the control plane is reached.
	ControlPlane *rest.Config
	// Target are the options of connections. The control plane is added.
	Target clusters.Options
	// Selector selects the PublishedResources of the provider.
	Selector labels.Selector
	// StateNamespace is the namespace of states of PublishedResources that name no other.
	StateNamespace string
	// DefaultConfig is the ClusterProviderConfig of PublishedResources that name no other.
	DefaultConfig string
}

// A pass is one look at a control plane.
type pass struct {
	options Options
	t       *tally
	reader  *reader
	configs *configs
	ours    map[string]*apiextensionsv1.CustomResourceDefinition
	found   int // definitions of the former provider

	names      []string // of CustomResourceDefinitions, nil if they have not been read
	namesKnown bool
}

// Run looks at what a takeover from a former provider would do. An error means that nothing could be looked at.
func Run(ctx context.Context, from string, o Options) (Report, error) {
	p := &pass{options: o, t: newTally()}
	var err error
	if p.ours, err = crds.All(); err != nil {
		return Report{}, errors.Wrap(err, "cannot read our definitions")
	}
	if p.reader, err = newReader(p.t, o.ControlPlane); err != nil {
		return Report{}, err
	}
	o.Target.Injected = o.ControlPlane
	registry, err := clusters.NewRegistry(o.Target)
	if err != nil {
		return Report{}, errors.Wrap(err, "cannot check credentials")
	}
	defer registry.Close()
	p.configs = &configs{t: p.t, check: patiently(registry.Check)}
	switch from {
	case ProviderKubernetes:
		err = p.providerKubernetes(ctx)
	case APISyncAgent:
		err = p.apiSyncAgent(ctx)
	default:
		err = errors.Errorf("cannot take over from %q", from)
	}
	return p.t.report(from), err
}

// judgeWorkloads adds what runs, and returns it.
func (p *pass) judgeWorkloads(ctx context.Context, from string) (*workloads, error) {
	w := newWorkloads()
	var failed error
	seen := p.reader.each(ctx, deployments, func(u *unstructured.Unstructured) {
		failed = cmp.Or(failed, w.addDeployment(from, u))
	})
	if from == ProviderKubernetes {
		p.reader.eachServed(ctx, packages, func(u *unstructured.Unstructured) { w.addPackage(from, u) })
		if len(w.used) > 0 {
			p.reader.eachServed(ctx, runtimes, func(u *unstructured.Unstructured) { w.judgeAccount(p.t, u) })
		}
	}
	if seen {
		w.judge(p.t, from)
	}
	return w, failed
}
