package target

import (
	"context"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// ErrNotHere is the error of Check about credentials in the environment or the file system of the provider, which
// another process cannot see.
var ErrNotHere = errors.New("credentials are in the environment or the file system of the provider")

// Check returns the error that Connect would return about the credentials of a ProviderConfig. It reads Secrets, makes
// no connection to the target, and mints no token. Errors are those of Connect, and ErrNotHere.
func (r *Registry) Check(ctx context.Context, o informer.Owner, described commonv1.Connection) error {
	if err := r.options.admit(described); err != nil {
		return invalidConnectionError{err}
	}
	if notHere(described.Spec.Credentials) || described.Spec.Identity != nil &&
		notHere(described.Spec.Identity.ProviderCredentials) {
		return ErrNotHere
	}
	creds, err := r.options.resolve(ctx, r.local, o, described)
	if err != nil {
		return err
	}
	if _, err := r.options.access(creds); err != nil {
		return invalidConnectionError{err}
	}
	return nil
}

func notHere(p commonv1.ProviderCredentials) bool {
	return p.Source == xpv2.CredentialsSourceEnvironment || p.Source == xpv2.CredentialsSourceFilesystem
}
