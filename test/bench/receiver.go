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
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// receiverArgument makes this program the process that receives webhooks, so
// that what receiving costs can be told apart.
const receiverArgument = "receiver"

// hangPath is where nothing is ever answered.
const hangPath = "/hang"

// arrival is the first of one event at one inbox.
type arrival struct {
	Order    int       // number of the create
	Happened time.Time // as the body says: cut to milliseconds, and before the commit
	Came     time.Time // when all of it was read
}

// arrivals are what came since they were last taken; a count has no First.
type arrivals struct {
	Count int // of different ones
	Again int // repeats
	Bytes int // of the last body
	First []arrival
}

// What the receiver is asked, a line each.
const (
	askCount = "count"
	askTake  = "take"
)

// receive is the receiver's process: argument is the number of inboxes. It tells
// their addresses and then answers questions until its input ends.
func receive(context.Context) error {
	inboxes, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	var r mailroom
	answers := gob.NewEncoder(os.Stdout)
	var addresses []string
	for inbox := range inboxes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addresses = append(addresses, l.Addr().String())
		go r.accept(l, inbox)
	}
	if err := answers.Encode(addresses); err != nil {
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
	seen map[letter]bool
	arrivals
}

type letter struct {
	inbox int
	event string
}

func (r *mailroom) told(take bool) arrivals {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.arrivals
	all.Count = len(all.First)
	if take {
		r.seen, r.arrivals = nil, arrivals{}
	} else {
		all.First = nil
	}
	return all
}

func (r *mailroom) note(of letter, a arrival, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[letter]bool{}
	}
	r.Bytes = size
	if r.seen[of] {
		r.Again++
		return
	}
	r.seen[of] = true
	r.First = append(r.First, a)
}

func (r *mailroom) accept(l net.Listener, inbox int) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go r.serve(c, inbox)
	}
}

var taken = []byte("HTTP/1.1 204 No Content\r\n\r\n")

// serve speaks just enough HTTP, as the load does.
func (r *mailroom) serve(c net.Conn, inbox int) {
	defer c.Close()
	in := bufio.NewReaderSize(c, 16<<10)
	var body []byte
	for {
		path, event, length, err := readHead(in)
		if err != nil {
			return // the sender is gone
		}
		if path == hangPath {
			_, _ = io.Copy(io.Discard, in) // until the sender has had enough
			return
		}
		body = append(body[:0], make([]byte, length)...)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		came := time.Now()
		r.note(letter{inbox, event}, arrival{Order: orderOf(body), Happened: happened(body), Came: came}, length)
		if _, err := c.Write(taken); err != nil {
			return
		}
	}
}

var errNoWebhook = errors.New("no webhook")

// tlsHandshake is the first byte of a client that begins TLS. What follows may have no
// end of a line.
const tlsHandshake = 0x16

func readHead(in *bufio.Reader) (path, event string, length int, err error) {
	if first, err := in.Peek(1); err != nil || first[0] == tlsHandshake {
		return "", "", 0, errors.Join(err, errNoWebhook)
	}
	line, err := in.ReadSlice('\n')
	if err != nil {
		return "", "", 0, err
	}
	fields := bytes.Fields(line)
	if len(fields) != 3 {
		return "", "", 0, errNoWebhook
	}
	for path = string(fields[1]); ; {
		if line, err = in.ReadSlice('\n'); err != nil {
			return "", "", 0, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			return path, event, length, nil
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return "", "", 0, err
			}
		case bytes.EqualFold(name, []byte("webhook-id")):
			event = string(value)
		}
	}
}

// happened reads the timestamp of the event out of its body.
func happened(body []byte) time.Time {
	at, _ := time.Parse(time.RFC3339, textIn(body, `"timestamp":"`)) // zero shows as a latency of centuries
	return at
}

// orderMark is before the number of the create in a body.
const orderMark = `"external_id":"order-`

// orderOf reads the number of the create.
func orderOf(body []byte) int {
	n, _ := strconv.Atoi(textIn(body, orderMark)) // zero is no create's
	return n
}

func textIn(body []byte, behind string) string {
	_, rest, _ := bytes.Cut(body, []byte(behind))
	text, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(text)
}

// receiver is the process, seen from the one that asks.
type receiver struct {
	cmd       *exec.Cmd
	addresses []string // of the inboxes
	questions io.WriteCloser
	answers   *gob.Decoder
}

func startReceiver(inboxes int) (*receiver, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &receiver{cmd: exec.Command(self, receiverArgument, strconv.Itoa(inboxes))}
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
	if err := r.answers.Decode(&r.addresses); err != nil {
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
	return errors.Join(r.questions.Close(), r.cmd.Wait())
}
