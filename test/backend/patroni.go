package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNoPatroni is returned where a binary is missing.
var ErrNoPatroni = errors.New("no Patroni with etcd on this machine: apt-get install patroni etcd-server python3-etcd")

const (
	patroniStartTimeout = 90 * time.Second
	patroniStopTimeout  = 20 * time.Second
)

// Patroni is servers of Postgres, one of which is the primary.
type Patroni struct {
	Nodes []*PatroniNode

	dir   string
	owner *User
	etcd  *Process
}

// PatroniNode is a server of Postgres with its Patroni.
type PatroniNode struct {
	URL  string // the database "postgres", as superuser
	Port int

	rest    int // the port that Patroni answers at
	dir     string
	process *Process
}

// StartPatroni makes a cluster of two, and returns once one follows the other synchronously.
// The caller must Stop it. The error wraps ErrNoPatroni where something is missing.
func StartPatroni(ctx context.Context) (_ *Patroni, err error) {
	ctx, cancel := context.WithTimeout(ctx, patroniStartTimeout)
	defer cancel()
	for _, name := range []string{"patroni", "etcd"} {
		if _, err := exec.LookPath(name); err != nil {
			return nil, fmt.Errorf("%w (%w)", ErrNoPatroni, err)
		}
	}
	binaries, err := FindPostgres(ctx)
	if err != nil {
		return nil, err
	}
	server, err := filepath.EvalSymlinks(filepath.Join(binaries.Dir, "postgres")) // others that Patroni runs lie beside it
	if err != nil {
		return nil, err
	}
	c := &Patroni{}
	if c.owner, err = NotRoot(); err != nil {
		return nil, err
	}
	if c.dir, err = MakeDir("patroni", c.owner); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	keeper, err := c.startEtcd()
	if err != nil {
		return nil, err
	}
	for n := range 2 {
		node, err := c.startNode(fmt.Sprintf("node%d", n+1), keeper, filepath.Dir(server))
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, node)
	}
	for c.in(ctx, "sync") == nil || c.Primary(ctx) == nil {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no standby follows synchronously: %w; the logs end with:\n%s\n%s", ctx.Err(),
				LogTail(filepath.Join(c.dir, "node1.log")), LogTail(filepath.Join(c.dir, "node2.log")))
		case <-time.After(100 * time.Millisecond):
		}
	}
	return c, nil
}

// Primary is the node that may be written to now; nil: none.
func (c *Patroni) Primary(ctx context.Context) *PatroniNode { return c.in(ctx, "primary") }

// in is a node in a role, as its Patroni tells.
func (c *Patroni) in(ctx context.Context, role string) *PatroniNode {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, n := range c.Nodes {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/%s", n.rest, role), nil)
		if err != nil {
			return nil
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return n
		}
	}
	return nil
}

func (c *Patroni) startEtcd() (port int, err error) {
	client, err := FreePort()
	if err != nil {
		return 0, err
	}
	peer, err := FreePort()
	if err != nil {
		return 0, err
	}
	of := func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }
	c.etcd, err = c.start("etcd", "etcd", "--data-dir", filepath.Join(c.dir, "etcd"),
		"--listen-client-urls", of(client), "--advertise-client-urls", of(client),
		"--listen-peer-urls", of(peer), "--initial-advertise-peer-urls", of(peer), "--initial-cluster", "default="+of(peer))
	return client, err
}

// The times are the shortest that Patroni takes.
const configuration = `scope: waybill
name: %[1]s
restapi: {listen: '127.0.0.1:%[2]d', connect_address: '127.0.0.1:%[2]d'}
etcd3: {host: '127.0.0.1:%[3]d'}
bootstrap:
  dcs: {ttl: 20, loop_wait: 1, retry_timeout: 3, synchronous_mode: true, primary_start_timeout: 0, master_start_timeout: 0}
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}, {auth: trust}]
postgresql:
  listen: 127.0.0.1:%[4]d
  connect_address: 127.0.0.1:%[4]d
  data_dir: %[5]s
  bin_dir: %[6]s
  pgpass: %[5]s.pgpass
  authentication: {superuser: {username: postgres}, replication: {username: postgres}}
  pg_hba: [host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
  parameters: {unix_socket_directories: '', max_connections: 200}
`

func (c *Patroni) startNode(name string, keeper int, binaries string) (*PatroniNode, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	n := &PatroniNode{Port: port, URL: url, dir: filepath.Join(c.dir, name)}
	if n.rest, err = FreePort(); err != nil {
		return nil, err
	}
	file := filepath.Join(c.dir, name+".yml")
	text := fmt.Sprintf(configuration, name, n.rest, keeper, port, n.dir, binaries)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // another user reads it
		return nil, fmt.Errorf("write the configuration of Patroni: %w", err)
	}
	n.process, err = c.start(name, "patroni", file)
	return n, err
}

// start runs a program, with a log of its own.
func (c *Patroni) start(name, program string, args ...string) (*Process, error) {
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer log.Close() // the process has its own copy
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, log, log
	started, err := StartProcess(cmd, c.owner, syscall.SIGTERM)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return started, nil
}

// Crash ends Postgres and Patroni of a node as a machine does that loses its power.
func (n *PatroniNode) Crash() error {
	err := n.process.Signal(syscall.SIGKILL)
	if pid := n.postmaster(); pid > 0 {
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGKILL))
	}
	return err
}

// postmaster is the first process of Postgres; 0: none.
func (n *PatroniNode) postmaster() int {
	text, err := os.ReadFile(filepath.Join(n.dir, "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(first)
	return pid
}

// Stop ends all, and removes the directory.
func (c *Patroni) Stop() error {
	for _, n := range c.Nodes {
		n.process.End(syscall.SIGTERM, patroniStopTimeout)
		if pid := n.postmaster(); pid > 0 { // Patroni did not end it
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if c.etcd != nil {
		c.etcd.End(syscall.SIGTERM, patroniStopTimeout)
	}
	return os.RemoveAll(c.dir)
}
