package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"waybill/domain"
)

// sickPath is where each receiver misbehaves: the name of an ailment follows.
const sickPath = "/sick/"

// Addresses that a receiver's process has behind those of its inboxes.
const (
	silentListener = iota // accepts a connection and says nothing
	fullListener          // has a full queue and accepts no connection
	closedListener        // has ended
	besideInboxes
)

// ailment is a way in which a receiver is sick.
type ailment struct {
	name string
	// url leads to it, of an inbox and of the addresses beside the inboxes.
	url func(inbox string, beside []string) string
}

// ailments are all of them.
var ailments = func() (all []ailment) {
	for _, name := range []string{"hang", "reset", "fails", "drips", "body-drips", "redirects", "huge-head", "huge-body", "garbage", "slow"} {
		all = append(all, ailment{name, func(inbox string, _ []string) string { return "http://" + inbox + sickPath + name }})
	}
	return append(all,
		ailment{"TLS refused", func(inbox string, _ []string) string { return "https://" + inbox + "/hooks" }},
		ailment{"TLS hangs", func(_ string, beside []string) string { return "https://" + beside[silentListener] + "/hooks" }},
		ailment{"no connection", func(_ string, beside []string) string { return "http://" + beside[fullListener] + "/hooks" }},
		ailment{"no such host", func(string, []string) string { return "http://nowhere.invalid/hooks" }},
		ailment{"refused", func(_ string, beside []string) string { return "http://" + beside[closedListener] + "/hooks" }})
}()

