package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"

	"waybill/adapters/web/server"
)

// A request on an idle connection gets its response, and the client is told to open another
// connection.
func TestAServerThatLeavesAnswersAndClosesEachConnectionWithItsAnswer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := server.New(&http.Server{Handler: refuse(http.StatusOK)}, server.Options{}) //nolint:gosec // the test's own client
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	ask := func(c net.Conn, answers *bufio.Reader) (closes bool) {
		t.Helper()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		return res.Close
	}
	old := dial(t, l.Addr().String())
	answers := bufio.NewReader(old)
	if ask(old, answers) {
		t.Fatal("an answer closes its connection while the server stays")
	}
	server.Leave()
	if !ask(old, answers) {
		t.Error("the next answer leaves its connection open")
	}
	if fresh := dial(t, l.Addr().String()); !ask(fresh, bufio.NewReader(fresh)) {
		t.Error("a new connection stays open behind its answer")
	}
}
