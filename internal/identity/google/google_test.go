package google

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

// A transport is Google, as a test answers for it.
type transport func(*http.Request) string

// RoundTrip answers, with 403 if the test does not.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, code := t(req), http.StatusOK
	if answer == "" {
		answer, code = `{"error":{"code":403,"message":"hunter2","status":"PERMISSION_DENIED"}}`, http.StatusForbidden
	}
	return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(answer)), Request: req}, nil
}

// TestImpersonation shows what Google is asked for, by the way that the writer of the credentials may take: there is
// one host, whoever they are.
func TestImpersonation(t *testing.T) {
	const (
		scopes = `"scope":["https://www.googleapis.com/auth/cloud-platform",` +
			`"https://www.googleapis.com/auth/userinfo.email"]`
		refused = "cannot impersonate Google service account a@p: the token endpoint responds "
	)
	for name, tc := range map[string]struct {
		reason    string
		delegates []string
		answer    string
		body      string
		err       string
	}{
		"Direct": {
			reason: "The base asks for the account.", body: `{"delegates":[],` + scopes + `}`,
			answer: `{"accessToken":"theirs","expireTime":"2033-01-02T03:04:05Z"}`,
		},
		"Delegates": {
			reason: "They are in order.", delegates: []string{"b@p", "c@p"},
			body:   `{"delegates":["projects/-/serviceAccounts/b@p","projects/-/serviceAccounts/c@p"],` + scopes + `}`,
			answer: `{"accessToken":"theirs","expireTime":"2033-01-02T03:04:05Z"}`,
		},
		"Refused": {
			reason: "A refusal is told without its words.", body: `{"delegates":[],` + scopes + `}`,
			err: refused + "with 403 Forbidden",
		},
		"Endless": {
			reason: "A token has an end.", body: `{"delegates":[],` + scopes + `}`, answer: `{"accessToken":"theirs"}`,
			err: refused + "without a token",
		},
		"NoJSON": {
			reason: "An answer may be anything.", body: `{"delegates":[],` + scopes + `}`, answer: "hunter2",
			err: refused + "without a token",
		},
	} {
		t.Run(name, func(t *testing.T) {
			base, err := New([]byte("own"), identity.WriterTenant)
			if err != nil {
				t.Fatal(err)
			}
			var asked []string
			ctx := identity.WithTransport(t.Context(), transport(func(r *http.Request) string {
				body, _ := io.ReadAll(r.Body)
				asked = []string{r.Method + " " + r.URL.String(), r.Header.Get("Authorization"), string(body)}
				return tc.answer
			}))
			token, err := As(base, "a@p", tc.delegates)(ctx)
			want := []string{
				"POST https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@p:generateAccessToken",
				"Bearer own", tc.body,
			}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Errorf("%s asked: -want, +got:\n%s", tc.reason, diff)
			}
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("%s\nwant error %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil || token.AccessToken != "theirs" || token.Expiry.Year() != 2033 {
				t.Errorf("%s\ngot %v and %v", tc.reason, token, err)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	const external = `{"type":"external_account","credential_source":{"file":"/var/run/secrets/token"}}`
	nestedAt := func(url, source string) string {
		return `{"type":"impersonated_service_account","service_account_impersonation_url":"` + url +
			`","source_credentials":` + source + `}`
	}
	nested := func(source string) string { return nestedAt("", source) }
	at := func(url string) string { return `{"type":"service_account","token_uri":"` + url + `"}` }
	for name, tc := range map[string]struct {
		reason  string
		content string
		by      identity.Writer
		err     string // part of the message
	}{
		"ServiceAccount": {reason: "A key of its own is the tenant's.", content: `{"type":"service_account"}`},
		"AuthorizedUser": {reason: "So is a login.", content: `{"type":"authorized_user"}`},
		"Impersonated":   {reason: "So is who it may act as.", content: nested(`{"type":"service_account"}`)},
		"External": {
			reason:  "A file is the provider's.",
			content: external,
			err:     "external_account name files or addresses",
		},
		"ExternalUser": {
			reason:  "So is an address.",
			content: `{"type":"external_account_authorized_user"}`,
			err:     "name files or addresses",
		},
		"ExternalInside": {
			reason:  "Also at second hand.",
			content: nested(external),
			err:     "source_credentials: Google credentials of type external_account",
		},
		"ExternalOperator": {reason: "Operators may use both.", content: nested(external), by: identity.WriterOperator},
		"TooDeep": {
			reason:  "Nesting ends.",
			content: nested(nested(nested(nested(nested(`{"type":"service_account"}`))))),
			err:     "too many levels of source_credentials",
		},
		"OAuthClient": {
			reason:  "A client needs a person.",
			content: `{"type":"service_account","installed":{}}`,
			err:     "OAuth client",
		},
		"NoType":      {reason: "A type is needed.", content: `{}`, err: "unknown type"},
		"NotAnObject": {reason: "So is an object.", content: `[1]`, err: "not a JSON object"},
		"NoSource": {
			reason:  "So is whom to act for.",
			content: `{"type":"impersonated_service_account"}`,
			err:     "no source_credentials",
		},
		"GoogleHosts": {
			reason: "Google writes its own addresses into credentials.",
			content: nestedAt("https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b:generateAccessToken",
				`{"type":"service_account","token_uri":"https://oauth2.googleapis.com/token",`+
					`"universe_domain":"googleapis.com"}`),
		},
		"OldKey": {
			reason:  "Those of old keys are no others.",
			content: `{"type":"service_account","token_uri":"https://accounts.google.com/o/oauth2/token"}`,
		},
		"TokenURI":      {reason: "Tokens are Google's.", content: at("http://169.254.169.254/"), err: "token_uri of Google"},
		"PlainTokenURI": {reason: "It is encrypted.", content: at("http://oauth2.googleapis.com/"), err: "token_uri"},
		"LongerHost":    {reason: "The host is whole.", content: at("https://oauth2.googleapis.com.a/"), err: "token_uri"},
		"UserInfo":      {reason: "And at its place.", content: at("https://oauth2.googleapis.com@a/"), err: "token_uri"},
		"Port":          {reason: "With its own port.", content: at("https://oauth2.googleapis.com:8/"), err: "token_uri"},
		"TokenURIOperator": {
			reason: "Operators may use any.", content: at("https://token.example.org/"), by: identity.WriterOperator,
		},
		"TokenURIOtherCase": {
			reason:  "The library takes a name in any case.",
			content: `{"type":"authorized_user","Token_URI":"https://a/"}`,
			err:     "token_uri",
		},
		"TokenURIInside": {
			reason:  "What another one is exchanged for is not the tenant's.",
			content: nested(at("https://a/")),
			err:     "source_credentials: token_uri",
		},
		"TokenURITwice": {
			reason: "The library merges what is given twice.",
			content: `{"type":"impersonated_service_account","source_credentials":` + at("https://a/") +
				`,"source_credentials":{"type":"authorized_user"}}`,
			err: "source_credentials: token_uri",
		},
		"ImpersonationURL": {
			reason:  "The token of the source is sent there.",
			content: nestedAt("https://a/", `{"type":"service_account"}`),
			err:     "service_account_impersonation_url of Google",
		},
		"Universe": {
			reason:  "Another universe has hosts of its own.",
			content: `{"type":"service_account","universe_domain":"example.org"}`,
			err:     "universe_domain of Google",
		},
		"URLOfMetadata": {
			reason:  "A credential_source names an address, too.",
			content: `{"type":"external_account","credential_source":{"url":"http://169.254.169.254/"}}`,
			err:     "name files or addresses",
		},
		"OnPremises": {
			reason: "What Google's own clouds do not have is not used at all.", by: identity.WriterOperator,
			content: `{"type":"gdch_service_account","token_uri":"https://a/"}`,
			err:     "unknown type",
		},
		"Token":   {reason: "A token may be bare.", content: "ya29.token\n"},
		"Garbage": {reason: "But it is one.", content: "two words", err: "neither JSON nor an access token"},
		"Empty":   {reason: "Nothing is no token.", content: "", err: "neither JSON nor an access token"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New([]byte(tc.content), tc.by)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s\nwant an error that contains %q, got: %v", tc.reason, tc.err, err)
			}
		})
	}
}
