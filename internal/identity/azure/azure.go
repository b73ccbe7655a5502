// Package azure mints tokens for AKS, and whatever else accepts those of Microsoft Entra, for service principals and
// workload identities.
//
// It does what the credential plugin kubelogin does, whose arguments in the kubeconfig say for which server a token is
// meant, by the library azidentity alone: kubelogin as a library brings interactive logins, a second generation of
// Azure's libraries and their memory.
package azure

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/pkg/errors"
	"golang.org/x/oauth2"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

// aksServer is the application that AKS clusters are known by: https://azure.github.io/kubelogin/concepts/aks.html
const aksServer = "6dae42f8-4368-4678-94ff-3960e28e3630"

// authorities are those of Microsoft's clouds. Empty is the provider's own.
var authorities = []string{
	"", "https://login.microsoftonline.com", "https://login.microsoftonline.us", "https://login.chinacloudapi.cn",
}

// A login is how one kind of credentials is exchanged for a token.
type login func(azcore.ClientOptions) (azcore.TokenCredential, error)

// A principal is who logs in, as written in a Secret.
type principal struct {
	ClientID                  string `json:"clientId"`
	ClientSecret              string `json:"clientSecret"`
	TenantID                  string `json:"tenantId"`
	ClientCertificate         string `json:"clientCertificate"`
	ClientCertificatePassword string `json:"clientCertificatePassword"`
	FederatedTokenFile        string `json:"federatedTokenFile"`
	AuthorityHost             string `json:"authorityHost"`
	ServerID                  string `json:"serverId"`
}

// ServicePrincipal returns a Source of tokens for a service principal that somebody has written, with a secret or a
// certificate. exec is that of the kubeconfig.
func ServicePrincipal(credentials []byte, by identity.Writer, exec *clientcmdapi.ExecConfig) (identity.Source, error) {
	p, err := parse(credentials, exec)
	if err != nil {
		return nil, err
	}
	if (p.ClientSecret == "") == (p.ClientCertificate == "") {
		return nil, errors.New("Azure credentials need either clientSecret or clientCertificate")
	}
	if p.ClientID == "" || p.TenantID == "" {
		return nil, errors.New("Azure credentials need clientId and tenantId")
	}
	if p.namesFile() && by == identity.WriterTenant {
		return nil, errors.New("clientCertificate of Azure credentials names a file, " +
			"which a namespaced ProviderConfig may not use: write the content of the file instead")
	}
	if by == identity.WriterTenant && !slices.Contains(authorities, strings.TrimSuffix(p.AuthorityHost, "/")) {
		return nil, errors.New("authorityHost of Azure credentials is not a host of Microsoft, " +
			"as a namespaced ProviderConfig requires: use the host of your cloud, or remove authorityHost")
	}
	return p.source(p.asServicePrincipal), nil
}

// Workload returns a Source of tokens for a workload identity: the provider's own, whose token is in a file. What the
// credentials leave out is taken from the environment that Azure's webhook sets.
func Workload(credentials []byte, by identity.Writer, exec *clientcmdapi.ExecConfig) (identity.Source, error) {
	if by == identity.WriterTenant {
		return nil, errors.New("Azure workload identities use a file of the provider, " +
			"which a namespaced ProviderConfig may not use: use a service principal")
	}
	p, err := parse(credentials, exec)
	if err != nil {
		return nil, err
	}
	return p.source(p.asWorkload), nil
}

// parse reads credentials, and from the arguments of the plugin for which server they are used.
func parse(credentials []byte, exec *clientcmdapi.ExecConfig) (*principal, error) {
	p := &principal{}
	if err := json.Unmarshal(credentials, p); err != nil {
		return nil, errors.New("Azure credentials are not a JSON object of strings")
	}
	if exec == nil || len(exec.Args) == 0 {
		return nil, errors.New("kubeconfig field users[].user.exec.args is missing: it must contain the " +
			"--server-id of the cluster")
	}
	p.ServerID = cmp.Or(flag(exec.Args, "--server-id"), p.ServerID, aksServer)
	return p, nil
}

