package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// numberDigits is how a create's number stands in its request: of one length,
// so that a request is written by overwriting digits. Seven are what a
// Ghanaian number has behind its prefix.
const numberDigits = 7

const placeholder = "0000000"

// mostNumbers is how many there are.
const mostNumbers = 10_000_000

// orderBody is a create as a customer's program sends one.
const orderBody = `{
  "external_id": "order-` + placeholder + `",
  "recipient": {
    "name": "Nana Akosua Boateng-Mensah",
    "phone_number": "+23324` + placeholder + `",
    "address": {
      "label": "Home",
      "address": "17 Palm Crescent, Labone, behind the old post office",
      "latitude": 5.5712345,
      "longitude": -0.1723456,
      "municipality": "La Dade Kotopon",
      "delivery_notes": "Blue gate, ring twice and wait for the watchman"
    }
  },
  "pickup": {
    "name": "Osu kitchen",
    "contact": "+233302000011",
    "address": "8 Cantonments Close, Osu, opposite the fire station",
    "latitude": 5.5571234,
    "longitude": -0.1818765
  },
  "payment": {
    "type": "cod",
    "goods_value": 125.50
  },
  "vehicle_type": "bike",
  "delivery_instructions": "Two bags and a crate of drinks. Keep the crate upright, and call before you set out. If nobody answers, leave it with the neighbour at number 19."
}`

// load sends creates over a fixed number of connections.
type load struct {
	address     string
	keys        []string // API keys, in turn
	connections int
	conns       []*conn
}

// connect opens the connections, for one send: the server would close those
// that wait for the next.
func (l *load) connect(ctx context.Context, request func(address, key string) []byte) error {
	l.conns = l.conns[:0]
	for i := range l.connections {
		c, err := dial(ctx, l.address, request(l.address, l.keys[i%len(l.keys)]))
		if err != nil {
			return err
		}
		l.conns = append(l.conns, c)
	}
	return nil
}

func (l *load) disconnect() {
	for _, c := range l.conns {
		_ = c.net.Close() // nothing is under way
	}
}

// work is what a load does over and over.
type work struct {
	request  func(address, key string) []byte // of a connection; what varies is overwritten
	next     func(conn int) int               // numbers what is sent
	send     func(c *conn, n int) (answer, error)
	expected func(a answer) bool
	size     int // operations in one request; 0: one
}

// create keeps every connection busy with creates for the duration. next numbers
// them: a number sent twice on the same connection's key is a replay.
func (l *load) create(ctx context.Context, duration time.Duration, replays bool, next func(conn int) int) (measurement, error) {
	return l.drive(ctx, duration, work{
		request: createRequest, next: next, send: (*conn).create,
		expected: func(a answer) bool { return a.status == http.StatusCreated && a.replayed == replays },
	})
}

// bulkSize is how many deliveries a bulk books: as many as it may.
const bulkSize = 100

// bulkWork is bulks, each with an order like that of a create for the number it is given
// and for those that follow it.
func bulkWork(next func(conn int) int) work {
	items := strings.TrimSuffix(strings.Repeat(orderBody+",", bulkSize), ",")
	return work{
		request: func(address, key string) []byte {
			return postRequest(address, key, "/v1/deliveries/bulk", "bench-bulk-"+placeholder, `{"deliveries":[`+items+`]}`)
		},
		size: bulkSize, next: next, send: (*conn).bulk,
		expected: func(a answer) bool { return a.status == http.StatusCreated && !a.replayed },
	}
}

