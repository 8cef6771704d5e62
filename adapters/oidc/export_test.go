package oidc

// SameCare returns an error for an address that is less protected than the issuer's.
func SameCare(p *Provider, address string) error { return p.sameCare(address) }
