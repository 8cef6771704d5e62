package backend

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Direction says what a cut swallows.
type Direction int

// The directions, as the process sees them.
const (
	BothWays Direction = iota
	Sent               // what the process sends arrives nowhere; answers would come
	Received           // what it sends arrives; answers are lost
)

func (d Direction) String() string {
	return [...]string{"both ways", "what is sent", "what is received"}[d]
}

// Link is one network, to one server.
type Link struct {
	listener net.Listener
	to       string

	mu   sync.Mutex
	path *path // of new connections
}

// path is the fate of the connections that were made at the same time. It ends
// when it is cut, and never works again.
type path struct {
	dead   bool // from the beginning: it was dialled into a cut
	lost   Direction
	cut    chan struct{} // closed when it is
	healed chan struct{} // closed when others work again
}

// NewLink makes a link to the host and port of a URL, which is closed with the test.
func NewLink(t testing.TB, address string) *Link {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	link := &Link{listener: l, to: u.Host, path: newPath()}
	t.Cleanup(func() { _ = l.Close() })
	go link.accept(t.Context())
	return link
}

func newPath() *path { return &path{cut: make(chan struct{}), healed: make(chan struct{})} }

// URL is an address by way of the link.
func (l *Link) URL(t testing.TB, address string) string {
	t.Helper()
	return through(t, address, l.listener.Addr().String())
}

func through(t testing.TB, address, host string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = host
	return u.String()
}

// Cut loses packets from now on.
func (l *Link) Cut(lost Direction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.path
	old.lost = lost
	close(old.cut)
	l.path = &path{dead: true, cut: old.cut, healed: old.healed}
}

// Heal lets new connections through again.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.path.healed)
	l.path = newPath()
}

func (l *Link) accept(ctx context.Context) {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		context.AfterFunc(ctx, func() { _ = client.Close() })
		l.mu.Lock()
		p := l.path
		l.mu.Unlock()
		if !p.dead {
			go l.join(ctx, client, p)
		} // else it is never answered
	}
}

func (l *Link) join(ctx context.Context, client net.Conn, p *path) {
	server, err := net.Dial("tcp", l.to)
	if err != nil {
		_ = client.Close()
		return
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go p.carry(server, client, Sent)
	p.carry(client, server, Received)
}

// carry passes on what one side says until that side closes or the path is cut.
// That a side has closed is lost too, and found out when packets pass again.
func (p *path) carry(to, from net.Conn, direction Direction) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		lost := false
		select {
		case <-p.cut:
			lost = p.lost == BothWays || p.lost == direction
		default:
		}
		if err != nil {
			if lost {
				<-p.healed
			}
			_ = to.Close()
			return
		}
		if lost {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			_, _ = io.Copy(io.Discard, from)
			return
		}
	}
}
