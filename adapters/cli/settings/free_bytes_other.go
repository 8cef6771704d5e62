//go:build !linux && !darwin

package settings

// freeBytes cannot tell here.
func freeBytes(string) (free int64, known bool) { return 0, false }