// misbehave answers a request to a sick path; the connection ends with it.
func misbehave(c net.Conn, in *bufio.Reader, path string, length int) {
	if path == "hang" {
		_, _ = io.Copy(io.Discard, in)
		return
	}
	if _, err := in.Discard(length); err != nil {
		return
	}
	say := func(text string) bool { _, err := io.WriteString(c, text); return err == nil }
	drip := func() {
		for say("x") {
			time.Sleep(time.Second)
		}
	}
	switch path {
	case "reset":
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	case "fails":
		say("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	case "drips":
		say("HTTP/1.1 200 OK\r\nX-Drip: ")
		drip()
	case "body-drips":
		say("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 1000000\r\n\r\n")
		drip()
	case "redirects":
		say("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	case "huge-head":
		say("HTTP/1.1 200 OK\r\nX-Huge: ")
		for say(strings.Repeat("x", 16<<10)) {
		}
	case "huge-body":
		say("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 1000000000\r\n\r\n")
		for say(strings.Repeat("x", 16<<10)) {
		}
	case "garbage":
		say("220 mail.example.com ESMTP\r\n")
	case "well":
		say("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	case "slow":
		time.Sleep(3 * time.Second)
		say("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	}
}

// listenBeside opens what is reached beside the inboxes.
func listenBeside() (addresses []string, err error) {
	addresses = make([]string, besideInboxes)
	for _, which := range []int{silentListener, closedListener} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		addresses[which] = l.Addr().String()
		if which == closedListener {
			_ = l.Close()
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(io.Discard, c); _ = c.Close() }()
			}
		}()
	}
	addresses[fullListener], err = listenFull()
	return addresses, err
}

// listenFull listens where the kernel drops each new connection: the queue of those
// to be accepted has one place, which is taken.
func listenFull() (string, error) {
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	if err := errors.Join(syscall.Bind(s, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(s, 0)); err != nil {
		return "", err
	}
	name, err := syscall.Getsockname(s)
	if err != nil {
		return "", err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port))
	for range 2 { // Linux lets one in more than it is told
		go func() { _, _ = net.DialTimeout("tcp", address, time.Hour) }()
	}
	return address, nil
}

const (
	healthyRate   = 50 // healthy webhooks a second
	sickRate      = 20 // creates a second of applications whose endpoints are sick
	sickEndpoints = 4  // of each of them
)

// How the applications with sick endpoints come to their first events.
const (
	withinASecond = iota // one after another
	atOnce               // all of them in one moment: a burst, however the receivers answer
)

// sick are the trials with endpoints that are sick, all of them from one moment on.
func (p *post) sickTrials(o webhookOptions) []*trial {
	rate := fmt.Sprintf("%d/s", healthyRate)
	alone := &trial{name: rate, figures: append([]figure{p95(-1)}, processors...),
		run: func(ctx context.Context) (outcome, error) { return p.steady(ctx, healthyRate, 0, o.duration) }}
	beside := func(name string, firsts int, until time.Duration, windows []window, urls []string) *trial {
		t := &trial{name: rate + " beside " + name, figures: append([]figure{
			{"goroutines of the worker", func(o outcome) float64 { return float64(o.goroutines) }, 0, 0, -1},
			{"lost", missing, 0, 0, 0},
		}, processors...), run: func(ctx context.Context) (outcome, error) { return p.besideSick(ctx, urls, firsts, until) }}
		for _, w := range windows {
			t.figures = append(t.figures, figure{"p95 ms, " + w.String(), w.p95, 1, 0, -1})
			t.comparisons = append(t.comparisons, comparison{figure: figure{w.String() + " / alone", w.p95, 2, 0, 2}, with: alone, by: ratio,
				against: p95(-1).of})
		}
		return t
	}
	ill := func(n int, of []ailment) (urls []string) {
		inboxes := p.neighbours[0].inboxes
		for i := range n {
			urls = append(urls, of[i%len(of)].url(inboxes[0], p.receiver.beside))
		}
		return urls
	}
	const s = time.Second
	well := []ailment{{"well", func(inbox string, _ []string) string { return "http://" + inbox + sickPath + "well" }}}
	return []*trial{
		alone,
		beside("200 that are well at once", atOnce, 10*s, []window{{0, s}, {0, 10 * s}}, ill(200, well)),
		beside("200 that hang", withinASecond, 20*s, []window{{0, s}, {0, 10 * s}, {10 * s, 20 * s}}, ill(200, ailments[:1])),
		beside("200 that hang at once", atOnce, 20*s, []window{{0, s}, {0, 10 * s}, {10 * s, 20 * s}}, ill(200, ailments[:1])),
		beside(fmt.Sprintf("75 of %d kinds", len(ailments)), withinASecond, 40*s, []window{{0, s}, {0, 20 * s}, {20 * s, 40 * s}},
			ill(75, ailments)),
	}
}

// window is a part of a trial, from its beginning.
type window struct{ from, to time.Duration }

func (w window) String() string { return fmt.Sprintf("%g to %g s", w.from.Seconds(), w.to.Seconds()) }

// p95 is that of the events which happened in the window, in milliseconds.
func (w window) p95(o outcome) float64 {
	var m measurement
	for _, a := range o.First {
		if at := a.Happened.Sub(o.begun); at >= w.from && at < w.to {
			m.latencies = append(m.latencies, a.Came.Sub(a.Happened))
		}
	}
	slices.Sort(m.latencies)
	return milliseconds(m.quantile(0.95))
}

// besideSick is one application's events at a steady pace, while others have theirs
// whose endpoints are all sick. They have their first events as firsts says.
func (p *post) besideSick(ctx context.Context, urls []string, firsts int, duration time.Duration) (o outcome, err error) {
	type added struct {
		of application
		id string
	}
	var endpoints []added
	ill := p.neighbours[:(len(urls)+sickEndpoints-1)/sickEndpoints]
	for i, url := range urls {
		a := ill[i/sickEndpoints]
		// A name that leads nowhere is refused, so that it is given to the endpoint later.
		id, err := p.addEndpoint(ctx, a, a.inboxes[0]+"/hooks")
		if err != nil {
			return o, err
		}
		endpoints = append(endpoints, added{a, id})
		if _, err := p.db.Exec(ctx, "UPDATE webhook_endpoints SET url = $1 WHERE id = $2", url,
			strings.TrimPrefix(id, string(domain.PrefixWebhookEndpoint))); err != nil {
			return o, err
		}
	}
	beside, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		perSecond := len(ill)
		if firsts == atOnce {
			perSecond = 0
		}
		err := p.order(beside, ill, len(ill), perSecond)
		if err == nil {
			err = p.order(beside, ill, sickRate*int(duration/time.Second), sickRate)
		}
		ended <- err
	}()
	watched := p.watchGoroutines(beside)
	o.expected, o.begun = healthyRate*int(duration/time.Second), time.Now()
	err = p.order(ctx, []application{p.one}, o.expected, healthyRate)
	stop()
	o.goroutines = <-watched
	if besideErr := <-ended; !errors.Is(besideErr, context.Canceled) {
		err = errors.Join(err, besideErr)
	}
	for _, e := range endpoints {
		err = errors.Join(err, p.removeEndpoint(ctx, e.of, e.id))
	}
	return o, err
}

// watchGoroutines tells, when ctx ends, how many the worker had at most.
func (p *post) watchGoroutines(ctx context.Context) <-chan int {
	most := make(chan int, 1)
	go func() {
		highest := 0
		for pause(ctx, 500*time.Millisecond) == nil {
			n, _ := goroutines(ctx, p.worker.ops)
			highest = max(highest, n)
		}
		most <- highest
	}()
	return most
}
