package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// A request is pending from its first byte in the kernel until its handler begins.
func TestARequestIsPendingUntilItsHandlerBegins(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	c := &conn{Conn: accepted, accepted: time.Now()}
	want := func(pending bool, when string) {
		t.Helper()
		if c.pending() != pending {
			t.Errorf("pending %t %s", !pending, when)
		}
	}
	want(true, "on a new connection")
	c.accepted = time.Now().Add(-time.Minute)
	want(false, "on a connection that has long been silent")
	request := (&http.Request{}).WithContext(remember(context.Background(), c))
	for _, state := range []int32{fresh, quiet} {
		c.state.Store(state)
		if _, err := io.WriteString(client, "x"); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); !c.pending() && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) // the byte is on its way
		}
		want(true, "while its first byte waits in the kernel")
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		want(true, "while it is read")
		begun(request)
		want(false, "with its handler")
		if _, err := c.Write([]byte("y")); err != nil {
			t.Fatal(err)
		}
		want(false, "while it is answered")
	}
}

func TestARequestOnAConnectionThatGaveWayIsNotHandled(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer ours.Close()
	server := New(&http.Server{}, Options{})
	c := server.admit(theirs)
	request := (&http.Request{}).WithContext(remember(context.Background(), c))
	c.state.Store(asked)
	if !c.giveWay() || begun(request) {
		t.Error("the request is handled, though its response cannot be sent")
	}
	c = server.admit(theirs)
	c.state.Store(asked)
	if request = request.WithContext(remember(context.Background(), c)); !begun(request) || c.giveWay() {
		t.Error("a connection whose request is handled gives way")
	}
}
