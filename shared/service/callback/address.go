package callback

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"

	"southbound/shared/fault"
)

// parse parses the address of a callback.
func parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, bad("%q is not an address", text)
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, bad("%q is not the address of a web server", text).
			WithHint("write https://HOST/PATH")
	case u.User != nil:
		return nil, bad("the address holds a name or a password, which lists would show").
			WithHint("use an address that is hard to guess, or check where calls come from")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		if why := never(ip); why != "" {
			return nil, bad("%s is never called: it is %s", ip, why)
		}
	}
	return u, nil
}

// never returns why an address is never called on any machine; "" if it may be called. Link-local
// addresses reach services of the environment of the machine, such as the metadata service that
// hands out cloud credentials.
func never(ip netip.Addr) string {
	ip = inner(ip)
	metadata := netip.MustParseAddr("fd00:ec2::254")
	switch {
	case ip.IsLinkLocalUnicast(), ip == metadata:
		return "link-local"
	case ip.IsMulticast(), ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "of many hosts"
	case ip.IsUnspecified():
		return "of no host"
	}
	return ""
}

// inner returns the IPv4 address that an IPv6 address stands for: a mapped one, one behind a NAT64
// gateway (RFC 6052, 8215), or that of a 6to4 router (RFC 3056). It returns other addresses
// unchanged.
func inner(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if !ip.Is6() {
		return ip
	}
	b := ip.As16()
	switch {
	case netip.MustParsePrefix("2002::/16").Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6]))
	case netip.MustParsePrefix("64:ff9b::/96").Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:]))
	case netip.MustParsePrefix("64:ff9b:1::/48").Contains(ip):
		return localNAT64(b)
	}
	return ip
}

// localNAT64 returns the IPv4 address in an address with the prefix of local NAT64 gateways.
// Prefixes of gateways have 48, 56, 64 or 96 bits, and the address does not show the length. So
// localNAT64 prefers an address that is never called. Byte 8 is not part of an embedded address.
func localNAT64(b [16]byte) netip.Addr {
	forms := []netip.Addr{
		netip.AddrFrom4([4]byte(b[12:])),
		netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}),
		netip.AddrFrom4([4]byte{b[7], b[9], b[10], b[11]}),
		netip.AddrFrom4([4]byte{b[9], b[10], b[11], b[12]}),
	}
	for _, ip := range forms {
		if ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			return ip
		}
	}
	return forms[0]
}

// guard rejects connections to addresses that are never called. It checks the resolved address, so
// names cannot bypass it.
func guard(loopback bool) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("%s is not a valid address: %w", address, err)
		}
		ip, err := netip.ParseAddr(host)
		if err != nil {
			return fmt.Errorf("%s is not a valid address: %w", host, err)
		}
		why := never(ip)
		if why == "" && inner(ip).IsLoopback() && !loopback {
			why = "this machine"
		}
		if why != "" {
			return fault.New(fault.Refused, "", "%s is not called: it is %s", ip, why)
		}
		return nil
	}
}
