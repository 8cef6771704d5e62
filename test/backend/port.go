package backend

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports below the range from which Linux and macOS take the local end of
// outgoing connections, so that a server that is restarted finds its port free.
const firstPort, lastPort = 15432, 31999

// FreePort is a port of 127.0.0.1 without a listener. Until the server binds it
// another process may: try again with another one.
func FreePort() (int, error) {
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("no free port found on 127.0.0.1 in 100 tries between %d and %d", firstPort, lastPort)
}
