// Package guard prevents agents from using a process's place in the network.
package guard

import (
	"net/netip"
	"syscall"

	"southbound/shared/fault"
)

// Refused reports whether an address belongs to the machine itself or to its link, where its
// runtime and credentials are served.
func Refused(a netip.Addr) bool {
	switch a = a.Unmap(); {
	case a.IsLoopback(), a.IsLinkLocalUnicast(), a.IsUnspecified(), a.IsMulticast():
		return true
	}
	return a == netip.MustParseAddr("fd00:ec2::254") // the metadata service of a machine at AWS
}

// Error is why a connection to an address is refused. It is Denied.
func Error() error {
	return fault.New(fault.Denied, "connect",
		"the address belongs to the connecting machine itself and is refused")
}

// Control is the Control of a net.Dialer that refuses addresses. It receives the addresses to which
// names have been resolved.
func Control(network, address string, _ syscall.RawConn) error {
	if network == "unix" {
		return Error()
	}
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if Refused(a.Addr()) {
		return Error()
	}
	return nil
}
