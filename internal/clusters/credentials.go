package clusters

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// purposeCredentials are the Secrets an owner's connection is made from.
const purposeCredentials informer.Purpose = "credentials"

// A document is what a source of credentials holds. It has content if that is a Secret, a variable or a file.
type document struct {
	source  xpv2.CredentialsSource
	account types.NamespacedName // the ServiceAccount of the control plane, if it is one
	path    string               // of the file it comes from, if it does
	content []byte
}

// credentials are what a connection is made from. Who has the same ones has the same connection.
type credentials struct {
	kubeconfig    document
	workspace     string
	endpoint      string                // URL that is reached instead of the kubeconfig's server, empty if none
	identityType  commonv1.IdentityType // empty if there is no identity
	identity      document
	roles         []commonv1.AWSRole           // that the identity assumes
	googleAccount commonv1.GoogleImpersonation // that the identity impersonates; without a name if it is none
	as            rest.ImpersonationConfig
	// writer is who has written them. It is part of what they are: a tenant may not reach every address, and who writes
	// down an operator's identity or kubeconfig must not get the operator's connection.
	writer identity.Writer
}

// digest returns a name for the credentials that tells nothing about them, as a SHA-256.
func (c credentials) digest() string {
	h := sha256.New()
	for _, part := range append([]string{
		string(c.kubeconfig.source), c.kubeconfig.account.String(), c.kubeconfig.path, string(c.kubeconfig.content),
		string(c.identity.source), c.identity.path, string(c.identity.content),
		c.workspace, c.endpoint, string(c.identityType), strconv.Itoa(int(c.writer)), fmt.Sprintf("%q", c.roles),
		fmt.Sprintf("%q", c.googleAccount), c.as.UserName,
	}, c.as.Groups...) {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // A hash takes everything.
	}
	return hex.EncodeToString(h.Sum(nil))
}

// resolve reads what a ProviderConfig names.
func (o Options) resolve(ctx context.Context, c commonv1.Connection, r reader) (credentials, error) {
	creds := credentials{writer: o.writer(c), endpoint: c.Endpoint}
	err := o.admit(c)
	if err == nil {
		err = r.read(ctx, c.Spec, &creds)
	}
	switch {
	case IsUnreachable(err):
		return creds, errors.Errorf("control plane does not respond: %v", err) // Of the target it tells nothing.
	case err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown:
		return creds, invalidConnectionError{err} // It is about what they are, and not about reading them.
	}
	return creds, err
}

// A reader reads what ProviderConfigs name, for an owner.
type reader struct {
	namespace string // of the owner
	tenant    string // empty for an operator
	// get reads from the control plane.
	get func(context.Context, informer.WatchRequest) (*unstructured.Unstructured, error)
}

// read fills in credentials.
func (r reader) read(ctx context.Context, spec *commonv1.ProviderConfigSpec, creds *credentials) (err error) {
	if spec.KCP != nil {
		creds.workspace = spec.KCP.WorkspacePath
	}
	if creds.as, err = impersonation(spec.Impersonate, r.namespace); err != nil {
		return err
	}
	creds.kubeconfig, err = r.document(ctx, spec.Credentials)
	if err == nil && creds.kubeconfig.source == xpv2.CredentialsSourceNone {
		err = errors.New("spec.credentials.source None provides no kubeconfig: set another source")
	}
	if spec.Identity == nil {
		return err
	}
	creds.identityType = spec.Identity.Type
	if spec.Identity.AWS != nil {
		creds.roles = spec.Identity.AWS.AssumeRoleChain
	}
	if spec.Identity.ImpersonateServiceAccount != nil {
		creds.googleAccount = *spec.Identity.ImpersonateServiceAccount
	}
	var failed error
	creds.identity, failed = r.document(ctx, spec.Identity.ProviderCredentials)
	return cmp.Or(err, errors.Wrap(failed, "cannot get credentials of the identity"))
}

