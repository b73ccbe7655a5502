package preflight

import (
	"context"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
)

// A credentialCheck returns why a provider refuses the credentials of a ProviderConfig, nil if it does not. Its options
// may be changed first.
type credentialCheck func(ctx context.Context, c commonv1.Connection, with ...func(*clusters.Options)) error

// flags are those that would have a ProviderConfig accepted.
var flags = []struct {
	name string
	set  func(*clusters.Options)
}{
	{"--allow-kubeconfig-exec", func(o *clusters.Options) { o.AllowExec = true }},
	{"--allow-namespaced-provider-credentials", func(o *clusters.Options) { o.AllowProviderCredentials = true }},
	{"--allow-cross-namespace-references", func(o *clusters.Options) { o.AllowCrossNamespace = true }},
}

// judgeCredentials adds what becomes of a ProviderConfig of any kind.
func (p *pass) judgeCredentials(ctx context.Context, what, name string, c commonv1.Connection) {
	if id := c.Spec.Identity; id != nil {
		what += " with identity " + string(id.Type)
	}
	err := p.check(ctx, c)
	switch {
	case err == nil && c.Spec.Credentials.Source == commonv1.CredentialsSourceServiceAccount:
		p.t.add(refused(what+", source ServiceAccount",
			"the provider needs verb create on serviceaccounts/token of each, which this report does not check",
			"grant it: docs/reference/permissions.md"), name)
	case err == nil:
		p.t.add(kept(what), name)
	case errors.Is(err, clusters.ErrNotHere):
		p.t.add(differs(what+", source "+string(c.Spec.Credentials.Source),
			"only the provider can read these credentials: "+
				"give it the variables and files of the former provider"), name)
	case clusters.IsInvalidConnection(err):
		p.t.add(refused(what+" that is refused", err.Error(), p.cure(ctx, c)), name)
	case apierrors.IsForbidden(err):
		p.t.add(cannotLook("get", secrets.GroupResource(), err), name)
	default:
		p.t.add(unknown(what, "cannot read its credentials: "+err.Error(), ""), name)
	}
}

// cure returns what to do about a ProviderConfig that is refused.
func (p *pass) cure(ctx context.Context, c commonv1.Connection) string {
	for _, f := range flags {
		if p.check(ctx, c, f.set) == nil {
			return "start this provider, and this check, with " + f.name + ", or change the ProviderConfig: " +
				"docs/reference/providerconfig.md"
		}
	}
	if c.Spec.Identity != nil {
		return "use credentials that docs/reference/providerconfig.md lists, or a kubeconfig with a token or " +
			"client-certificate-data"
	}
	return "change the ProviderConfig or its Secret"
}
