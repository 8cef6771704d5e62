package databaseclock

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Clock = (*Clock)(nil)

const (
	// askEvery is the interval between two questions, askTimeout how long one may take.
	askEvery   = time.Second
	askTimeout = time.Second
	// mostBack is the most that one answer may set the clock back.
	mostBack = 100 * time.Millisecond
	// skewWarned is the difference between the machine's clock and the database's
	// from which on the log tells.
	skewWarned = time.Second
)

// Source asks the database for its time.
type Source func(ctx context.Context) (time.Time, error)

// Clock is the database's clock. It is safe for concurrent use.
type Clock struct {
	source Source
	log    *slog.Logger
	start  time.Time    // by the machine; elapsed time is measured from here
	origin atomic.Int64 // what the database's clock said at start, in nanoseconds since 1970
	skewed bool         // as the log was told
}

// New returns a clock that shows the machine's time until Sync or Run has asked
// the source.
func New(source Source, log *slog.Logger) *Clock {
	c := &Clock{source: source, log: log, start: time.Now()}
	c.origin.Store(c.start.UnixNano())
	return c
}

// Now is the database's time in UTC, cut to whole milliseconds.
func (c *Clock) Now() time.Time { return domain.Millis(c.now()) }

func (c *Clock) now() time.Time {
	return time.Unix(0, c.origin.Load()).Add(time.Since(c.start)).UTC()
}

// Skew is how far the machine's clock is ahead of the database's.
func (c *Clock) Skew() time.Duration { return time.Now().Round(0).Sub(c.now()) }

// Sync asks the source once and takes its time over, in whichever direction.
func (c *Clock) Sync(ctx context.Context) error {
	least, most, err := c.ask(ctx)
	if err != nil {
		return err
	}
	c.origin.Store(least.Add(most.Sub(least) / 2).Add(-time.Since(c.start)).UnixNano())
	c.tellSkew(ctx)
	return nil
}

// Run follows the source until ctx ends.
func (c *Clock) Run(ctx context.Context) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		least, most, err := c.ask(ctx)
		if err != nil {
			c.log.DebugContext(ctx, "the database was not asked for its time", "error", err)
			continue
		}
		c.follow(least, most)
		c.tellSkew(ctx)
	}
}

// ask returns the bounds within which the database's time is at the moment of
// its answer.
func (c *Clock) ask(ctx context.Context) (least, most time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	asked := time.Now()
	least, err = c.source(ctx)
	return least, least.Add(time.Since(asked)), err
}

func (c *Clock) follow(least, most time.Time) {
	switch now := c.now(); {
	case now.Before(least):
		c.origin.Add(int64(least.Sub(now)))
	case now.After(most):
		c.origin.Add(-int64(min(now.Sub(most), mostBack)))
	}
}

// tellSkew logs once that the clocks differ, and once that they agree again.
func (c *Clock) tellSkew(ctx context.Context) {
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
