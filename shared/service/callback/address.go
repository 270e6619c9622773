package callback

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"

	"southbound/shared/fault"
)

// parse reads the address of a callback.
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

// never says why an address is never called, wherever this runs; "": it may be. What answers on
// link-local addresses is the machine's own surroundings: there clouds hand out credentials.
func never(ip netip.Addr) string {
	ip = ip.Unmap()
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

// guard refuses connections to addresses that are not called. It sees what a name was resolved to,
// so no name leads past it.
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
		if why == "" && ip.Unmap().IsLoopback() && !loopback {
			why = "this machine"
		}
		if why != "" {
			return fault.New(fault.Refused, "", "%s is not called: it is %s", ip, why)
		}
		return nil
	}
}
