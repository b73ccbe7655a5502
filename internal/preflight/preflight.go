package preflight

import (
	"cmp"
	"context"
	"time"

	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/package/crds"
)

// What can be taken over.
const (
	ProviderKubernetes = "provider-kubernetes"
	APISyncAgent       = "api-syncagent"
)

const (
	// patience is how long it may take until Secrets can be asked for, and pause how long is waited between two looks.
	patience = 30 * time.Second
	pause    = 20 * time.Millisecond
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
	check   credentialCheck
	ours    map[string]*apiextensionsv1.CustomResourceDefinition
	theirs  map[string]*apiextensionsv1.CustomResourceDefinition // of the same names, as they are installed
	known   bool                                                 // theirs are all there are
	found   int                                                  // definitions of the former provider
}

// Run looks at what a takeover from ProviderKubernetes or APISyncAgent would do. An error means that nothing could be
// looked at.
func Run(ctx context.Context, from string, o Options) (Report, error) {
	p := &pass{options: o, t: newTally()}
	var err error
	if p.ours, err = crds.All(); err != nil {
		return Report{}, errors.Wrap(err, "cannot read the CustomResourceDefinitions of this provider")
	}
	if p.reader, err = newReader(p.t, o.ControlPlane); err != nil {
		return Report{}, err
	}
	p.theirs, p.known = p.reader.definitions(ctx,
		func(u *unstructured.Unstructured) bool { return p.ours[u.GetName()] != nil })
	o.Target.Injected = o.ControlPlane
	registry, err := clusters.NewRegistry(o.Target)
	if err != nil {
		return Report{}, errors.Wrap(err, "cannot check credentials")
	}
	defer registry.Close()
	_ = wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		return registry.Local().Ready(ctx) == nil, nil // If it is not, the checks tell.
	})
	p.check = registry.Check
	if from == APISyncAgent {
		err = p.apiSyncAgent(ctx)
	} else {
		err = p.providerKubernetes(ctx)
	}
	return p.t.report(from), err
}

// judgeWorkloads adds what runs, and returns it.
func (p *pass) judgeWorkloads(ctx context.Context, from string) (*workloads, error) {
	w, failed := &workloads{}, error(nil)
	seen := p.reader.each(ctx, deployments, func(u *unstructured.Unstructured) {
		failed = cmp.Or(failed, w.addDeployment(from, u))
	})
	if from == ProviderKubernetes {
		p.reader.eachServed(ctx, locks, func(u *unstructured.Unstructured) {
			failed = cmp.Or(failed, judgeDependents(p.t, from, u))
		})
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
