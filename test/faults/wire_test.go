package faults

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// wire carries connections to a Postgres, and understands as much of its protocol
// as it takes to know which statement is on its way. While it is held nothing
// passes, and neither end notices.
type wire struct {
	url  string // of the database, by this wire
	to   string
	held sync.RWMutex
	trap atomic.Pointer[trap]
}

func newWire(t *testing.T, database string) *wire {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &wire{to: u.Host}
	u.Host = l.Addr().String()
	query := u.Query()
	query.Set("sslmode", "disable") // to be understood
	u.RawQuery = query.Encode()
	w.url = u.String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go w.join(client)
		}
	}()
	return w
}

func (w *wire) join(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer server.Close()
	c := &conversation{wire: w, prepared: map[string]string{}}
	go func() {
		defer client.Close()
		w.carry(server, client, c.answer)
	}()
	if startup, err := readMessage(client, 0); err == nil && w.pass(server, startup) {
		w.carry(client, server, c.say)
	}
}

// carry passes messages on, unless heard says no to one: then the connection ends.
func (w *wire) carry(from, to net.Conn, heard func(message []byte) bool) {
	for {
		message, err := readMessage(from, 1)
		if err != nil || !heard(message) || !w.pass(to, message) {
			return
		}
	}
}

func (w *wire) pass(to net.Conn, message []byte) bool {
	w.held.RLock()
	defer w.held.RUnlock()
	_, err := to.Write(message)
	return err == nil
}

// readMessage reads a whole message; its length stands behind so many bytes of
// type and counts itself.
func readMessage(from io.Reader, typed int) ([]byte, error) {
	head := make([]byte, typed+4)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(head[typed:]))
	message := append(head, make([]byte, max(0, length-4))...)
	_, err := io.ReadFull(from, message[len(head):])
	return message, err
}

// moment is a point in a transaction.
type moment struct {
	name      string
	statement string // part of one
	commit    bool   // of the transaction with the statement; otherwise the statement itself
	nth       int    // time that this comes by, from 1 on
	done      bool   // Postgres has done it, and the server is not told; otherwise it has not heard of it
}

// trap springs once, at its moment.
type trap struct {
	moment
	spring func() (goOn bool)

	seen atomic.Int64
}

// set makes what comes by spring a trap. What is on its way waits for it, and
// goes on its way behind it where spring says so.
func (w *wire) set(at moment, spring func() (goOn bool)) {
	w.trap.Store(&trap{moment: at, spring: spring})
}

// conversation is one connection. A client says one statement at a time.
type conversation struct {
	*wire
	prepared map[string]string // statements by name
	said     []string          // since the transaction began
	awaited  atomic.Pointer[trap]
}

// say hears what the server's process says to Postgres.
func (c *conversation) say(message []byte) (pass bool) {
	text := func(from []byte) (string, []byte) {
		s, rest, _ := bytes.Cut(from, []byte{0})
		return string(s), rest
	}
	body := message[5:]
	switch message[0] {
	case 'P': // parse: name, statement
		name, rest := text(body)
		c.prepared[name], _ = text(rest)
	case 'B': // bind: portal, name
		_, rest := text(body)
		name, _ := text(rest)
		return c.hear(c.prepared[name])
	case 'Q': // a query by itself
		statement, _ := text(body)
		return c.hear(statement)
	}
	return true
}

func (c *conversation) hear(statement string) (pass bool) {
	commits := false
	switch word, _, _ := strings.Cut(strings.ToLower(statement), " "); word {
	case "begin", "rollback":
		c.said = nil
	case "commit":
		commits = true
	default:
		c.said = append(c.said, statement)
	}
	t := c.trap.Load()
	if t == nil || !t.meets(commits, statement, c.said) || t.seen.Add(1) != int64(t.nth) {
		return true
	}
	if t.done {
		c.awaited.Store(t)
		return true
	}
	return t.spring()
}

// meets tells whether the statement, or the commit of those said, is awaited.
func (t *trap) meets(commits bool, statement string, said []string) bool {
	if !t.commit {
		return strings.Contains(statement, t.statement)
	}
	return commits && strings.Contains(strings.Join(said, ";"), t.statement)
}

// answer hears what Postgres says. That a statement is done is said before
// anything that the process could go on with.
func (c *conversation) answer(message []byte) (pass bool) {
	const done = 'C'
	if message[0] == done {
		if t := c.awaited.Swap(nil); t != nil {
			return t.spring()
		}
	}
	return true
}
