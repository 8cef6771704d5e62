package domain_test

import (
	"testing"

	"waybill/domain"
)

func TestANetworkOfIPv6IsOneClient(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "": "unknown", "a": "unknown",
		"2001:db8:1:200::1": "2001:db8:1:200::/56", "2001:db8:1:2ff:ffff::1": "2001:db8:1:200::/56", "2001:db8:1:300::1": "2001:db8:1:300::/56",
		"fe80::1%eth0": "fe80::/56",
	} {
		if got := domain.ClientAddress(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestOfAClientThatIsTurnedAwayItsNetworkMayBeKept(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.231": "192.0.2.0/24", "::ffff:192.0.2.231": "192.0.2.0/24", "2001:db8:1:2ff:ffff::1": "2001:db8:1:200::/56",
		"fe80::1%eth0": "fe80::/56", "": "unknown", "a": "unknown",
	} {
		if got := domain.ClientNetwork(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestClientsOfOneNetworkAreAGroup(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.231": "192.0.2.0/24", "2001:db8:1:2ff:ffff::1": "2001:db8:1::/48", "": "unknown",
	} {
		if got := domain.ClientGroup(domain.ClientAddress(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
