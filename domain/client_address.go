package domain

import "net/netip"

// clientNetwork is how many bits of an IPv6 address identify a client. Providers assign 56 bits to
// a household or an office, which chooses all addresses below them.
const clientNetwork = 56

// clientGroup is how many bits of an IPv6 address providers assign to a larger customer.
const clientGroup = 48

// ClientAddress returns the name under which failures, misses and streams of a client are counted
// at every listener: the address as text, or for IPv6 its network. For a text that is no address it
// returns "unknown".
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

// ClientGroup returns the name under which the clients of one network take turns: the first 24 bits
// of an IPv4 address, and 48 of IPv6, which providers assign to one customer. address is a result
// of ClientAddress.
func ClientGroup(address string) string {
	if network, err := netip.ParsePrefix(address); err == nil {
		wider, _ := network.Addr().Prefix(clientGroup)
		return wider.String()
	}
	return ClientNetwork(address)
}

// ClientNetwork returns the part of a refused client's address that may be stored: the first 24
// bits of IPv4 and 56 of IPv6. They distinguish providers, offices or villages, but no persons. For
// a text that is no address it returns "unknown".
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
