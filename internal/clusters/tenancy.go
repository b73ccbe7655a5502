package clusters

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/fence"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/slot"
)

// Options of a Registry.
type Options struct {
	// Injected is how the provider reaches the cluster it runs in: the control plane, and the target of
	// InjectedIdentity.
	Injected *rest.Config
	// UserAgent is sent to every target.
	UserAgent string
	// AllowExec lets kubeconfigs from Secrets run credential plugins in the provider.
	AllowExec bool
	// RunPlugins is the command that runs credential plugins, and ends those that hang. Empty to run them as they are.
	RunPlugins []string
	// AllowCrossNamespace lets namespaced ProviderConfigs name Secrets of other namespaces.
	AllowCrossNamespace bool
	// AllowProviderCredentials lets namespaced ProviderConfigs use what is the provider's own: credentials in its
	// environment, its file system and its ServiceAccount, and files that identities name.
	AllowProviderCredentials bool
	// RestrictClusterConfigs keeps ClusterProviderConfigs that list no allowed namespaces from all namespaced owners.
	RestrictClusterConfigs bool
	// Addresses limits what namespaced ProviderConfigs may point at, unless AllowProviderCredentials is set.
	Addresses Addresses
	// Fence stands between all connections and their servers. Nil for none.
	Fence *fence.Fence
	// Slots are how the work is shared among replicas. Nil if it is not.
	Slots *slot.Slots
}

// admit returns an error that names the field by which a namespaced ProviderConfig reaches for what is not its
// tenant's, and the flag that allows it. It is the one check of that: all connections come from here.
func (o Options) admit(c commonv1.Connection) error {
	if c.Tenant == "" {
		return nil
	}
	if err := o.admitSource("spec.credentials", c.Tenant, c.Spec.Credentials); err != nil || c.Spec.Identity == nil {
		return err
	}
	id := c.Spec.Identity.ProviderCredentials
	if id.Source == xpv2.CredentialsSourceNone {
		// Without credentials a vendor's library looks for the provider's.
		id.Source = xpv2.CredentialsSourceInjectedIdentity
	}
	return o.admitSource("spec.identity", c.Tenant, id)
}

func (o Options) admitSource(field, tenant string, p commonv1.ProviderCredentials) error {
	switch p.Source {
	case xpv2.CredentialsSourceSecret:
		if !o.AllowCrossNamespace && p.SecretRef != nil && p.SecretRef.Namespace != "" && p.SecretRef.Namespace != tenant {
			return errors.Errorf("%s.secretRef.namespace must be %q, the namespace of the ProviderConfig, "+
				"as the provider runs without --allow-cross-namespace-references", field, tenant)
		}
	case xpv2.CredentialsSourceEnvironment, xpv2.CredentialsSourceFilesystem, xpv2.CredentialsSourceInjectedIdentity:
		if !o.AllowProviderCredentials {
			return errors.Errorf("%s.source %s is only for cluster-scoped ProviderConfigs, "+
				"as the provider runs without --allow-namespaced-provider-credentials", field, p.Source)
		}
	case xpv2.CredentialsSourceNone:
	}
	return nil
}

// admitProxied returns an error if a tenant's server is at an address that is denied. Behind a proxy, nobody else
// checks it. What a name means is for the proxy to know.
func (o Options) admitProxied(by identity.Writer, cfg *rest.Config) error {
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return errors.New("cannot parse the server of the kubeconfig")
	}
	ip, err := netip.ParseAddr(server.Hostname())
	if by != identity.WriterTenant || cfg.Proxy == nil || err != nil {
		return nil //nolint:nilerr // It is a name.
	}
	return errors.Wrap(o.Addresses.check(ip), "cannot connect to the server of the kubeconfig")
}

// writer returns whose word a ProviderConfig and the credentials it names are.
func (o Options) writer(c commonv1.Connection) identity.Writer {
	if c.Tenant == "" || o.AllowProviderCredentials {
		return identity.WriterOperator
	}
	return identity.WriterTenant
}

const (
	dialTimeout   = 5 * time.Second
	dialKeepAlive = 30 * time.Second
)

// Addresses are the networks that kubeconfigs and identities of tenants may point at. The narrowest network that holds
// an address decides. Denied wins over Allowed, and both over the built-in networks, if they are equally narrow.
type Addresses struct {
	// Allowed are the networks that may be dialled. If it is empty, all may that are not denied.
	Allowed []netip.Prefix
	// Denied are networks that may not be dialled, beside the built-in ones.
	Denied []netip.Prefix
	// Pod is set if the provider runs in a pod, whose loopback addresses are denied.
	Pod bool
}

