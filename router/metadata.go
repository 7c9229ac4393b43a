package router

import (
	"net/netip"
	"slices"
)

// metadata are the addresses, besides link-local ones, at which clouds hand a
// machine its credentials: those of Alibaba, Oracle, Azure, AWS and Google.
var metadata = []netip.Addr{
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("192.0.0.192"),
	netip.MustParseAddr("168.63.129.16"),
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("fd20:ce::254"),
}

// embedding are the ranges of IPv6 that stand for all of IPv4 in their last 4 bytes.
var embedding = []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("::/96")}

// ServesMetadata reports whether an address is link-local or another at which
// machines find their metadata and credentials: no server is called there,
// whoever names it.
func ServesMetadata(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if a.IsLinkLocalUnicast() || slices.Contains(metadata, a) {
		return true
	}
	if a.Is6() && slices.ContainsFunc(embedding, func(p netip.Prefix) bool { return p.Contains(a) }) {
		all := a.As16()
		return ServesMetadata(netip.AddrFrom4([4]byte(all[12:])))
	}
	return false
}
