package google

import (
	"strings"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

func TestCheck(t *testing.T) {
	const external = `{"type":"external_account","credential_source":{"file":"/var/run/secrets/token"}}`
	nested := func(source string) string {
		return `{"type":"impersonated_service_account","source_credentials":` + source + `}`
	}
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
			err:     "nested too deep",
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
			err:     "not a JSON object",
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
