package clusters

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

func from(source xpv2.CredentialsSource) commonv1.ProviderCredentials {
	return commonv1.ProviderCredentials{Source: source}
}

func fromSecret(namespace string) commonv1.ProviderCredentials {
	p := from(xpv2.CredentialsSourceSecret)
	p.SecretRef = &xpv2.SecretKeySelector{
		SecretReference: xpv2.SecretReference{Namespace: namespace, Name: "s"}, Key: "k",
	}
	return p
}

// A defect of provider-kubernetes: a tenant's ProviderConfig lends the provider's ServiceAccount, files, environment
// and the Secrets of others.
func TestAdmit(t *testing.T) {
	const (
		tenant      = "team"
		injected    = xpv2.CredentialsSourceInjectedIdentity
		environment = xpv2.CredentialsSourceEnvironment
		files       = xpv2.CredentialsSourceFilesystem
		nowhere     = xpv2.CredentialsSourceNone
		ofOthers    = `secretRef.namespace must be "team", the namespace of the ProviderConfig, as the provider runs ` +
			"without --allow-cross-namespace-references"
		ofProvider = "as the provider runs without --allow-namespaced-provider-credentials"
	)
	across, lent := Options{AllowCrossNamespace: true}, Options{AllowProviderCredentials: true}
	theirs, ours := fromSecret("other"), fromSecret(tenant)
	type source = commonv1.ProviderCredentials
	for name, tc := range map[string]struct {
		reason          string
		tenant          string
		options         Options
		creds, identity source
		want            string // words of the error, empty if admitted
	}{
		"ClusterScoped": {"Operators may use all.", "", Options{}, from(injected), theirs, ""},
		"OwnSecrets":    {"A tenant may use its own Secrets.", tenant, Options{}, ours, fromSecret(""), ""},
		"ForeignSecret": {
			"A tenant may not use those of others.", tenant, Options{}, theirs, ours, "spec.credentials." + ofOthers,
		},
		"ForeignIdentity": {"Nor as identities.", tenant, Options{}, ours, theirs, "spec.identity." + ofOthers},
		"ForeignAllowed":  {"The flag allows it.", tenant, across, theirs, theirs, ""},
		"Injected": {
			"The provider's ServiceAccount is not the tenant's.", tenant, across, from(injected), ours,
			"spec.credentials.source InjectedIdentity " + ofProvider,
		},
		"Environment": {
			"Nor is its environment.", tenant, across, from(environment), ours,
			"spec.credentials.source Environment " + ofProvider,
		},
		"Filesystem": {
			"Nor are its files.", tenant, across, from(files), ours, "spec.credentials.source Filesystem " + ofProvider,
		},
		"ServiceAccount": {
			"A ServiceAccount of its namespace is the tenant's.", tenant,
			Options{},
			from(commonv1.CredentialsSourceServiceAccount), ours, "",
		},
		"IdentityOfProvider": {
			"Nor is its cloud identity.", tenant, across, ours, from(injected),
			"spec.identity.source InjectedIdentity " + ofProvider,
		},
		"IdentityOfNobody": {
			"Without credentials a library would use the provider's.", tenant, across, ours, from(nowhere),
			"spec.identity.source InjectedIdentity " + ofProvider,
		},
		"ProviderAllowed": {"The flag allows it.", tenant, lent, from(files), from(environment), ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &commonv1.ProviderConfigSpec{Credentials: tc.creds, Identity: &commonv1.Identity{
				Type: commonv1.IdentityGoogle, ProviderCredentials: tc.identity,
			}}
			err := tc.options.admit(commonv1.Connection{Spec: spec, Tenant: tc.tenant})
			got := strings.Replace(fmt.Sprint(err), "is only for cluster-scoped ProviderConfigs, ", "", 1)
			if (err == nil) != (tc.want == "") || err != nil && !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s\nwant an error that begins with %q, got: %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestAdmitName shows what the name of a namespace decides, and which selectors have to look at its labels.
func TestAdmitName(t *testing.T) {
	named := []commonv1.AllowedNamespaces{{Names: []string{"other"}}, {Names: []string{"team"}}}
	selected := []commonv1.AllowedNamespaces{{Selector: &metav1.LabelSelector{}}}
	invalid := []commonv1.AllowedNamespaces{{Selector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Like"}},
	}}}
	type want struct {
		selectors           int
		notAllowed, invalid bool
	}
	for name, tc := range map[string]struct {
		reason     string
		namespace  string
		shared     *commonv1.Sharing
		restricted bool
		want       want
	}{
		"NotShared": {
			reason: "A namespaced ProviderConfig is that of its users.", namespace: "team", restricted: true,
		},
		"NoList": {
			reason: "By default all may use it.", namespace: "team", shared: &commonv1.Sharing{},
		},
		"NoListRestricted": {
			reason: "With the flag none may.", namespace: "team", shared: &commonv1.Sharing{}, restricted: true,
			want: want{notAllowed: true},
		},
		"EmptyList": {
			reason: "It allows none, without the flag too.", namespace: "team",
			shared: &commonv1.Sharing{Allowed: []commonv1.AllowedNamespaces{}}, want: want{notAllowed: true},
		},
		"Named": {
			reason: "One entry is enough.", namespace: "team", restricted: true, shared: &commonv1.Sharing{Allowed: named},
		},
		"NotNamed": {
			reason: "Others are not allowed.", namespace: "tea", shared: &commonv1.Sharing{Allowed: named},
			want: want{notAllowed: true},
		},
		"Selected": {
			reason: "Even an empty selector looks at the namespace, which may not exist.", namespace: "team",
			shared: &commonv1.Sharing{Allowed: append(named[:1:1], selected...)}, want: want{selectors: 1},
		},
		"Invalid": {
			reason: "What cannot be parsed allows nothing.", namespace: "tea",
			shared: &commonv1.Sharing{Allowed: append(invalid, selected...)}, want: want{notAllowed: true},
		},
		"InvalidOfOperator": {
			reason: "The operator hears of it by the ClusterProviderConfig.",
			shared: &commonv1.Sharing{Allowed: invalid}, want: want{invalid: true},
		},
		"Operator": {
			reason: "What has no namespace is the operator's.", restricted: true, shared: &commonv1.Sharing{Allowed: named},
		},
	} {
		t.Run(name, func(t *testing.T) {
			selectors, err := Options{RestrictClusterConfigs: tc.restricted}.admitName(tc.namespace, tc.shared)
			got := want{
				selectors: len(selectors), notAllowed: IsNamespaceNotAllowed(err), invalid: IsInvalidConnection(err),
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s\n%v", tc.reason, diff, err)
			}
		})
	}
}

// TestDigest shows that only those share a connection who have the very same rights to it.
func TestDigest(t *testing.T) {
	base := func() credentials {
		return credentials{
			kubeconfig:   document{source: xpv2.CredentialsSourceSecret, content: []byte("k")},
			identityType: commonv1.IdentityGoogle,
			identity:     document{source: xpv2.CredentialsSourceSecret, content: []byte("i")},
			as:           rest.ImpersonationConfig{UserName: "jane", Groups: []string{"a", "b"}},
			writer:       identity.WriterOperator,
		}
	}
	if base().digest() != base().digest() {
		t.Error("equal credentials have one digest")
	}
	changed := map[string]bool{}
	for name, change := range map[string]func(*credentials){
		"Endpoint":       func(c *credentials) { c.endpoint = "https://shard.example.org" },
		"Source":         func(c *credentials) { c.kubeconfig.source = xpv2.CredentialsSourceFilesystem },
		"Path":           func(c *credentials) { c.kubeconfig.path = "/p" },
		"Content":        func(c *credentials) { c.kubeconfig.content = []byte("x") },
		"ServiceAccount": func(c *credentials) { c.kubeconfig.account.Name = "a" },
		"Workspace":      func(c *credentials) { c.workspace = "root" },
		"IdentityType":   func(c *credentials) { c.identityType = commonv1.IdentityUpbound },
		"IdentitySource": func(c *credentials) { c.identity.source = xpv2.CredentialsSourceEnvironment },
		"Identity":       func(c *credentials) { c.identity.content = []byte("x") },
		"Moved":          func(c *credentials) { c.kubeconfig.content, c.identity.content = nil, []byte("ki") },
		"Role":           func(c *credentials) { c.roles = []commonv1.AWSRole{{RoleARN: "a"}} },
		"Account":        func(c *credentials) { c.googleAccount.Name = "a@p" },
		"Delegates":      func(c *credentials) { c.googleAccount.Delegates = []string{"a@p"} },
		"User":           func(c *credentials) { c.as.UserName = "joe" },
		"Groups":         func(c *credentials) { c.as.Groups = []string{"ab"} },
		"FewerGroups":    func(c *credentials) { c.as.Groups = []string{"a"} },
		"Writer":         func(c *credentials) { c.writer = identity.WriterTenant },
	} {
		t.Run(name, func(t *testing.T) {
			c := base()
			change(&c)
			if c.digest() == base().digest() {
				t.Error("other credentials must have another digest")
			}
			noteChanged(changed, base(), c)
		})
	}
	for f := range reflect.TypeFor[credentials]().Fields() {
		if !changed[f.Name] {
			t.Errorf("no row changes field %q of credentials: connections that differ in it may be shared", f.Name)
		}
	}
}

// noteChanged notes in which fields two credentials differ.
func noteChanged(changed map[string]bool, a, b credentials) {
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range va.NumField() {
		if fmt.Sprintf("%#v", va.Field(i)) != fmt.Sprintf("%#v", vb.Field(i)) {
			changed[va.Type().Field(i).Name] = true
		}
	}
}

// TestAccountOfTenant shows that a tenant names ServiceAccounts of its namespace alone.
func TestAccountOfTenant(t *testing.T) {
	ref := &commonv1.ServiceAccountReference{Namespace: "other", Name: "robot"}
	for tenant, want := range map[string]string{"": "other/robot", "team": "team/robot"} {
		if got, err := (reader{tenant: tenant}).account(ref); err != nil || got.String() != want {
			t.Errorf("tenant %q: want %s, got %s and %v", tenant, want, got, err)
		}
	}
}

func TestImpersonation(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		as        *commonv1.Impersonation
		namespace string
		want      string
		err       string
	}{
		"Nobody": {reason: "Without impersonation requests are made as the credentials say."},
		"User":   {reason: "A user is impersonated.", as: &commonv1.Impersonation{User: "jane"}, want: "jane"},
		"Account": {
			reason:    "A ServiceAccount is that of the Object's namespace.",
			as:        &commonv1.Impersonation{ServiceAccountName: "robot"},
			namespace: "team",
			want:      "system:serviceaccount:team:robot",
		},
		"NoNamespace": {
			reason: "A cluster-scoped Object has no namespace.",
			as:     &commonv1.Impersonation{ServiceAccountName: "robot"},
			err:    "cluster-scoped Object has none",
		},
		"OddUser": {
			reason: "A name that no header can hold is refused.",
			as:     &commonv1.Impersonation{User: "a\r\nb"},
			err:    "spec.impersonate has",
		},
		"OddGroup": {
			reason: "So is such a group.",
			as:     &commonv1.Impersonation{User: "a", Groups: []string{"\x00"}},
			err:    "spec.impersonate has",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := impersonation(tc.as, tc.namespace)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\nwant an error that contains %q, got: %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil || got.UserName != tc.want {
				t.Errorf("%s\nwant %q, got %q and %v", tc.reason, tc.want, got.UserName, err)
			}
		})
	}
}

// TestImpersonateOnce shows that a ProviderConfig does not undo what its kubeconfig says.
func TestImpersonateOnce(t *testing.T) {
	c := credentials{kubeconfig: document{
		source:  xpv2.CredentialsSourceSecret,
		content: kubeconfigOf(`server: "https://127.0.0.1:6443"`, `as: jane`),
	}}
	o := Options{Injected: &rest.Config{}}
	if _, err := o.access(c); err != nil {
		t.Fatal(err)
	}
	c.as.UserName = "root"
	if a, err := o.access(c); err == nil || a.config.Impersonate.UserName != "jane" {
		t.Errorf("want an error and jane, got %v and %s", err, a.config.Impersonate.UserName)
	}
}
