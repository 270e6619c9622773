package std

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

func networkPlugins() []eval.Plugin {
	one := func(name, typ string) []eval.Param { return []eval.Param{{Name: name, Type: typ}} }
	const address, face = "std::ipv_any_address", "std::ipv_any_interface"
	return []eval.Plugin{
		{
			Name:   "std::prefixlength_to_netmask",
			Doc:    "Returns the mask of IPv4 whose first prefixlen bits are set.",
			Result: "std::ipv4_address", Params: one("prefixlen", "int"), Call: lengthToMask,
		},
		{
			Name: "std::prefixlen", Doc: "Returns the length of the prefix: 24 of 192.0.2.1/24.",
			Result: "int", Params: one("addr", face),
			Call: onPrefix(func(p netip.Prefix) types.Value { return int64(p.Bits()) }),
		},
		{
			Name: "std::network_address", Result: address, Params: one("addr", face),
			Doc:  "Returns the address of the network: 192.0.2.0 of 192.0.2.1/24.",
			Call: onPrefix(func(p netip.Prefix) types.Value { return p.Masked().Addr().String() }),
		},
		{
			Name: "std::netmask", Doc: "Returns the mask: 255.255.255.0 of 192.0.2.1/24.",
			Result: address, Params: one("addr", face),
			Call: onPrefix(func(p netip.Prefix) types.Value { return mask(p).String() }),
		},
		{
			Name:   "std::ip_address_from_interface",
			Doc:    "Returns the address without its prefix: 192.0.2.1 of 192.0.2.1/24.",
			Result: address, Params: one("ip_interface", face),
			Call: onPrefix(func(p netip.Prefix) types.Value { return p.Addr().String() }),
		},
		{
			Name: "std::ipindex", Result: "string", Call: ipIndex,
			Doc: "Returns the address at position in the network addr; -1 is the last one. With " +
				"keep_prefix the length of the prefix stands behind it.",
			Params: []eval.Param{
				{Name: "addr", Type: "std::ipv_any_network"},
				{Name: "position", Type: "int"},
				{Name: "keep_prefix", Type: "bool", Default: false},
			},
		},
		{
			Name: "std::add_to_ip", Doc: "Returns the address that is n behind addr.",
			Result: address, Call: addToIP,
			Params: []eval.Param{{Name: "addr", Type: address}, {Name: "n", Type: "int"}},
		},
	}
}

// prefix parses an address with an optional prefix length or mask. Without one, the prefix is the
// whole address.
func prefix(text string) (netip.Prefix, error) {
	host, length, given := strings.Cut(text, "/")
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.Zone() != "" && addr.Is4() {
		return netip.Prefix{}, fmt.Errorf("%q is not an address", text)
	}
	n := addr.BitLen()
	if given {
		if n, err = prefixBits(length, addr); err != nil {
			return netip.Prefix{}, fmt.Errorf("%q: %w", text, err)
		}
	}
	return netip.PrefixFrom(addr, n), nil
}

// prefixBits parses the text after the slash: a prefix length, or for IPv4 a mask or its inverse.
func prefixBits(text string, addr netip.Addr) (int, error) {
	if n, err := strconv.Atoi(text); err == nil && strings.Trim(text, "0123456789") == "" {
		if n > addr.BitLen() {
			return 0, fmt.Errorf("a prefix has at most %d bits", addr.BitLen())
		}
		return n, nil
	}
	m, err := netip.ParseAddr(text)
	if err != nil || !addr.Is4() || !m.Is4() {
		return 0, errors.New("the part after the slash is not the length of a prefix")
	}
	value := binary.BigEndian.Uint32(m.AsSlice())
	for _, v := range []uint32{value, ^value} {
		if n := bits.LeadingZeros32(^v); n == 32 || v<<n == 0 {
			return n, nil
		}
	}
	return 0, errors.New("the part after the slash is not a mask")
}

func ones(n int) *big.Int {
	return new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(n)), big.NewInt(1))
	// n is at most 128
}

func number(a netip.Addr) *big.Int { return new(big.Int).SetBytes(a.AsSlice()) }

// address returns the address with this number, of the version of like; false if there is none.
func address(n *big.Int, like netip.Addr) (netip.Addr, bool) {
	if n.Sign() < 0 || n.BitLen() > like.BitLen() {
		return netip.Addr{}, false
	}
	bytes := n.FillBytes(make([]byte, like.BitLen()/8))
	return netip.AddrFromSlice(bytes)
}

func mask(p netip.Prefix) netip.Addr {
	all := ones(p.Addr().BitLen())
	host := ones(p.Addr().BitLen() - p.Bits())
	m, _ := address(all.Xor(all, host), p.Addr())
	return m
}

func onPrefix(
	f func(netip.Prefix) types.Value,
) func(*eval.Context, eval.Args) (types.Value, error) {
	return func(_ *eval.Context, a eval.Args) (types.Value, error) {
		p, err := prefix(a.Text(0))
		if err != nil {
			return nil, err
		}
		return f(p), nil
	}
}

func lengthToMask(_ *eval.Context, a eval.Args) (types.Value, error) {
	if _, ok := a.Values[0].(bool); ok { // an int here; in Python, its text has no digits
		return nil, fmt.Errorf("%s is not the length of a prefix", types.Text(a.Values[0]))
	}
	n := a.Int(0)
	if n < 0 || n > 32 {
		return nil, fmt.Errorf("a prefix of IPv4 has 0 to 32 bits, not %d", a.Number(0))
	}
	return mask(netip.PrefixFrom(netip.IPv4Unspecified(), int(n))).String(), nil
}

func ipIndex(_ *eval.Context, a eval.Args) (types.Value, error) {
	p, err := prefix(a.Text(0))
	if err != nil {
		return nil, err
	}
	if p.Masked() != p {
		return nil, fmt.Errorf("%q is not a network: bits of the host are set", a.Text(0))
	}
	from, n := p.Addr(), a.Number(1)
	if n.Sign() < 0 {
		n.Add(n, ones(from.BitLen()-p.Bits())).Add(n, big.NewInt(1))
	}
	if n.Sign() < 0 || n.Cmp(ones(from.BitLen()-p.Bits())) > 0 {
		return nil, fmt.Errorf("the network %s has no address %d", a.Text(0), a.Number(1))
	}
	out, _ := address(n.Add(n, number(from)), from)
	if a.Bool(2) {
		return fmt.Sprintf("%s/%d", out, p.Bits()), nil
	}
	return out.String(), nil
}

func addToIP(_ *eval.Context, a eval.Args) (types.Value, error) {
	from, err := netip.ParseAddr(a.Text(0))
	if err != nil {
		return nil, fmt.Errorf("%q is not an address", a.Text(0))
	}
	n := a.Number(1)
	out, ok := address(n.Add(n, number(from)), from)
	if !ok {
		return nil, fmt.Errorf("there is no address %d behind %s", a.Number(1), a.Text(0))
	}
	return out.String(), nil
}