// drive keeps every connection busy for the duration.
func (l *load) drive(ctx context.Context, duration time.Duration, w work) (measurement, error) {
	defer l.disconnect()
	if err := l.connect(ctx, w.request); err != nil {
		return measurement{}, err
	}
	var m measurement
	var mu sync.Mutex
	var failed error
	var stop atomic.Bool
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	timer := time.AfterFunc(duration, func() { stop.Store(true) })
	defer timer.Stop()

	began := time.Now()
	var group sync.WaitGroup
	for i, c := range l.conns {
		group.Go(func() {
			latencies := make([]time.Duration, 0, 1<<13)
			unexpected, example := 0, ""
			var err error
			for !stop.Load() {
				n := w.next(i)
				sent := time.Now()
				var a answer
				if a, err = w.send(c, n); err != nil {
					err = fmt.Errorf("number %d: %w", n, err)
					cancel()
					break
				}
				latencies = append(latencies, time.Since(sent))
				if !w.expected(a) {
					if unexpected++; example == "" {
						example = fmt.Sprintf("%d, replayed %t: %s", a.status, a.replayed, a.body)
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			m.latencies = append(m.latencies, latencies...)
			if m.unexpected += unexpected; m.example == "" {
				m.example = example
			}
			failed = errors.Join(failed, err)
		})
	}
	group.Wait()
	took := time.Since(began)
	if failed == nil {
		failed = context.Cause(ctx)
	}
	slices.Sort(m.latencies)
	m.operations = len(m.latencies) * max(1, w.size)
	m.perSecond = float64(m.operations) / took.Seconds()
	return m, failed
}

// conn is one HTTP connection with its request, ready to be sent again with
// other numbers. It speaks just enough HTTP, so that little of the machine is
// spent on this side.
type conn struct {
	net     net.Conn
	in      *bufio.Reader
	request []byte
	numbers []int // where a number stands in the request, in order
	body    []byte
}

// dial connects, for a request in which zeros stand where a number belongs.
func dial(ctx context.Context, address string, request []byte) (*conn, error) {
	var d net.Dialer
	n, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &conn{net: n, in: bufio.NewReaderSize(n, 16<<10), request: request}
	for at := 0; ; at += numberDigits {
		i := bytes.Index(request[at:], []byte(placeholder))
		if i < 0 {
			return c, nil
		}
		at += i
		c.numbers = append(c.numbers, at)
	}
}

// createRequest has the number in its key, in the order's ID, and as its recipient's phone number.
func createRequest(address, key string) []byte {
	return postRequest(address, key, "/v1/deliveries", "bench-order-"+placeholder, orderBody)
}

func postRequest(address, key, path, idempotencyKey, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		path, address, key, idempotencyKey, len(body), body)
}

func getRequest(address, key, path string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, address, key)
}

// answer is what came back; body is valid until the next call.
type answer struct {
	status   int
	replayed bool
	body     []byte
}

// create sends the request with a number, which is also its recipient's, and waits for its answer.
func (c *conn) create(number int) (answer, error) {
	for _, at := range c.numbers {
		writeDigits(c.request[at:at+numberDigits], number)
	}
	return c.exchange()
}

// bulk sends bulkSize orders of the numbers from one on, the first of which is also in the key.
func (c *conn) bulk(number int) (answer, error) {
	writeDigits(c.request[c.numbers[0]:c.numbers[0]+numberDigits], number)
	for i, at := range c.numbers[1:] {
		writeDigits(c.request[at:at+numberDigits], number+i/2) // an order's ID and its recipient's
	}
	return c.exchange()
}

// exchange sends the request as it is and waits for its answer.
func (c *conn) exchange() (answer, error) {
	if err := c.net.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return answer{}, err
	}
	if _, err := c.net.Write(c.request); err != nil {
		return answer{}, err
	}
	return c.read()
}

func writeDigits(at []byte, n int) {
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = '0' + byte(n%10)
		n /= 10
	}
}

var (
	lengthHeader   = []byte("Content-Length: ")
	replayedHeader = []byte("Idempotent-Replayed: true")
)

func (c *conn) read() (answer, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return answer{}, err
	}
	if len(line) < 12 {
		return answer{}, fmt.Errorf("no HTTP answer: %q", line)
	}
	var a answer
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return answer{}, fmt.Errorf("no HTTP answer: %q", line)
	}
	length := -1
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return answer{}, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(line, lengthHeader); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return answer{}, err
			}
		} else if bytes.Equal(line, replayedHeader) {
			a.replayed = true
		}
	}
	if length < 0 {
		return answer{}, errors.New("an answer without a Content-Length")
	}
	c.body = slices.Grow(c.body[:0], length)[:length]
	_, err = io.ReadFull(c.in, c.body)
	a.body = c.body
	return a, err
}
