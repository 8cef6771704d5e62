package main

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"

	"waybill/configs"
)

// installationOf names the installation that a process belongs to, in words that
// give nothing away. It is derived from the pepper, which belongs to one database
// whatever name or address that is reached by; empty: the process has none.
func installationOf(c *configs.Config) string {
	if c.KeyPepper == "" {
		return ""
	}
	const length = 8
	name, err := hkdf.Key(sha256.New, []byte(c.KeyPepper.Reveal()), nil, "waybill/installation/v1", length)
	if err != nil {
		return "" // as long as that none can be asked for
	}
	return hex.EncodeToString(name)
}
