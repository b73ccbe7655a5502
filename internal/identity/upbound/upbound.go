// Package upbound mints tokens for control planes of Upbound from a session or robot token.
//
// It does what the credential plugin `up organization token` does, whose arguments in the kubeconfig name the
// organization: a token exchange of OAuth (RFC 8693) at auth.upbound.io. Upbound's Go library was rejected: for this
// one request it brings the generation of Kubernetes and Crossplane libraries before ours.
package upbound

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/oauth2"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

const (
	endpoint = "https://auth.upbound.io/apis/tokenexchange.upbound.io/v1alpha1/orgscopedtokens"
	// execVersion is the API version of the plugin.
	execVersion = "client.authentication.k8s.io/v1"
)

// New returns a Source of tokens for the organization that the exec section of a kubeconfig names.
func New(token []byte, exec *clientcmdapi.ExecConfig) (identity.Source, error) {
	trimmed := strings.TrimSpace(string(token))
	if _, err := identity.Static(trimmed); err != nil {
		return nil, errors.Wrap(err, "cannot use Upbound credentials")
	}
	o, err := organization(exec)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*oauth2.Token, error) {
		form := url.Values{
			"grant_type":         {"urn:ietf:params:oauth:grant-type:token-exchange"},
			"audience":           {"upbound:spaces:api", "upbound:spaces:controlplanes"},
			"subject_token_type": {"urn:ietf:params:oauth:token-type:id_token"},
			"subject_token":      {trimmed},
			"scope":              {"upbound:org:" + o},
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
		if err != nil {
			return nil, errors.Wrap(err, "cannot create the request of a token exchange")
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Authorization", "Bearer "+trimmed)
		var answer struct {
			AccessToken string `json:"access_token"`
			ExpiresIn   int    `json:"expires_in"`
		}
		e, asked := identity.NewExchange(ctx), time.Now()
		if err := e.Ask(req, &answer); err != nil || answer.AccessToken == "" {
			return nil, errors.New("cannot use Upbound credentials: " +
				e.Reason("the token endpoint responds without a token"))
		}
		return &oauth2.Token{
			AccessToken: answer.AccessToken, Expiry: asked.Add(time.Duration(answer.ExpiresIn) * time.Second),
		}, nil
	}, nil
}

func organization(exec *clientcmdapi.ExecConfig) (string, error) {
	if exec == nil {
		return "", errors.New("kubeconfig field users[].user.exec is missing: it must run `up organization token`")
	}
	if exec.APIVersion != execVersion {
		return "", errors.Errorf("kubeconfig field users[].user.exec.apiVersion must be %s", execVersion)
	}
	args := exec.Args
	if exec.Command != "up" || len(args) < 2 || args[0] != "org" && args[0] != "organization" || args[1] != "token" {
		return "", errors.New("kubeconfig field users[].user.exec must run `up organization token`")
	}
	name := ""
	if len(args) > 2 {
		name = args[2]
	}
	for _, e := range exec.Env {
		if e.Name == "ORGANIZATION" {
			name = e.Value
			break
		}
	}
	if name == "" {
		return "", errors.New("kubeconfig field users[].user.exec must name an organization, " +
			"by its third argument or variable ORGANIZATION")
	}
	return name, nil
}
