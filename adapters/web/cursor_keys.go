package web

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// CursorKeys derives the keys that sign cursors, one from each pepper. The first one signs new
// cursors.
func CursorKeys(peppers ...string) ([][32]byte, error) {
	var keys [][32]byte
	for _, pepper := range peppers {
		derived, err := hkdf.Key(sha256.New, []byte(pepper), nil, "waybill/cursors/v1", 32)
		if err != nil {
			return nil, fmt.Errorf("derive the key of cursors: %w", err)
		}
		keys = append(keys, [32]byte(derived))
	}
	return keys, nil
}
