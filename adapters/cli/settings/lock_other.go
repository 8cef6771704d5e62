//go:build !unix || solaris || aix

package settings

// Lock does nothing here: this system has no lock that a crash releases.
func (d DataDir) Lock() (release func(), err error) { return func() {}, nil }
