package preflight

import (
	"context"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
)

// cureOfConfig is what to do about a ProviderConfig that is refused.
const cureOfConfig = "change the ProviderConfig or its Secret, or start this provider, and this check, with a flag " +
	"that allows it: docs/reference/providerconfig.md"

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
		p.t.add(refused(what+" that is refused", err.Error(), cureOfConfig), name)
	case apierrors.IsForbidden(err):
		p.t.add(cannotLook("get", secrets.GroupResource(), err), name)
	default:
		p.t.add(unknown(what, "cannot read its credentials: "+err.Error(), ""), name)
	}
}
