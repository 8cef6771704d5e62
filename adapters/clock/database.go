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
	// askEvery is the interval between two questions, askTimeout how long one may take.
	askEvery   = time.Second
	askTimeout = time.Second
	// mostAsked is how often Sync asks at the most, until an answer takes no longer
	// than quickTrip: a clock may be wrong by half of that way.
	mostAsked = 5
	quickTrip = 20 * time.Millisecond
	// mostBack is the most that one answer may set the clock back.
	mostBack = 200 * time.Millisecond
	// setBack is the least by which the database's clock has to be behind where it
	// should be to count as one that was set.
	setBack = 250 * time.Millisecond
	// keepEvery is the interval at which the database keeps where its clock was.
	keepEvery = time.Minute
	// skewWarned is the difference between the machine's clock and the database's
	// from which on the log tells.
	skewWarned = time.Second
)

// Database is the time of the installation, in all processes. It is safe for
// concurrent use.
type Database struct {
	source ports.StoredClock
	log    *slog.Logger
	start  time.Time    // by the machine; elapsed time is measured from here
	origin atomic.Int64 // the time at start, in nanoseconds since 1970
	// database is what the database's own clock said at start.
	database atomic.Int64
	answered atomic.Int64 // how long after start the last answer came
	skewed   bool         // as the log was told

	// Of the goroutine that asks:
	asked bool          // the database has answered
	last  answer        // it gave
	ahead time.Duration // of the installation, by the last answer
}

// New returns a clock that shows the machine's time until Sync or Run has asked
// the source.
func NewDatabase(source ports.StoredClock, log *slog.Logger) *Database {
	c := &Database{source: source, log: log, start: time.Now()}
	c.origin.Store(c.start.UnixNano())
	c.database.Store(c.start.UnixNano())
	return c
}

// Now is the time in UTC, cut to whole milliseconds.
func (c *Database) Now() time.Time { return domain.Millis(c.since(&c.origin)) }

func (c *Database) since(origin *atomic.Int64) time.Time {
	return time.Unix(0, origin.Load()).Add(time.Since(c.start)).UTC()
}

// Skew is how far the machine's clock is ahead of the database's.
func (c *Database) Skew() time.Duration { return time.Now().Round(0).Sub(c.since(&c.database)) }

// Silence is how long ago the last answer of the database came that the clock
// followed.
func (c *Database) Silence() time.Duration {
	return time.Since(c.start) - time.Duration(c.answered.Load())
}

// Sync takes the source's time over, in whichever direction. It asks again, a few
// times, where an answer took long to come, and believes the quickest.
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
	c.tellSkew(ctx)
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
		c.tellSkew(ctx)
	}
}

// look follows one answer.
func (c *Database) look(ctx context.Context) error {
	read, err := c.ask(ctx)
	if err != nil {
		return err
	}
	ahead, jumped := aheadNow(read.ClockReading), read.Clock.Before(read.Seen)
	// Only a difference that both answers prove counts: each may have been long under
	// way.
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
			return err // nothing is taken over, so that the next answer is judged alike
		}
	}
	c.ahead = ahead
	c.seen(read)
	c.follow(read.earliest()+ahead, read.latest()+ahead)
	return nil
}

// answer is a reading, and when the question left and the answer came, both measured
// from the start of the clock. The database read its clock somewhere in between.
type answer struct {
	ports.ClockReading
	left, came time.Duration
}

// earliest and latest are the bounds of what the database's clock showed when this
// clock started, in nanoseconds since 1970.
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

// seen notes what the database's clock showed. Where that is no news it stays as it is:
// answers differ by their way.
func (c *Database) seen(a answer) {
	middle := a.earliest() + a.trip()/2
	if off := (time.Duration(c.database.Load()) - middle).Abs(); !c.asked || off > a.trip()/2 {
		c.database.Store(int64(middle))
	}
	c.asked, c.last = true, a
	c.answered.Store(int64(time.Since(c.start)))
}

// follow moves the clock to the next of the times it may have had at its start.
func (c *Database) follow(earliest, latest time.Duration) {
	switch origin := time.Duration(c.origin.Load()); {
	case origin < earliest:
		c.origin.Store(int64(earliest))
	case origin > latest:
		c.origin.Add(-int64(min(origin-latest, mostBack)))
	}
}

// tellSkew logs once that the clocks differ, and once that they agree again.
func (c *Database) tellSkew(ctx context.Context) {
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
