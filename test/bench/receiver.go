package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"waybill/domain"
)

// receiverArgument makes this program the process that receives webhooks, so
// that what receiving costs can be told apart.
const receiverArgument = "receiver"

// hangPath is where nothing is ever answered.
const hangPath = "/hang"

// arrival is the first of one event.
type arrival struct {
	Happened time.Time // as the body says: cut to milliseconds, and before the commit
	Came     time.Time // when all of it was read
}

// arrivals are what came since they were last taken; a count has no First.
type arrivals struct {
	Count int
	First []arrival
}

// What the receiver is asked, a line each.
const (
	askCount = "count"
	askTake  = "take"
)

// receive is the receiver's process. It tells its address and then answers questions until
// its input ends.
func receive(context.Context, []string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var r mailroom
	server := &http.Server{Handler: &r, ReadHeaderTimeout: time.Minute}
	defer func() { _ = server.Close() }()
	go func() { _ = server.Serve(l) }() // until this process ends
	answers := gob.NewEncoder(os.Stdout)
	if err := answers.Encode(l.Addr().String()); err != nil {
		return err
	}
	questions := bufio.NewScanner(os.Stdin)
	for questions.Scan() {
		if err := answers.Encode(r.told(questions.Text() == askTake)); err != nil {
			return err
		}
	}
	return questions.Err()
}

// mailroom remembers what came.
type mailroom struct {
	mu   sync.Mutex
	seen map[string]bool // by their events
	all  []arrival
}

func (r *mailroom) told(take bool) arrivals {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := arrivals{Count: len(r.all)}
	if take {
		a.First, r.seen, r.all = r.all, nil, nil
	}
	return a
}

func (r *mailroom) note(event string, a arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	if !r.seen[event] {
		r.seen[event] = true
		r.all = append(r.all, a)
	}
}

// ServeHTTP takes a webhook, unless its path is that where nothing is answered.
func (r *mailroom) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender is gone
	}
	if req.URL.Path == hangPath {
		<-req.Context().Done() // until the sender has had enough
		return
	}
	r.note(req.Header.Get(domain.HeaderWebhookID), arrival{Happened: happened(body), Came: time.Now()})
	w.WriteHeader(http.StatusNoContent)
}

// happened reads the timestamp of the event out of its body.
func happened(body []byte) time.Time {
	_, rest, _ := bytes.Cut(body, []byte(`"timestamp":"`))
	text, _, _ := bytes.Cut(rest, []byte(`"`))
	at, _ := time.Parse(time.RFC3339, string(text)) // zero shows as a latency of centuries
	return at
}

// receiver is the process, seen from the one that asks.
type receiver struct {
	cmd       *exec.Cmd
	address   string
	questions io.WriteCloser
	answers   *gob.Decoder
}

func startReceiver() (*receiver, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &receiver{cmd: exec.Command(self, receiverArgument)}
	r.cmd.Stderr = os.Stderr
	if r.questions, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.answers = gob.NewDecoder(out)
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	if err := r.answers.Decode(&r.address); err != nil {
		return nil, errors.Join(fmt.Errorf("start the receiver: %w", err), r.stop())
	}
	return r, nil
}

func (r *receiver) ask(question string) (a arrivals, err error) {
	if _, err = io.Copy(r.questions, strings.NewReader(question+"\n")); err == nil {
		err = r.answers.Decode(&a)
	}
	if err != nil {
		err = fmt.Errorf("ask the receiver: %w", err)
	}
	return a, err
}

// stop ends the process by asking no more.
func (r *receiver) stop() error {
	if r == nil {
		return nil
	}
	return errors.Join(r.questions.Close(), r.cmd.Wait())
}
