package preflight

import (
	"context"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

const (
	// controllerName is whom the credentials are read for.
	controllerName = "preflight"
	// patience is how long the Secrets of one ProviderConfig may take to be read, and pause how long is waited between
	// two looks.
	patience = 30 * time.Second
	pause    = 20 * time.Millisecond
)

// A credentialCheck returns why the credentials of a ProviderConfig are refused, nil if they are not.
type credentialCheck func(ctx context.Context, c commonv1.Connection) error

// A flag is one that would have a ProviderConfig accepted.
type flag struct {
	name  string
	check credentialCheck
}

// configs judges ProviderConfigs of all kinds.
type configs struct {
	t     *tally
	check credentialCheck // as the provider will run
	flags []flag          // that it runs without
}

// judge adds what becomes of a ProviderConfig.
func (x *configs) judge(ctx context.Context, what, name string, c commonv1.Connection) {
	if id := c.Spec.Identity; id != nil {
		what += " with identity " + string(id.Type)
	}
	err := x.check(ctx, c)
	switch {
	case err == nil:
		x.t.add(kept(what), name)
	case errors.Is(err, target.ErrNotHere):
		x.t.add(differs(what+", source "+string(c.Spec.Credentials.Source),
			"it was not read, as the provider alone sees it: "+
				"give the provider the variables and files that the former one has"), name)
	case target.IsInvalidConnection(err):
		x.t.add(refused(what+" that is refused", err.Error(), x.cure(ctx, c)), name)
	case apierrors.IsForbidden(err):
		x.t.add(cannotLook("get", secrets.GroupResource(), err), name)
	default:
		x.t.add(unknown(what, "cannot read its credentials: "+err.Error(), ""), name)
	}
}

// cure returns what to do about a ProviderConfig that is refused.
func (x *configs) cure(ctx context.Context, c commonv1.Connection) string {
	for _, f := range x.flags {
		if f.check(ctx, c) == nil {
			return "start this provider, and this check, with " + f.name + ", or change the ProviderConfig: " +
				"docs/identities.md, docs/tenancy.md"
		}
	}
	if c.Spec.Identity != nil {
		return "use credentials that docs/identities.md lists, or a kubeconfig with a token or client-certificate-data"
	}
	return "change the ProviderConfig or its Secret"
}

// registries are Registries of target that judge credentials. They read Secrets, and connect to nothing else.
type registries struct{ all []*target.Registry }

// open returns a check of credentials by a provider with options.
func (r *registries) open(o target.Options) (credentialCheck, error) {
	registry, err := target.NewRegistry(o)
	if err != nil {
		return nil, err
	}
	r.all = append(r.all, registry)
	return func(ctx context.Context, c commonv1.Connection) error { return checkOnce(ctx, registry, c) }, nil
}

func (r *registries) close() {
	for _, registry := range r.all {
		registry.Close()
	}
}

// checkOnce checks credentials as soon as their Secrets have been read.
func checkOnce(ctx context.Context, r *target.Registry, c commonv1.Connection) error {
	o := informer.Owner{
		Controller: controllerName, NamespacedName: types.NamespacedName{Namespace: c.Tenant, Name: controllerName},
	}
	defer r.Forget(o)
	var last error
	err := wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		last = r.Check(ctx, o, c)
		return !apierrors.IsConflict(last), nil // It is too early to tell.
	})
	if err != nil && last == nil {
		return err
	}
	return last
}

// openFlags returns the check of a provider that runs with options, and those of providers with one flag more.
func (r *registries) openFlags(o target.Options) (credentialCheck, []flag, error) {
	check, err := r.open(o)
	if err != nil {
		return nil, nil, err
	}
	exec, own, others := o, o, o
	exec.AllowExec, own.AllowProviderCredentials, others.AllowCrossNamespace = true, true, true
	var flags []flag
	for _, f := range []struct {
		name string
		with target.Options
	}{
		{"--allow-kubeconfig-exec", exec},
		{"--allow-namespaced-provider-credentials", own},
		{"--allow-cross-namespace-references", others},
	} {
		with, err := r.open(f.with)
		if err != nil {
			return nil, nil, err
		}
		flags = append(flags, flag{f.name, with})
	}
	return check, flags, nil
}
