// Package serviceaccount mints tokens of ServiceAccounts of the control plane, for the control plane itself.
//
// A token is that of a TokenRequest for the audience of the API server, so it is of use nowhere else. Tokens for other
// clusters that trust the issuer were rejected: a server of a tenant's choice would get those of an account that may do
// much on the control plane.
package serviceaccount

import (
	"context"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/oauth2"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

// life is how long a token lasts, in seconds.
const life = 3600

// New returns a Source of tokens of a ServiceAccount. The client is the provider's own.
func New(control dynamic.Interface, account types.NamespacedName) identity.Source {
	return func(ctx context.Context) (*oauth2.Token, error) {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"expirationSeconds": int64(life)}}}
		u.SetGroupVersionKind(authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"))
		u.SetName(account.Name)
		accounts := control.Resource(corev1.SchemeGroupVersion.WithResource("serviceaccounts"))
		u, err := accounts.Namespace(account.Namespace).Create(ctx, u, metav1.CreateOptions{}, "token")
		switch {
		case apierrors.IsNotFound(err):
			return nil, errors.Errorf("ServiceAccount %s does not exist on the control plane", account)
		case apierrors.IsForbidden(err):
			return nil, errors.Errorf("the provider may not create tokens of ServiceAccount %s: "+
				"grant it verb create on serviceaccounts/token there", account)
		case err != nil:
			return nil, errors.Errorf("the control plane returns no token of ServiceAccount %s", account)
		}
		token, _, _ := unstructured.NestedString(u.Object, "status", "token")
		ends, _, _ := unstructured.NestedString(u.Object, "status", "expirationTimestamp")
		expiry, err := time.Parse(time.RFC3339, ends)
		if err != nil {
			return nil, errors.Errorf("the control plane returns a token of ServiceAccount %s without an expiration time",
				account)
		}
		return &oauth2.Token{AccessToken: token, Expiry: expiry}, nil
	}
}
