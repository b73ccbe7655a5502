package google

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/oauth2"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

// accounts is what the name of a service account is appended to: it is asked for its tokens, whatever ProviderConfigs
// and credentials say.
const accounts = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"

// As returns a Source of tokens of a service account of Google, for whoever has the tokens of a base. The base may be
// allowed to impersonate the account, or the first of the delegates, each of which may do so with the next one, and the
// last one with the account. If the account is empty, it is the base.
func As(base identity.Source, account string, delegates []string) identity.Source {
	if account == "" {
		return base
	}
	return impersonation{base: base, account: account, delegates: delegates}
}

// An impersonation mints tokens of an account with those of a base.
type impersonation struct {
	base      identity.Source
	account   string
	delegates []string
}

// Token returns a new token, which lasts for an hour.
func (i impersonation) Token(ctx context.Context) (*oauth2.Token, error) {
	own, err := i.base.Token(ctx)
	if err != nil {
		return nil, err
	}
	delegates := make([]string, len(i.delegates))
	for n, d := range i.delegates {
		delegates[n] = "projects/-/serviceAccounts/" + d
	}
	e := identity.NewExchange(ctx)
	t, err := ask(ctx, e.Client(), own, accounts+i.account+":generateAccessToken",
		map[string]any{"scope": scopes(), "delegates": delegates})
	if err != nil {
		return nil, errors.Errorf("cannot impersonate Google service account %s: %s", i.account,
			e.Reason("the token endpoint responds without a token"))
	}
	return t, nil
}

// ask asks for a token with another one.
func ask(ctx context.Context, c *http.Client, with *oauth2.Token, url string, asked any) (*oauth2.Token, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode request")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.Wrap(err, "cannot create the request")
	}
	req.Header.Set("Content-Type", "application/json")
	with.SetAuthHeader(req)
	res, err := c.Do(req)
	if err != nil {
		return nil, errors.Wrap(err, "cannot request a token")
	}
	defer res.Body.Close() //nolint:errcheck // It was only read.
	var answer struct {
		AccessToken string    `json:"accessToken"`
		ExpireTime  time.Time `json:"expireTime"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return nil, errors.Wrap(err, "cannot decode the response")
	}
	if answer.AccessToken == "" || answer.ExpireTime.IsZero() {
		return nil, errors.New("the response has no token")
	}
	return &oauth2.Token{AccessToken: answer.AccessToken, Expiry: answer.ExpireTime}, nil
}