// flag returns the value of a flag, written in two arguments or one.
func flag(args []string, name string) string {
	value := ""
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			value = v
		}
		if a == name && i+1 < len(args) {
			value = args[i+1]
		}
	}
	return value
}

func (p *principal) asServicePrincipal(o azcore.ClientOptions) (azcore.TokenCredential, error) {
	known := p.AuthorityHost != "" // See source.
	if p.ClientSecret != "" {
		c, err := azidentity.NewClientSecretCredential(p.TenantID, p.ClientID, p.ClientSecret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: o, DisableInstanceDiscovery: known})
		return c, errors.Wrap(err, "cannot use client secret")
	}
	content, err := p.certificate()
	if err != nil {
		return nil, err
	}
	certs, key, err := azidentity.ParseCertificates(content, []byte(p.ClientCertificatePassword))
	if err != nil {
		return nil, errors.New("clientCertificate does not contain a certificate and key, or its password is wrong")
	}
	c, err := azidentity.NewClientCertificateCredential(p.TenantID, p.ClientID, certs, key,
		&azidentity.ClientCertificateCredentialOptions{
			ClientOptions: o, DisableInstanceDiscovery: known, SendCertificateChain: true,
		})
	return c, errors.Wrap(err, "cannot use client certificate")
}

func (p *principal) asWorkload(o azcore.ClientOptions) (azcore.TokenCredential, error) {
	file := cmp.Or(p.FederatedTokenFile, os.Getenv("AZURE_FEDERATED_TOKEN_FILE"))
	if _, err := os.Stat(file); err != nil { //nolint:gosec // Operators may name files.
		return nil, errors.New("the provider has no federated token file: set label azure.workload.identity/use of its pod " +
			"to true")
	}
	c, err := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
		ClientOptions: o, DisableInstanceDiscovery: p.AuthorityHost != "",
		ClientID: p.ClientID, TenantID: p.TenantID, TokenFilePath: file,
	})
	return c, errors.Wrap(err, "cannot use workload identity")
}

// namesFile reports whether the certificate is the path of a file, as kubelogin wants it, and not the certificate
// itself. No base64 of a certificate begins with a slash.
func (p *principal) namesFile() bool { return strings.HasPrefix(p.ClientCertificate, "/") }

// certificate returns the content of the certificate, which is PEM, base64 or in a file.
func (p *principal) certificate() ([]byte, error) {
	if p.namesFile() {
		b, err := os.ReadFile(p.ClientCertificate)
		if err != nil {
			return nil, errors.New("cannot read the file that clientCertificate names")
		}
		return b, nil
	}
	if b, err := base64.StdEncoding.DecodeString(p.ClientCertificate); err == nil {
		return b, nil
	}
	return []byte(p.ClientCertificate), nil
}

// source returns a Source of tokens by Azure's library. It logs in for each: the library's own cache would hand out a
// token twice.
func (p *principal) source(by login) identity.Source {
	return func(ctx context.Context) (*oauth2.Token, error) {
		e := identity.NewExchange(ctx)
		// The Keeper asks again, with pauses of its own.
		o := azcore.ClientOptions{Transport: e.Client(), Retry: policy.RetryOptions{MaxRetries: -1}}
		if p.AuthorityHost != "" {
			// Whether an authority is one of Microsoft's is asked at Microsoft, which private clouds cannot reach; who
			// writes one trusts it.
			o.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: p.AuthorityHost}
		}
		c, err := by(o)
		if err != nil {
			return nil, errors.Wrap(err, "cannot use Azure credentials") // It has asked nobody yet.
		}
		t, err := c.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{p.ServerID + "/.default"}})
		if err != nil {
			return nil, errors.New("cannot use Azure credentials: " + e.Reason("no token is returned for them"))
		}
		return &oauth2.Token{AccessToken: t.Token, Expiry: t.ExpiresOn}, nil
	}
}
