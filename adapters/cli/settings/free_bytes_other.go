//go:build !linux && !darwin

package settings

// freeBytes returns false: this system cannot tell.
func freeBytes(string) (free int64, known bool) { return 0, false }
