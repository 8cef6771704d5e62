package faults

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// nginx keeps its connections to the server for two seconds here, and the server keeps them for
// three: as 60 and 75 seconds by default. Requests come just when nginx ends a connection. One that
// the server ended first would be answered 502. WAYBILL_NGINX_ROUNDS makes it longer.
func TestBehindNginxNoRequestIsLostOnAKeptConnection(t *testing.T) {
	t.Parallel()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("nginx is not installed; Debian has it as nginx-light")
	}
	const clients = 50
	rounds, err := strconv.Atoi(os.Getenv("WAYBILL_NGINX_ROUNDS"))
	if err != nil {
		rounds = 6
	}
	s := serve(t, freshDatabase(t, SQLite), 1, "WAYBILL_HTTP_IDLE_TIMEOUT=3s", "WAYBILL_TRUSTED_PROXIES=127.0.0.1/32")
	t.Cleanup(s.close)
	front := freeAddress(t)
	startNginx(t, nginx, front, fmt.Sprintf(`
upstream waybill { server %s; keepalive %d; keepalive_timeout 2s; }
server {
	listen %s;
	location / { proxy_pass http://waybill; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_next_upstream off; }
}`, s.servers[0].live, clients, front))
	s.sender.targets = []string{"http://" + front}
	var created atomic.Int64
	for round := range rounds {
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				_, body := newClerk(0, 0).delivery()
				r, err := s.sender.ask(t.Context(), http.MethodPost, "/v1/deliveries", fmt.Sprintf("nginx-%d-%d", round, created.Add(1)), body)
				if err != nil || r.status != http.StatusCreated {
					t.Errorf("round %d: %d, %v\n%s", round, r.status, err, r.body)
				}
			})
		}
		all.Wait()
		time.Sleep(1900*time.Millisecond + time.Duration(round%5)*50*time.Millisecond) // around nginx's two seconds
	}
	t.Logf("%d creates", created.Load())
}

// startNginx runs nginx with some servers until the test ends, and waits until it listens.
func startNginx(t *testing.T, program, address, servers string) {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf("daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log;\nevents { worker_connections 512; }\n"+
		"http { access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; "+
		"scgi_temp_path %[1]s/s;\n%[2]s\n}\n", dir, servers)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-c", config)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if log, err := os.ReadFile(filepath.Join(dir, "error.log")); err == nil && t.Failed() {
			t.Logf("%s", log)
		}
	})
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			break
		} else if time.Now().After(until) {
			t.Fatalf("nginx does not listen: %v", err)
		}
	}
}