// ParseNetworks returns the networks of a list of CIDRs or addresses. Each entry may hold several, separated by commas.
func ParseNetworks(list []string) (networks []netip.Prefix, _ error) {
	for _, s := range strings.FieldsFunc(strings.Join(list, ","),
		func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		p, err := netip.ParsePrefix(s)
		if a, aerr := netip.ParseAddr(s); aerr == nil && a.Zone() == "" {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		switch {
		case err != nil:
			return nil, errors.Errorf("%q is not a CIDR", s)
		case p.Addr().Is4In6():
			return nil, errors.Errorf("%q is an IPv4 network in IPv6 form: write it as IPv4", s)
		}
		networks = append(networks, p.Masked())
	}
	return networks, nil
}

// builtIn are the networks that are denied unless a flag says otherwise: what belongs to the node, not to the network.
var builtIn, loopback = mustParse(
	"0.0.0.0/8", "::/128", // This host.
	"169.254.0.0/16", "fe80::/10", "64:ff9b::a9fe:0/112", // Link-local, with metadata servers; also by NAT64.
	// Other metadata servers of clouds.
	"fd00:ec2::/32", "fd20:ce::254/128", "100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32",
), mustParse("127.0.0.0/8", "::1/128")

func mustParse(networks ...string) (out []netip.Prefix) {
	for _, n := range networks {
		out = append(out, netip.MustParsePrefix(n))
	}
	return out
}

// check returns an addressError if an address may not be dialled.
func (a Addresses) check(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	bits, err := -1, error(nil)
	if len(a.Allowed) > 0 {
		err = addressError("is in none of the networks of --allowed-target-cidrs")
	}
	decide := func(networks []netip.Prefix, deniedBecause string) {
		for _, n := range networks {
			if n.Contains(ip) && n.Bits() > bits {
				bits, err = n.Bits(), nil
				if deniedBecause != "" {
					err = addressError("is in " + n.String() + ", which " + deniedBecause)
				}
			}
		}
	}
	decide(a.Denied, "--denied-target-cidrs denies")
	decide(a.Allowed, "")
	decide(builtIn, "is denied unless --allowed-target-cidrs names it")
	if a.Pod {
		decide(loopback, "is denied unless --allowed-target-cidrs names it")
	}
	return err
}

func newDialer() *net.Dialer { return &net.Dialer{Timeout: dialTimeout, KeepAlive: dialKeepAlive} }

// dialer returns a dialer that checks each address when it is dialled, so that a change of DNS cannot come between.
func (a Addresses) dialer() *transport.DialHolder {
	d := newDialer()
	d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return addressError("cannot be parsed")
		}
		return a.check(ap.Addr())
	}
	return &transport.DialHolder{Dial: d.DialContext}
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// purposeNamespace is the namespace of an owner, whose labels ClusterProviderConfigs select.
const purposeNamespace informer.Purpose = "namespace"

// notAllowedError means that a ClusterProviderConfig does not allow the namespace of an owner, or that this is not
// known.
type notAllowedError struct {
	config, namespace string
	unknown           error // why it is not known, nil if it is
}

// Error says what to ask the operator for.
func (e notAllowedError) Error() string {
	if e.unknown != nil {
		return fmt.Sprintf("cannot tell whether spec.allowedNamespaces of ClusterProviderConfig %q allows namespace %q, "+
			"so it is not allowed yet: tell the administrator: %v", e.config, e.namespace, e.unknown)
	}
	return fmt.Sprintf("ClusterProviderConfig %q does not allow namespace %q: ask the administrator to list the "+
		"namespace "+
		"or one of its labels in spec.allowedNamespaces", e.config, e.namespace)
}

// IsNamespaceNotAllowed reports whether an error means that a ClusterProviderConfig does not allow the namespace of an
// owner, or that nobody knows whether it does.
func IsNamespaceNotAllowed(err error) bool { return errors.As(err, &notAllowedError{}) }

// Admit returns the error of Connect that satisfies IsNamespaceNotAllowed, or is a conflict while it is too early to
// tell, and connects to nothing. It is the one check of that: all connections come from here. An owner without a
// namespace is told that a selector cannot be read. The owner is woken when the labels of its namespace change.
func (r *Registry) Admit(ctx context.Context, by informer.Owner, c commonv1.Connection) error {
	defer r.local.watches.Done(by, purposeNamespace)
	selectors, err := r.options.admitName(by.Namespace, c.Shared)
	if len(selectors) == 0 {
		return err
	}
	i := informer.WatchRequest{
		Resource: namespaces, NamespacedName: types.NamespacedName{Name: by.Namespace}, Stream: informer.StreamByName,
	}
	// It is not asked for where it cannot be watched: nobody would notice that a label goes.
	namespace, err := r.local.watches.Get(ctx, by, purposeNamespace, i)
	switch {
	case informer.IsNotSynced(err):
		return err
	case err != nil:
		return notAllowedError{config: c.Shared.Name, namespace: by.Namespace, unknown: err}
	case namespace != nil && slices.ContainsFunc(selectors, func(s labels.Selector) bool {
		return s.Matches(labels.Set(namespace.GetLabels()))
	}):
		return nil
	}
	return notAllowedError{config: c.Shared.Name, namespace: by.Namespace}
}

// admitName decides by the name of an owner's namespace, as far as that is enough. If not, it returns the selectors
// that decide. An owner without a namespace is the operator's.
func (o Options) admitName(namespace string, s *commonv1.Sharing) ([]labels.Selector, error) {
	if s == nil || s.Allowed == nil && !o.RestrictClusterConfigs {
		return nil, nil
	}
	named, selectors, err := match(s.Allowed, namespace)
	switch {
	case err != nil && namespace == "":
		return nil, invalidConnectionError{err}
	case namespace == "" || named:
		return nil, nil
	case err != nil || len(selectors) == 0:
		return nil, notAllowedError{config: s.Name, namespace: namespace, unknown: err}
	}
	return selectors, nil
}

// match reports whether a list names a namespace, and returns the label selectors of the list. The error names an entry
// that cannot be parsed.
func match(allowed []commonv1.AllowedNamespaces, namespace string) (named bool, all []labels.Selector, err error) {
	for n, a := range allowed {
		named = named || slices.Contains(a.Names, namespace)
		s, serr := metav1.LabelSelectorAsSelector(a.Selector)
		switch {
		case serr != nil:
			err = errors.Wrapf(serr, "cannot parse spec.allowedNamespaces[%d].selector", n)
		case a.Selector != nil:
			all = append(all, s)
		}
	}
	return named, all, err
}
