package webhooksend

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"testing"
)

// trivial answers every request at once, with as little work as can be, so that
// the figures are the sender's.
func trivial(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					length := 0
					for {
						line, err := in.ReadSlice('\n')
						if err != nil {
							return
						}
						if rest, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
							for _, digit := range bytes.TrimSpace(rest) {
								length = length*10 + int(digit-'0')
							}
						}
						if len(line) == 2 {
							break
						}
					}
					if _, err := in.Discard(length); err != nil {
						return
					}
					if _, err := conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/hooks"
}

func BenchmarkSend(b *testing.B) {
	s := sender(b, Options{AllowPrivate: true}, defaultLimits)
	m := message(trivial(b))
	m.Body = []byte(`{"pad":"` + strings.Repeat("x", 1200) + `"}`)
	b.ReportAllocs()
	b.SetParallelism(8) // 16 in flight on two processors
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if r := s.Send(b.Context(), m); !r.Succeeded() || r.Excerpt != "ok" {
				b.Errorf("%+v", r)
				return
			}
		}
	})
}
