package webhooksend

import "net/netip"

// reserved lists the addresses that receive no webhook. Source: the IANA IPv4 and IPv6
// Special-Purpose Address Registries (RFC 6890), multicast and class E, and the metadata
// services of clouds that lie elsewhere. Entries that the registries call globally reachable
// are here too: no receiver lives there.
var reserved = []struct {
	prefix netip.Prefix
	// private ranges are allowed in development.
	private bool
}{
	{prefix: netip.MustParsePrefix("0.0.0.0/8")},                     // this network
	{prefix: netip.MustParsePrefix("10.0.0.0/8"), private: true},     // private use
	{prefix: netip.MustParsePrefix("100.64.0.0/10")},                 // carrier-grade NAT, and Alibaba's metadata
	{prefix: netip.MustParsePrefix("127.0.0.0/8"), private: true},    // loopback
	{prefix: netip.MustParsePrefix("168.63.129.16/32")},              // Azure's host
	{prefix: netip.MustParsePrefix("169.254.0.0/16")},                // link-local, and metadata of most clouds
	{prefix: netip.MustParsePrefix("172.16.0.0/12"), private: true},  // private use
	{prefix: netip.MustParsePrefix("192.0.0.0/24")},                  // IETF protocols, and Oracle's metadata
	{prefix: netip.MustParsePrefix("192.0.2.0/24")},                  // documentation
	{prefix: netip.MustParsePrefix("192.31.196.0/24")},               // AS112
	{prefix: netip.MustParsePrefix("192.52.193.0/24")},               // AMT
	{prefix: netip.MustParsePrefix("192.88.99.0/24")},                // 6to4 relays, retired
	{prefix: netip.MustParsePrefix("192.168.0.0/16"), private: true}, // private use
	{prefix: netip.MustParsePrefix("192.175.48.0/24")},               // AS112
	{prefix: netip.MustParsePrefix("198.18.0.0/15")},                 // benchmarks
	{prefix: netip.MustParsePrefix("198.51.100.0/24")},               // documentation
	{prefix: netip.MustParsePrefix("203.0.113.0/24")},                // documentation
	{prefix: netip.MustParsePrefix("224.0.0.0/4")},                   // multicast
	{prefix: netip.MustParsePrefix("240.0.0.0/4")},                   // class E, and broadcast

	{prefix: netip.MustParsePrefix("::1/128"), private: true},  // loopback
	{prefix: netip.MustParsePrefix("::/96")},                   // unspecified, and IPv4-compatible, retired
	{prefix: netip.MustParsePrefix("::ffff:0:0/96")},           // IPv4-mapped; judged as IPv4 before
	{prefix: netip.MustParsePrefix("::ffff:0:0:0/96")},         // IPv4-translated
	{prefix: netip.MustParsePrefix("64:ff9b:1::/48")},          // local-use NAT64
	{prefix: netip.MustParsePrefix("100::/64")},                // discard
	{prefix: netip.MustParsePrefix("100:0:0:1::/64")},          // dummy
	{prefix: netip.MustParsePrefix("2001::/23")},               // IETF protocols: Teredo, benchmarks, ORCHID, AMT
	{prefix: netip.MustParsePrefix("2001:db8::/32")},           // documentation
	{prefix: netip.MustParsePrefix("2002::/16")},               // 6to4
	{prefix: netip.MustParsePrefix("2620:4f:8000::/48")},       // AS112
	{prefix: netip.MustParsePrefix("3ffe::/16")},               // 6bone, returned
	{prefix: netip.MustParsePrefix("3fff::/20")},               // documentation
	{prefix: netip.MustParsePrefix("5f00::/16")},               // segment routing
	{prefix: netip.MustParsePrefix("fd00:42::42/128")},         // Scaleway's metadata
	{prefix: netip.MustParsePrefix("fd00:ec2::/32")},           // Amazon's metadata
	{prefix: netip.MustParsePrefix("fd20:ce::254/128")},        // Google's metadata
	{prefix: netip.MustParsePrefix("fc00::/7"), private: true}, // unique local
	{prefix: netip.MustParsePrefix("fe80::/10")},               // link-local
	{prefix: netip.MustParsePrefix("fec0::/10")},               // site-local, retired
	{prefix: netip.MustParsePrefix("ff00::/8")},                // multicast
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

// mayReach reports whether webhooks may go to the address. private allows loopback and the
// private ranges as well.
func mayReach(a netip.Addr, private bool) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	for _, r := range reserved {
		if r.prefix.Contains(a) {
			// The first match decides: exceptions come before their range.
			return r.private && private && !carriesReserved(a)
		}
	}
	if a.Is4() {
		return true
	}
	return (globalUnicast.Contains(a) || nat64.Contains(a)) && !carriesReserved(a)
}

// carriesReserved reports whether an IPv6 address leads to a reserved IPv4 address: through
// NAT64, or as the interface of an ISATAP tunnel.
func carriesReserved(a netip.Addr) bool {
	if a.Is4() {
		return false
	}
	b := a.As16()
	isatap := b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
	return (isatap || nat64.Contains(a)) && !mayReach(netip.AddrFrom4([4]byte(b[12:])), false)
}
