package oidc

// SameCare is whether an address is as protected as the issuer's.
func SameCare(p *Provider, address string) error { return p.sameCare(address) }
