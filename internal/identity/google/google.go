// Package google mints tokens for GKE from Google application credentials.
//
// Credentials are the JSON that Google hands out, or a bare access token. What a tenant writes is limited to the kinds
// of JSON that hold all they need, and to addresses of Google: the other kinds name files, programs or the surroundings
// of their user, which here are those of the provider.
package google

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

// maxDepth is how many credentials may be nested in each other, as those which impersonate are.
const maxDepth = 3

// googles are the addresses that Google writes into credentials, and its domain. The second host is in old keys.
var googles = regexp.MustCompile(
	`^(https://(oauth2\.googleapis|iamcredentials\.googleapis|accounts\.google)\.com/.*|googleapis\.com|)$`)

// scopes are what GKE needs.
func scopes() []string {
	return []string{"https://www.googleapis.com/auth/cloud-platform", "https://www.googleapis.com/auth/userinfo.email"}
}

// A content is what decides whether credentials may be used. Its fields have the types that they have in the library,
// so that both read the same from a field that is given twice.
type content struct {
	Type             google.CredentialsType `json:"type"`
	TokenURI         string                 `json:"token_uri"`
	ImpersonationURL string                 `json:"service_account_impersonation_url"`
	UniverseDomain   string                 `json:"universe_domain"`
	Source           *content               `json:"source_credentials"`
	Web              json.RawMessage        `json:"web"`
	Installed        json.RawMessage        `json:"installed"`
}

// New returns a Source of tokens for credentials that somebody has written.
func New(credentials []byte, by identity.Writer) (identity.Source, error) {
	credentials = bytes.TrimSpace(credentials)
	if !json.Valid(credentials) {
		s, err := identity.Static(string(credentials))
		if err != nil {
			return nil, errors.New("Google credentials are neither JSON nor an access token")
		}
		return s, nil
	}
	given := &content{}
	if err := json.Unmarshal(credentials, given); err != nil {
		return nil, errors.New("Google credentials are not a JSON object of strings")
	}
	if err := given.check(by, 0); err != nil {
		return nil, err
	}
	return source(func(ctx context.Context) (oauth2.TokenSource, error) {
		c, err := google.CredentialsFromJSONWithType(ctx, credentials, given.Type, scopes()...)
		if err != nil {
			return nil, errors.Errorf("Google credentials lack a field that their type %q requires, or have a wrong value",
				given.Type)
		}
		return c.TokenSource, nil
	}), nil
}

// Default returns a Source of tokens for the provider's own identity: the file that GOOGLE_APPLICATION_CREDENTIALS
// names, or the ServiceAccount of the machine.
func Default() identity.Source {
	return source(func(ctx context.Context) (oauth2.TokenSource, error) {
		t, err := google.DefaultTokenSource(ctx, scopes()...)
		if err != nil {
			return nil, errors.New("the provider has no Google application default credentials")
		}
		return t, nil
	})
}

// check returns why credentials cannot be used. No error repeats more of them than the type.
func (c *content) check(by identity.Writer, depth int) error {
	if c.Web != nil || c.Installed != nil {
		return errors.New("Google credentials are those of an OAuth client: use the key of a service account")
	}
	if depth > maxDepth {
		return errors.New("Google credentials have too many levels of source_credentials")
	}
	for _, f := range [][2]string{
		{"token_uri", c.TokenURI},
		{"service_account_impersonation_url", c.ImpersonationURL},
		{"universe_domain", c.UniverseDomain},
	} {
		if by == identity.WriterTenant && !googles.MatchString(f[1]) {
			return errors.Errorf("%s of Google credentials is not an address of Google, "+
				"as a namespaced ProviderConfig requires: restore the value that Google has issued", f[0])
		}
	}
	own := []google.CredentialsType{google.ServiceAccount, google.AuthorizedUser, google.ImpersonatedServiceAccount}
	foreign := []google.CredentialsType{google.ExternalAccount, google.ExternalAccountAuthorizedUser}
	switch {
	case slices.Contains(foreign, c.Type) && by == identity.WriterTenant:
		return errors.Errorf("Google credentials of type %s name files or addresses, "+
			"which a namespaced ProviderConfig may not use: use the key of a service account", c.Type)
	case !slices.Contains(own, c.Type) && !slices.Contains(foreign, c.Type):
		return errors.New("Google credentials are of an unknown type: use the key of a service account")
	case c.Type == google.ImpersonatedServiceAccount && c.Source == nil:
		return errors.New("Google credentials have no source_credentials, which their type needs")
	case c.Type == google.ImpersonatedServiceAccount:
		return errors.Wrap(c.Source.check(by, depth+1), "source_credentials")
	}
	return nil
}

// source returns a Source whose tokens each have a token source of Google's library: they keep their tokens and their
// first context.
func source(newTokens func(context.Context) (oauth2.TokenSource, error)) identity.Source {
	return func(ctx context.Context) (*oauth2.Token, error) {
		e := identity.NewExchange(ctx)
		tokens, err := newTokens(context.WithValue(ctx, oauth2.HTTPClient, e.Client()))
		if err != nil {
			return nil, err
		}
		t, err := tokens.Token()
		if err != nil {
			return nil, errors.Errorf("cannot use Google credentials: %s", e.Reason("no token is returned for them"))
		}
		return t, nil
	}
}

// accounts is what the name of a service account is appended to: it is asked for its tokens, whatever ProviderConfigs
// and credentials say.
const accounts = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"

// As returns a Source that impersonates a service account of Google with the tokens of a base. Its tokens last an hour.
// Without delegates the base must be allowed to impersonate the account. Otherwise the base must be allowed to
// impersonate the first delegate, each delegate the next one, and the last one the account. Without an account it
// returns the base.
func As(base identity.Source, account string, delegates []string) identity.Source {
	if account == "" {
		return base
	}
	return func(ctx context.Context) (*oauth2.Token, error) {
		own, err := base(ctx)
		if err != nil {
			return nil, err
		}
		names := make([]string, len(delegates))
		for n, d := range delegates {
			names[n] = "projects/-/serviceAccounts/" + d
		}
		body, err := json.Marshal(map[string]any{"scope": scopes(), "delegates": names})
		if err != nil {
			return nil, errors.Wrap(err, "cannot encode request")
		}
		url := accounts + account + ":generateAccessToken"
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return nil, errors.Wrap(err, "cannot create the request")
		}
		req.Header.Set("Content-Type", "application/json")
		own.SetAuthHeader(req)
		var answer struct {
			AccessToken string    `json:"accessToken"`
			ExpireTime  time.Time `json:"expireTime"`
		}
		e := identity.NewExchange(ctx)
		if err := e.Ask(req, &answer); err != nil || answer.AccessToken == "" || answer.ExpireTime.IsZero() {
			return nil, errors.Errorf("cannot impersonate Google service account %s: %s", account,
				e.Reason("the token endpoint responds without a token"))
		}
		return &oauth2.Token{AccessToken: answer.AccessToken, Expiry: answer.ExpireTime}, nil
	}
}
