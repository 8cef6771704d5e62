package domain

import "net/netip"

// clientNetwork is how much of an address of IPv6 counts: providers give a
// household or an office 56 bits, and any address below them is its own.
const clientNetwork = 56

// ClientAddress is the name that failures, misses and streams of a client count
// against, at every listener: the address as text, or for IPv6 its network. A
// text that is no address gives "unknown".
func ClientAddress(text string) string {
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return "unknown"
	}
	if ip = ip.Unmap(); ip.Is6() {
		network, _ := ip.WithZone("").Prefix(clientNetwork)
		return network.String()
	}
	return ip.String()
}

// ClientNetwork is the part of a refused client's address that may be kept: the
// first 24 bits of IPv4 and 56 of IPv6, enough to tell one provider, office or
// village from another, and no person. A text that is no address gives "unknown".
func ClientNetwork(text string) string {
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return "unknown"
	}
	bits := 24
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		bits = clientNetwork
	}
	network, _ := ip.Prefix(bits)
	return network.String()
}
