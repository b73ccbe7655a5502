package target

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// purposeCredentials are the Secrets an owner's connection is made from.
const purposeCredentials watch.Purpose = "credentials"

// credentials are what a connection is made from.
type credentials struct {
	source     xpv2.CredentialsSource
	kubeconfig []byte
	workspace  string
}

// digest returns a name for the credentials that tells nothing about them, as a SHA-256.
func (c credentials) digest() string {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(c.source), c.kubeconfig, []byte(c.workspace)} {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// credentials reads what a ProviderConfig names. Secrets come from the cache of the control plane; the owner is woken when they change.
func (r *Registry) credentials(ctx context.Context, o watch.Owner, spec *commonv1.ProviderConfigSpec) (credentials, error) {
	c := credentials{source: spec.Credentials.Source}
	if spec.KCP != nil {
		c.workspace = spec.KCP.WorkspacePath
	}
	if spec.Identity != nil {
		return c, errors.Errorf("identity type %s is not supported yet", spec.Identity.Type)
	}
	var err error
	if spec.Credentials.Source != xpv2.CredentialsSourceSecret {
		r.local.watches.Track(o, purposeCredentials)
	}
	switch sel := spec.Credentials; sel.Source {
	case xpv2.CredentialsSourceSecret:
		c.kubeconfig, err = r.secret(ctx, o, sel.SecretRef)
	case xpv2.CredentialsSourceEnvironment:
		c.kubeconfig, err = environment(sel.Env)
	case xpv2.CredentialsSourceFilesystem:
		c.kubeconfig, err = file(sel.Fs)
	case xpv2.CredentialsSourceInjectedIdentity:
	case xpv2.CredentialsSourceNone:
		err = errors.New("credentials source None gives no kubeconfig")
	default:
		err = errors.Errorf("credentials source %q is unknown", sel.Source)
	}
	return c, err
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

func file(sel *xpv2.FsSelector) ([]byte, error) {
	if sel == nil {
		return nil, errors.New("credentials source Filesystem needs fs.path")
	}
	b, err := os.ReadFile(sel.Path)
	return b, errors.Wrap(err, "cannot read kubeconfig file")
}

// secret returns the value of a key of a Secret on the control plane.
func (r *Registry) secret(ctx context.Context, o watch.Owner, sel *xpv2.SecretKeySelector) ([]byte, error) {
	if sel == nil {
		return nil, errors.New("credentials source Secret needs secretRef")
	}
	i := watch.Interest{
		Resource:       secrets,
		NamespacedName: types.NamespacedName{Namespace: sel.Namespace, Name: sel.Name},
		Scope:          watch.ScopeName,
	}
	r.local.watches.Track(o, purposeCredentials, i)
	u, err := r.local.watches.Get(ctx, o, i)
	if watch.IsDenied(err) {
		u, err = r.local.Resource(secrets, sel.Namespace).Get(ctx, sel.Name, metav1.GetOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, errors.Wrapf(err, "cannot get Secret %s", i.NamespacedName)
	}
	if u == nil || err != nil {
		return nil, errors.Errorf("Secret %s does not exist", i.NamespacedName)
	}
	return secretValue(u, sel.Key)
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

// config returns the REST configuration of credentials.
func (r *Registry) config(c credentials) (*rest.Config, error) {
	cfg, err := r.baseConfig(c)
	if err != nil {
		return nil, err
	}
	cfg.UserAgent = r.options.UserAgent
	if c.workspace == "" {
		return cfg, nil
	}
	return cfg, inWorkspace(cfg, c.workspace)
}

func (r *Registry) baseConfig(c credentials) (*rest.Config, error) {
	if c.source == xpv2.CredentialsSourceInjectedIdentity {
		return rest.CopyConfig(r.options.Injected), nil
	}
	secret := c.source == xpv2.CredentialsSourceSecret
	return restConfig(c.kubeconfig, trust{exec: !secret || r.options.AllowExec, files: !secret})
}
