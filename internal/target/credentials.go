package target

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
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

// A document is what a source of credentials holds. It has no content if the source is InjectedIdentity or None.
type document struct {
	source  xpv2.CredentialsSource
	path    string // of the file it comes from, if it does
	content []byte
}

// credentials are what a connection is made from. Who has the same ones has the same connection.
type credentials struct {
	kubeconfig   document
	workspace    string
	endpoint     string                // URL that is reached instead of the kubeconfig's server, empty if none
	identityType commonv1.IdentityType // empty if there is no identity
	identity     document
	as           rest.ImpersonationConfig
	// writer is who has written them. It is part of what they are: a tenant may not reach every address, and who writes
	// down an operator's identity or kubeconfig must not get the operator's connection.
	writer identity.Writer
}

// digest returns a name for the credentials that tells nothing about them, as a SHA-256.
func (c credentials) digest() string {
	h := sha256.New()
	add := func(part []byte) {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	for _, d := range []document{c.kubeconfig, c.identity} {
		add([]byte(d.source))
		add([]byte(d.path))
		add(d.content)
	}
	for _, part := range append([]string{
		c.workspace, c.endpoint, string(c.identityType), strconv.Itoa(int(c.writer)), c.as.UserName,
	}, c.as.Groups...) {
		add([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// credentials reads what a ProviderConfig names. Secrets come from the cache of the control plane; the owner is woken
// when they change.
func (r *Registry) credentials(ctx context.Context, o informer.Owner, c commonv1.Connection) (credentials, error) {
	err := r.options.admit(c)
	if err != nil {
		r.local.watches.Track(o, purposeCredentials)
		return credentials{}, err
	}
	creds := credentials{writer: r.options.writer(c)}
	if c.Spec.KCP != nil {
		creds.workspace = c.Spec.KCP.WorkspacePath
	}
	if creds.as, err = impersonation(c.Spec.Impersonate, o.Namespace); err != nil {
		return creds, err
	}
	r.local.watches.Track(o, purposeCredentials, interests(c)...)
	if creds.kubeconfig, err = r.read(ctx, o, c.Tenant, c.Spec.Credentials); err != nil {
		return creds, err
	}
	if creds.kubeconfig.source == xpv2.CredentialsSourceNone {
		return creds, errors.New("credentials source None gives no kubeconfig")
	}
	if c.Spec.Identity == nil {
		return creds, nil
	}
	creds.identityType = c.Spec.Identity.Type
	creds.identity, err = r.read(ctx, o, c.Tenant, c.Spec.Identity.ProviderCredentials)
	return creds, errors.Wrap(err, "cannot get credentials of the identity")
}

// interests returns the Secrets that a ProviderConfig names.
func interests(c commonv1.Connection) []informer.Interest {
	sources := []commonv1.ProviderCredentials{c.Spec.Credentials}
	if c.Spec.Identity != nil {
		sources = append(sources, c.Spec.Identity.ProviderCredentials)
	}
	var out []informer.Interest
	for _, s := range sources {
		if s.Source == xpv2.CredentialsSourceSecret && s.SecretRef != nil {
			out = append(out, interest(s.SecretRef, c.Tenant))
		}
	}
	return out
}

// interest returns the Secret that a reference names. One that a namespaced ProviderConfig names without a namespace is
// in its own.
func interest(ref *xpv2.SecretKeySelector, tenant string) informer.Interest {
	n := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	if n.Namespace == "" {
		n.Namespace = tenant
	}
	return informer.Interest{Resource: secrets, NamespacedName: n, Stream: informer.StreamByName}
}

// read returns what a source holds.
func (r *Registry) read(ctx context.Context, o informer.Owner, tenant string,
	p commonv1.ProviderCredentials,
) (document, error) {
	d := document{source: p.Source}
	var err error
	switch p.Source {
	case xpv2.CredentialsSourceSecret:
		if p.SecretRef == nil {
			return d, errors.New("credentials source Secret needs secretRef")
		}
		d.content, err = r.secret(ctx, o, interest(p.SecretRef, tenant), p.SecretRef.Key)
	case xpv2.CredentialsSourceEnvironment:
		d.content, err = environment(p.Env)
	case xpv2.CredentialsSourceFilesystem:
		d.path, d.content, err = file(p.Fs)
	case xpv2.CredentialsSourceInjectedIdentity, xpv2.CredentialsSourceNone:
	default:
		err = errors.Errorf("credentials source %q is unknown", p.Source)
	}
	return d, err
}

func environment(sel *xpv2.EnvSelector) ([]byte, error) {
	if sel == nil {
		return nil, errors.New("credentials source Environment needs env.name")
	}
	v := os.Getenv(sel.Name)
	if v == "" {
		return nil, errors.Errorf("environment variable %q is not set", sel.Name)
	}
	return []byte(v), nil
}

func file(sel *xpv2.FsSelector) (path string, content []byte, err error) {
	if sel == nil {
		return "", nil, errors.New("credentials source Filesystem needs fs.path")
	}
	content, err = os.ReadFile(sel.Path)
	return sel.Path, content, errors.Wrap(err, "cannot read file of credentials")
}

// secret returns the value of a key of a Secret on the control plane, in which the owner has an interest.
func (r *Registry) secret(ctx context.Context, o informer.Owner, i informer.Interest, key string) ([]byte, error) {
	u, err := r.local.watches.Get(ctx, o, i)
	if informer.IsDenied(err) {
		u, err = r.local.Resource(secrets, i.Namespace).Get(ctx, i.Name, metav1.GetOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, errors.Wrapf(err, "cannot get Secret %s", i.NamespacedName)
	}
	if u == nil || err != nil {
		return nil, errors.Errorf("Secret %s does not exist", i.NamespacedName)
	}
	return secretValue(u, key)
}

func secretValue(u *unstructured.Unstructured, key string) ([]byte, error) {
	v, ok, err := unstructured.NestedString(u.Object, "data", key)
	if err != nil || !ok {
		return nil, errors.Errorf("Secret %s/%s has no key %q", u.GetNamespace(), u.GetName(), key)
	}
	b, err := base64.StdEncoding.DecodeString(v)
	if err != nil {
		return nil, errors.Errorf("key %q of Secret %s/%s is not base64", key, u.GetNamespace(), u.GetName())
	}
	return b, nil
}
