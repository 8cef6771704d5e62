package backend

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// Dropping is a network between a process and a server whose packets the kernel
// drops while it is cut. It is a network namespace in which a listener passes on
// what comes: the process reaches it by a pair of virtual devices, and a firewall
// in the namespace drops what it is told to. TCP goes on where it can after
// healing: what was sent again and again arrives late.
type Dropping struct {
	namespace string
	listener  net.Listener
	to        string
}

var networks atomic.Int32

// NewDropping makes one to the host and port of a URL, which ends with the test.
// The test is skipped where that is not allowed.
func NewDropping(t testing.TB, address string) *Dropping {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	n := int(networks.Add(1))
	id := os.Getpid()*8 + n
	d := &Dropping{namespace: fmt.Sprintf("waybill-%d-%d", os.Getpid(), n), to: u.Host}
	device := fmt.Sprintf("wb%x", id)
	here, there := fmt.Sprintf("198.18.%d.%d", id/63%256, id%63*4+1), fmt.Sprintf("198.18.%d.%d", id/63%256, id%63*4+2)
	t.Cleanup(func() { _ = partitionFor("ip", "netns", "del", d.namespace) })
	for _, command := range []string{
		"ip netns add " + d.namespace,
		"ip link add " + device + " type veth peer name inside netns " + d.namespace,
		"ip addr add " + here + "/30 dev " + device,
		"ip link set " + device + " up",
		"ip -n " + d.namespace + " addr add " + there + "/30 dev inside",
		"ip -n " + d.namespace + " link set inside up",
		"ip netns exec " + d.namespace + " iptables -L -n",
	} {
		if err := partitionFor(strings.Fields(command)...); err != nil {
			t.Skipf("NOT TESTED: packets are dropped in a network namespace, for which this process needs to be root, and ip and iptables: %v", err)
		}
	}
	if d.listener, err = listenIn(d.namespace, there+":0"); err != nil {
		t.Skipf("NOT TESTED: packets are dropped in a network namespace, which this process cannot enter: %v", err)
	}
	t.Cleanup(func() { _ = d.listener.Close() })
	go d.accept()
	return d
}

func partitionFor(command ...string) error {
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// listenIn opens a listener in a namespace, in which it and its connections stay.
func listenIn(namespace, address string) (l net.Listener, err error) {
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		runtime.LockOSThread() // it is not unlocked: the thread ends with the goroutine
		var f *os.File
		if f, err = os.Open("/run/netns/" + namespace); err != nil {
			return
		}
		defer f.Close()
		if err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err == nil {
			l, err = net.Listen("tcp", address)
		}
	}()
	<-opened
	return l, err
}

// URL is an address by way of the network.
func (d *Dropping) URL(t testing.TB, address string) string {
	t.Helper()
	return through(t, address, d.listener.Addr().String())
}

// Cut drops packets from now on.
func (d *Dropping) Cut(lost Direction) { d.firewall("-A", lost) }

// Heal lets all packets pass again.
func (d *Dropping) Heal() { d.firewall("-F", BothWays) }

// firewall panics where it is refused, since the test means nothing then.
func (d *Dropping) firewall(change string, of Direction) {
	var failed error
	for chain, direction := range map[string]Direction{"INPUT": Sent, "OUTPUT": Received} {
		if of != BothWays && of != direction {
			continue
		}
		command := []string{"ip", "netns", "exec", d.namespace, "iptables", change, chain}
		if change == "-A" {
			command = append(command, "-j", "DROP")
		}
		failed = errors.Join(failed, partitionFor(command...))
	}
	if failed != nil {
		panic(failed)
	}
}

func (d *Dropping) accept() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return
		}
		go d.join(client)
	}
}

func (d *Dropping) join(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", d.to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
	_, _ = io.Copy(client, server)
}
