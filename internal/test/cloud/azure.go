package cloud

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"
)

// AzureServer is the application for which tokens of Azure are meant.
const AzureServer = "6dae42f8-4368-4678-94ff-3960e28e3630"

// azureFederated is the content of the file that makes a workload identity.
const azureFederated = "azure-federated-token"

// AzureServicePrincipal makes a service principal known to Azure, and returns its credentials with its secret.
func (c *Clouds) AzureServicePrincipal(tb testing.TB, client string, p Principal) []byte {
	tb.Helper()
	c.Add(client, p)
	return encode(tb, map[string]string{"clientId": client, "clientSecret": p.Secret, "tenantId": "tenant"})
}

// AzureCertificate makes a service principal known to Azure, and returns its credentials with its certificate.
func (c *Clouds) AzureCertificate(tb testing.TB, client string, p Principal) []byte {
	tb.Helper()
	p.Secret = "" // It has proved that it has the key.
	c.Add(client, p)
	_, cert := certificate("principal")
	der, err := x509.MarshalPKCS8PrivateKey(key())
	if err != nil {
		tb.Fatal(err)
	}
	content := string(cert) + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	return encode(tb, map[string]string{"clientId": client, "clientCertificate": content, "tenantId": "tenant"})
}

// AzureWorkload makes a workload identity known to Azure, and returns its credentials. They name a file of the process.
func (c *Clouds) AzureWorkload(tb testing.TB, client string, p Principal) []byte {
	tb.Helper()
	p.Secret = azureFederated
	c.Add(client, p)
	return encode(tb, map[string]string{
		"clientId": client, "tenantId": "tenant", "federatedTokenFile": c.file("azure-token", []byte(azureFederated)),
		"authorityHost": "https://login.microsoftonline.com/",
	})
}

// azureAuthority answers what the libraries of Azure ask:
// https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
func (c *Clouds) azureAuthority(w http.ResponseWriter, r *http.Request) {
	const authority = "https://login.microsoftonline.com/tenant"
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/discovery/instance"):
		write(w, map[string]any{
			"tenant_discovery_endpoint": authority + "/v2.0/.well-known/openid-configuration",
			"metadata": []any{map[string]any{
				"preferred_network": "login.microsoftonline.com", "preferred_cache": "login.windows.net",
				"aliases": []string{"login.microsoftonline.com", "login.microsoft.com"},
			}},
		})
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		write(w, map[string]string{
			"issuer": authority + "/v2.0", "authorization_endpoint": authority + "/oauth2/v2.0/authorize",
			"token_endpoint": authority + "/oauth2/v2.0/token",
		})
	default:
		c.azureToken(w, r)
	}
}

func (c *Clouds) azureToken(w http.ResponseWriter, r *http.Request) {
	asked := r.FormValue("grant_type") == "client_credentials" &&
		strings.Contains(" "+r.FormValue("scope")+" ", " "+AzureServer+"/.default ")
	secret := r.FormValue("client_secret")
	if a := r.FormValue("client_assertion"); a != "" {
		secret = a
		if part := strings.Split(a, "."); len(part) == 3 && signed(part) {
			secret = ""
		}
	}
	if !asked {
		secret = "wrong request"
	}
	c.answer(w, r.FormValue("client_id"), secret)
}

func encode(tb testing.TB, v any) []byte {
	tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