// impersonation returns as whom requests are made for an Object of a namespace, which is empty if the Object is
// cluster-scoped. It has no user name if they are made as whom the credentials say.
func impersonation(i *commonv1.Impersonation, namespace string) (rest.ImpersonationConfig, error) {
	if i == nil {
		return rest.ImpersonationConfig{}, nil
	}
	if i.ServiceAccountName == "" {
		return rest.ImpersonationConfig{UserName: i.User, Groups: i.Groups},
			checkImpersonation("spec.impersonate", append([]string{i.User}, i.Groups...))
	}
	if namespace == "" {
		return rest.ImpersonationConfig{}, errors.New(
			"spec.impersonate.serviceAccountName means a ServiceAccount in the namespace of the Object, and a cluster-scoped " +
				"Object has none: set spec.impersonate.user")
	}
	// The server adds the groups of ServiceAccounts:
	// https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/
	return rest.ImpersonationConfig{UserName: "system:serviceaccount:" + namespace + ":" + i.ServiceAccountName},
		checkImpersonation("spec.impersonate.serviceAccountName", []string{i.ServiceAccountName})
}

// document returns what a source holds.
func (r reader) document(ctx context.Context, p commonv1.ProviderCredentials) (d document, err error) {
	d.source = p.Source
	switch p.Source {
	case xpv2.CredentialsSourceSecret:
		d.content, err = r.secret(ctx, p.SecretRef)
	case xpv2.CredentialsSourceEnvironment:
		d.content, err = environment(p.Env)
	case xpv2.CredentialsSourceFilesystem:
		d.path, d.content, err = file(p.Fs)
	case commonv1.CredentialsSourceServiceAccount:
		d.account, err = r.account(p.ServiceAccountRef)
	case xpv2.CredentialsSourceInjectedIdentity, xpv2.CredentialsSourceNone:
	default:
		err = errors.Errorf("credentials source %q is unknown", p.Source)
	}
	return d, err
}

// account returns the ServiceAccount that a reference names. That of a tenant is in its namespace, whatever is said.
func (r reader) account(ref *commonv1.ServiceAccountReference) (types.NamespacedName, error) {
	if ref == nil {
		return types.NamespacedName{}, errors.New("credentials source ServiceAccount needs serviceAccountRef")
	}
	return types.NamespacedName{Namespace: cmp.Or(r.tenant, ref.Namespace), Name: ref.Name}, nil
}

func environment(sel *xpv2.EnvSelector) ([]byte, error) {
	if sel == nil {
		return nil, errors.New("credentials source Environment needs env.name")
	}
	v := os.Getenv(sel.Name)
	if v == "" {
		return nil, errors.Errorf("environment variable %q is not set in the pod of the provider: set it, or correct "+
			"env.name", sel.Name)
	}
	return []byte(v), nil
}

func file(sel *xpv2.FsSelector) (path string, content []byte, err error) {
	if sel == nil {
		return "", nil, errors.New("credentials source Filesystem needs fs.path")
	}
	content, err = os.ReadFile(sel.Path)
	return sel.Path, content, errors.Wrap(err, "cannot read the credentials file in the pod of the provider")
}

// secret returns the value of a key of a Secret on the control plane. One that a namespaced ProviderConfig names
// without a namespace is in its own.
func (r reader) secret(ctx context.Context, ref *xpv2.SecretKeySelector) ([]byte, error) {
	if ref == nil {
		return nil, errors.New("credentials source Secret needs secretRef")
	}
	n := types.NamespacedName{Namespace: cmp.Or(ref.Namespace, r.tenant), Name: ref.Name}
	u, err := r.get(ctx, informer.WatchRequest{Resource: secrets, NamespacedName: n, Stream: informer.StreamByName})
	if err != nil {
		return nil, err
	}
	if u == nil {
		return nil, errors.Errorf("Secret %s does not exist on the control plane", n)
	}
	v, ok, err := unstructured.NestedString(u.Object, "data", ref.Key)
	if err != nil || !ok {
		return nil, errors.Errorf("Secret %s on the control plane has no key %q", n, ref.Key)
	}
	b, err := base64.StdEncoding.DecodeString(v)
	if err != nil {
		return nil, errors.Errorf("key %q of Secret %s on the control plane is not base64", ref.Key, n)
	}
	return b, nil
}
