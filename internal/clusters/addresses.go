package clusters

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/transport"
)

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

// An addressError says why an address may not be dialled for a tenant. It does not tell which address that is.
type addressError string

// Error names the rule.
func (e addressError) Error() string {
	return "its address " + string(e) + ": a namespaced ProviderConfig may not use it"
}
