package stage

import "io"

// LateBody is a body of a request whose client waits for the server to ask for it, by the header
// "Expect: 100-continue". Before runs then: the server has let the request in.
type LateBody struct {
	io.Reader
	Before func()
}

// Read calls Before once, and reads.
func (b *LateBody) Read(p []byte) (int, error) {
	if b.Before != nil {
		b.Before()
		b.Before = nil
	}
	return b.Reader.Read(p)
}
