package clock

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Clock = (*Database)(nil)

const (
	// askEvery is the interval between two requests for the time. askTimeout limits one
	// request.
	askEvery   = time.Second
	askTimeout = time.Second
	// mostAsked limits how often Sync asks until an answer takes no longer than quickTrip: a
	// clock may be wrong by half of that time.
	mostAsked = 5
	quickTrip = 20 * time.Millisecond
	// mostBack is the most that one answer may set the clock back.
	mostBack = 200 * time.Millisecond
	// setBack is how far the database's clock must be behind its expected time to count as set
	// back.
	setBack = 250 * time.Millisecond
	// keepEvery is the interval at which the database stores the time of its clock.
	keepEvery = time.Minute
	// skewWarned is the difference between the machine's clock and the database's from which it
	// is logged.
	skewWarned = time.Second
)

// Database shows the time of the installation, the same in all processes. It is safe for
// concurrent use.
type Database struct {
	source ports.StoredClock
	log    *slog.Logger
	start  time.Time    // by the machine; elapsed time is measured from here
	origin atomic.Int64 // the time at start, in nanoseconds since 1970
	// database is what the database's own clock showed at start.
	database atomic.Int64
	answered atomic.Int64 // how long after start the last answer arrived
	skewed   bool         // the skew was logged

	// Used only by the goroutine that asks:
	asked bool          // the database has answered
	last  answer        // the last one
	ahead time.Duration // how far the installation is ahead, by the last answer
}

// NewDatabase returns a clock that shows the machine's time until Sync or Run has asked the
// source.
func NewDatabase(source ports.StoredClock, log *slog.Logger) *Database {
	c := &Database{source: source, log: log, start: time.Now()}
	c.origin.Store(c.start.UnixNano())
	c.database.Store(c.start.UnixNano())
	return c
}

// Now returns the time in UTC, cut to whole milliseconds.
func (c *Database) Now() time.Time { return domain.Millis(c.since(&c.origin)) }

func (c *Database) since(origin *atomic.Int64) time.Time {
	return time.Unix(0, origin.Load()).Add(time.Since(c.start)).UTC()
}

// Skew returns how far the machine's clock is ahead of the database's.
func (c *Database) Skew() time.Duration { return time.Now().Round(0).Sub(c.since(&c.database)) }

// Silence returns how long ago the last answer of the database arrived that the clock followed.
func (c *Database) Silence() time.Duration {
	return time.Since(c.start) - time.Duration(c.answered.Load())
}

// Sync sets the clock to the source's time, forward or back. It asks a few more times if an
// answer was slow, and uses the quickest one.
func (c *Database) Sync(ctx context.Context) error {
	best, err := c.ask(ctx)
	for n := 1; err == nil && n < mostAsked && best.trip() > quickTrip; n++ {
		if another, failed := c.ask(ctx); failed == nil && another.trip() < best.trip() {
			best = another
		}
	}
	if err != nil {
		return err
	}
	c.ahead = aheadNow(best.ClockReading)
	c.origin.Store(int64(best.earliest() + best.trip()/2 + c.ahead))
	c.seen(best)
	c.logSkew(ctx)
	return nil
}

// Run follows the source until ctx ends.
func (c *Database) Run(ctx context.Context) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := c.look(ctx); err != nil {
			c.log.DebugContext(ctx, "the database was not asked for its time", "error", err)
			continue
		}
		c.logSkew(ctx)
	}
}

// look asks once and follows the answer.
func (c *Database) look(ctx context.Context) error {
	read, err := c.ask(ctx)
	if err != nil {
		return err
	}
	ahead, jumped := aheadNow(read.ClockReading), read.Clock.Before(read.Seen)
	// Only a difference that both answers prove counts: each may have been in transit for long.
	if back := c.last.earliest() - read.latest(); c.asked && back > setBack && c.ahead+back <= mostAhead {
		ahead, jumped = max(ahead, c.ahead+back), true
		c.log.WarnContext(ctx, "the clock of the database was set back; the time of this installation goes on, a tenth slower, until they "+
			"agree again",
			"back_seconds", back.Round(time.Millisecond).Seconds())
	}
	if jumped || read.Seen.IsZero() || read.Clock.Sub(read.Seen) >= keepEvery {
		within, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		if err := c.source.KeepClock(within, read.ClockReading, ahead); err != nil && jumped {
			return err // nothing changed, so that the next answer is judged the same way
		}
	}
	c.ahead = ahead
	c.seen(read)
	c.follow(read.earliest()+ahead, read.latest()+ahead)
	return nil
}

// answer is a reading, with the times when the request was sent and the answer arrived, both
// measured from the start of the clock. The database read its clock somewhere in between.
type answer struct {
	ports.ClockReading
	left, came time.Duration
}

// earliest and latest bound what the database's clock showed when this clock started, in
// nanoseconds since 1970.
func (a answer) earliest() time.Duration { return time.Duration(a.Clock.UnixNano()) - a.came }
func (a answer) latest() time.Duration   { return time.Duration(a.Clock.UnixNano()) - a.left }
func (a answer) trip() time.Duration     { return a.came - a.left }

func (c *Database) ask(ctx context.Context) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	a.left = time.Since(c.start)
	a.ClockReading, err = c.source.ReadClock(ctx)
	a.came = time.Since(c.start)
	return a, err
}

// seen records what the database's clock showed. It keeps the old value while that still fits:
// answers differ by their transit time.
func (c *Database) seen(a answer) {
	middle := a.earliest() + a.trip()/2
	if off := (time.Duration(c.database.Load()) - middle).Abs(); !c.asked || off > a.trip()/2 {
		c.database.Store(int64(middle))
	}
	c.asked, c.last = true, a
	c.answered.Store(int64(time.Since(c.start)))
}

// follow moves the clock to the nearest time that it may have had at its start.
func (c *Database) follow(earliest, latest time.Duration) {
	switch origin := time.Duration(c.origin.Load()); {
	case origin < earliest:
		c.origin.Store(int64(earliest))
	case origin > latest:
		c.origin.Add(-int64(min(origin-latest, mostBack)))
	}
}

// logSkew logs once that the clocks differ, and once that they agree again.
func (c *Database) logSkew(ctx context.Context) {
	skew := c.Skew()
	switch skewed := skew.Abs() >= skewWarned; {
	case skewed && !c.skewed:
		c.skewed = true
		c.log.WarnContext(ctx, "this machine's clock differs from the database's, which decides what is due and what is old; set both by NTP",
			"ahead_seconds", skew.Round(time.Millisecond).Seconds())
	case c.skewed && skew.Abs() < skewWarned/2:
		c.skewed = false
		c.log.InfoContext(ctx, "this machine's clock agrees with the database's again")
	}
}
