package azure

import (
	"strings"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

func TestServerID(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		args    []string
		content string
		want    string
	}{
		"TwoArguments": {
			reason:  "A flag has its value behind it.",
			args:    []string{"get-token", "--server-id", "a", "--login", "spn"},
			content: `{}`,
			want:    "a",
		},
		"OneArgument": {reason: "Or in it.", args: []string{"--server-id=a"}, content: `{}`, want: "a"},
		"Last": {
			reason:  "The last one counts.",
			args:    []string{"--server-id=a", "--server-id", "b"},
			content: `{}`,
			want:    "b",
		},
		"Wins": {
			reason:  "The kubeconfig knows its cluster best.",
			args:    []string{"--server-id=a"},
			content: `{"serverId":"b"}`,
			want:    "a",
		},
		"FromJSON": {
			reason:  "Else the credentials say.",
			args:    []string{"get-token"},
			content: `{"serverId":"b"}`,
			want:    "b",
		},
		"NoValue": {
			reason:  "A flag without a value is none.",
			args:    []string{"--server-id"},
			content: `{}`,
			want:    aksServer,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := parse([]byte(tc.content), &clientcmdapi.ExecConfig{Args: tc.args})
			if err != nil || p.ServerID != tc.want {
				t.Errorf("%s\nwant %q, got %+v and %v", tc.reason, tc.want, p, err)
			}
		})
	}
}

func TestPrincipals(t *testing.T) {
	plugin := &clientcmdapi.ExecConfig{Args: []string{"get-token"}}
	for name, tc := range map[string]struct {
		reason  string
		content string
		exec    *clientcmdapi.ExecConfig
		by      identity.Writer
		err     string // part of the message
	}{
		"Secret": {
			reason:  "A secret is enough.",
			content: `{"clientId":"a","tenantId":"b","clientSecret":"c"}`,
			exec:    plugin,
		},
		"Certificate": {
			reason:  "So is a certificate.",
			content: `{"clientId":"a","tenantId":"b","clientCertificate":"c"}`,
			exec:    plugin,
		},
		"Both": {
			reason:  "Both are too much.",
			content: `{"clientId":"a","tenantId":"b","clientSecret":"c","clientCertificate":"c"}`,
			exec:    plugin,
			err:     "either",
		},
		"Neither": {
			reason:  "Neither is too little.",
			content: `{"clientId":"a","tenantId":"b"}`,
			exec:    plugin,
			err:     "either",
		},
		"NoTenant": {
			reason:  "A tenant is needed.",
			content: `{"clientId":"a","clientSecret":"c"}`,
			exec:    plugin,
			err:     "clientId and tenantId",
		},
		"TenantsFile": {
			reason:  "A file is the provider's.",
			content: `{"clientId":"a","tenantId":"b","clientCertificate":"/etc/passwd"}`,
			exec:    plugin,
			err:     "names a file",
		},
		"OurFile": {
			reason:  "Operators may name one.",
			content: `{"clientId":"a","tenantId":"b","clientCertificate":"/etc/passwd"}`,
			exec:    plugin,
			by:      identity.WriterOperator,
		},
		"OwnAuthority": {
			reason:  "What authenticates is sent to Microsoft alone.",
			content: `{"clientId":"a","tenantId":"b","clientSecret":"c","authorityHost":"https://login.microsoftonline.com.a/"}`,
			exec:    plugin,
			err:     "authorityHost of Azure credentials",
		},
		"OtherCaseAuthority": {
			reason:  "A name in another case is the same one.",
			content: `{"clientId":"a","tenantId":"b","clientSecret":"c","AuthorityHost":"https://10.0.0.1/"}`,
			exec:    plugin,
			err:     "authorityHost of Azure credentials",
		},
		"China": {
			reason:  "Microsoft has several clouds.",
			content: `{"clientId":"a","tenantId":"b","clientSecret":"c","authorityHost":"https://login.chinacloudapi.cn/"}`,
			exec:    plugin,
		},
		"PrivateCloud": {
			reason:  "Operators may have one of their own.",
			content: `{"clientId":"a","tenantId":"b","clientSecret":"c","authorityHost":"https://login.example.org/"}`,
			exec:    plugin,
			by:      identity.WriterOperator,
		},
		"WithoutExec": {
			reason:  "The kubeconfig says for which server.",
			content: `{"clientId":"a","tenantId":"b","clientSecret":"c"}`,
			err:     "users[].user.exec.args",
		},
		"WithoutArgs": {
			reason:  "By its arguments.",
			content: `{"clientId":"a","tenantId":"b","clientSecret":"c"}`,
			exec:    &clientcmdapi.ExecConfig{},
			err:     "users[].user.exec.args",
		},
		"NotOfStrings": {
			reason:  "Values are strings.",
			content: `{"clientId":7}`,
			exec:    plugin,
			err:     "not a JSON object of strings",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ServicePrincipal([]byte(tc.content), tc.by, tc.exec)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s\nwant an error that contains %q, got: %v", tc.reason, tc.err, err)
			}
		})
	}
	if _, err := Workload([]byte(`{}`), identity.WriterTenant, plugin); err == nil {
		t.Error("a workload identity is not for tenants")
	}
}
