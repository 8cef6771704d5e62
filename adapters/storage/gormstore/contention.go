package gormstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// A row may be held for long: by a process that was stopped in the middle of a transaction, or by
// an operator's open psql. Only a transaction that needs this row waits for it, and only few of
// those wait with a connection.
//
// At first a transaction waits for briefWait, which is longer than a healthy one holds a row. After
// that its row counts as held, and the transaction queues for it without a connection. One at a
// time retries for heldWait. One at a time, of a share of all connections, waits as long as the
// database allows. A transaction that needs a row that counts as held queues at once. One that
// still waits after Options.LockTimeout is refused.
//
// A transaction names the row it needs next with session.reach. Those that name none share a queue,
// so every transaction that a customer can make wait names its row. Where a booking meets foreign
// keys, the row is all that its business books. Some of those bookings need the row. The others
// lose at most heldWait for each that does.
const (
	briefWait = 100 * time.Millisecond
	heldWait  = 20 * time.Millisecond
	// firstHeld is how long a row counts as held after a transaction waited for it in vain. The
	// time doubles with each of them, up to mostHeld, and starts again after forgetHeld without
	// one.
	firstHeld  = time.Second
	mostHeld   = 8 * time.Second
	forgetHeld = time.Minute
	// waitingShare limits the transactions that wait for held rows to this part of a pool.
	waitingShare = 4
)

// errRowHeld means that another transaction held a row a moment ago.
var errRowHeld = errors.New("another transaction holds the row")

// contention records which rows other transactions hold.
type contention struct {
	brief    time.Duration // for a row, at first; briefWait
	patience time.Duration // for a row, without a connection
	places   chan struct{} // of transactions that wait with a connection

	mu   sync.Mutex
	rows map[string]*heldRow
}

// heldRow is the queue for a row.
type heldRow struct {
	brief, long chan struct{} // one place each
	queued      int
	until       time.Time // it counts as held
	failures    int
}

func newContention(o Options) *contention {
	return &contention{brief: briefWait, patience: o.LockTimeout, places: make(chan struct{}, max(1, o.PoolSize/waitingShare)),
		rows: map[string]*heldRow{}}
}

// held returns the first of some rows that counts as held, or an empty text.
func (c *contention) held(rows ...string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rows) == 0 {
		return ""
	}
	now := time.Now()
	for _, name := range rows {
		if r := c.rows[name]; r != nil && now.Before(r.until) {
			return name
		}
	}
	return ""
}

// noteHeld records that a transaction waited for a row in vain.
func (c *contention) noteHeld(row string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.row(row)
	r.until = time.Now().Add(min(firstHeld<<min(r.failures, 10), mostHeld))
	r.failures++
}

// free records that a transaction got a row it waited for, or that one which may need it ended
// while no other waited.
func (c *contention) free(row string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.row(row)
	r.until, r.failures = time.Time{}, 0
}

// row returns the queue for a row. It makes one where there is none, and removes old ones. The
// caller has locked the contention.
func (c *contention) row(name string) *heldRow {
	if r := c.rows[name]; r != nil {
		return r
	}
	for other, r := range c.rows {
		if r.queued == 0 && time.Since(r.until) > forgetHeld {
			delete(c.rows, other)
		}
	}
	r := &heldRow{brief: make(chan struct{}, 1), long: make(chan struct{}, 1)}
	c.rows[name] = r
	return r
}

// queue retries a transaction that needs a row that counts as held. A try reports whether it waited
// for a row in vain. If no try could be made, or only one for heldWait, queue returns the last
// error.
func (c *contention) queue(ctx context.Context, row string, err error, try func(wait time.Duration) (inVain bool, err error)) error {
	c.mu.Lock()
	r := c.row(row)
	r.queued++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		r.queued--
	}()
	over, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	inVain := false
	through := func(wait time.Duration, gates ...chan struct{}) (tried bool) {
		for i, gate := range gates {
			select {
			case gate <- struct{}{}:
				defer func() { <-gates[i] }()
			case <-over.Done():
				return false
			}
		}
		inVain, err = try(wait)
		return true
	}
	tried := through(heldWait, r.brief)
	if tried && !inVain && len(r.long) == 0 {
		c.free(row)
	}
	if !inVain {
		return err
	}
	c.noteHeld(row)
	if !through(0, r.long, c.places) {
		return err
	}
	if inVain {
		c.noteHeld(row)
	} else {
		c.free(row)
	}
	return err
}

// need holds the row that a transaction needs next.
type need struct {
	contention *contention
	wait       time.Duration // for a row; 0: as long as the database lets it
	queued     bool
	row        string
}

// reach names the row that a transaction needs next. It returns an error if the row counts as held
// and the transaction has to queue for it first.
func (s session) reach(kind string, of ...string) error {
	if s.need == nil {
		return nil
	}
	s.need.row = rowName(kind, of...)
	if !s.need.queued && s.need.contention.held(s.need.row) != "" {
		return errRowHeld
	}
	return nil
}

func rowName(kind string, of ...string) string { return kind + " " + strings.Join(of, " ") }

// The kinds of rows that transactions wait for.
const (
	rowKey         = "idempotency key"
	rowSimulations = "simulations"
	rowRecipient   = "recipient"
	rowDelivery    = "delivery"
	rowPickup      = "pickup location"
	rowBookings    = "bookings"         // of a business: what its deliveries point at
	rowPickups     = "pickup locations" // of a business, of which many are changed together
	rowEndpoint    = "webhook endpoint"
	rowWebhook     = "webhook delivery"
	rowBusiness    = "business"
	rowApplication = "application"
	rowAPIKey      = "API key"
	rowMembers     = "members" // of a business
)

// held returns the row that a booking needs and that counts as held, or an empty text.
func (s *Store) held(w ports.BookingWrite) string {
	if s.contention == nil {
		return ""
	}
	t := w.Delivery.Tenant
	rows := []string{bookingsRow(t), rowName(rowRecipient, recipientOf(w)...)}
	if w.Bulk == nil {
		rows = append(rows, rowName(rowKey, string(t.ApplicationID), string(t.Environment), w.Key.Key))
	}
	if w.Delivery.Simulating() {
		rows = append(rows, rowName(rowSimulations, string(t.ApplicationID)))
	}
	return s.contention.held(rows...)
}

func bookingsRow(t domain.Tenant) string {
	return rowName(rowBookings, string(t.BusinessID), string(t.Environment))
}

// recipientOf names the recipient whose row a booking may have to wait for: by the ID, or by the
// phone number where several bookings may add the same one.
func recipientOf(w ports.BookingWrite) []string {
	if t := w.Delivery.Tenant; w.NewRecipient {
		return []string{string(t.BusinessID), string(t.Environment), string(w.Recipient.PhoneNumber)}
	}
	return []string{string(w.Recipient.ID)}
}
