package crypto

// NoKeyDigester serves a process that digests no key and has no pepper.
type NoKeyDigester struct{}

// Digest panics: the program requested a digest without a pepper.
func (NoKeyDigester) Digest(string) [32]byte {
	panic("a key was digested in a command that did not ask for the pepper")
}

// Previous returns nothing.
func (NoKeyDigester) Previous(string) [][32]byte { return nil }
