package clock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/adapters/clock"
	"waybill/ports"
)

// server is a database whose clock is ahead of the machine's and whose answers take time each
// way.
type server struct {
	mu        sync.Mutex
	ahead     time.Duration
	there     time.Duration // until the question is there
	back      time.Duration // until the answer is here
	err       error
	questions int
	seen      time.Time
	kept      time.Duration
	refuses   error // to keep anything
}

// set changes the server while it is asked.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *server) KeepClock(_ context.Context, read ports.ClockReading, ahead time.Duration) (err error) {
	s.set(func() {
		if err = s.refuses; err == nil && s.seen.Equal(read.Seen) {
			s.seen, s.kept = read.Clock, ahead
		}
	})
	return err
}

func (s *server) ReadClock(ctx context.Context) (read ports.ClockReading, err error) {
	var there, back time.Duration
	s.set(func() { s.questions, there, back = s.questions+1, s.there, s.back })
	time.Sleep(there)
	s.set(func() {
		read, err = ports.ClockReading{Clock: time.Now().Add(s.ahead), Seen: s.seen, Ahead: s.kept}, s.err
	})
	select {
	case <-ctx.Done():
		return ports.ClockReading{}, ctx.Err()
	case <-time.After(back):
	}
	return read, err
}

// follow runs a clock on the server, in a synctest bubble.
func follow(t *testing.T, s *server, check func(c *clock.Database, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { during(t, s, check) })
}

// during runs a clock until check returns.
func during(t *testing.T, s *server, check func(c *clock.Database, log *bytes.Buffer)) {
	t.Helper()
	var log bytes.Buffer
	c := clock.NewDatabase(s, slog.New(slog.NewTextHandler(&log, nil)))
	if err := c.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx) }()
	check(c, &log)
	stop()
	<-ended
}

// off returns how far the clock is from the server's.
func off(c *clock.Database, s *server) time.Duration {
	return c.Now().Sub(time.Now().Add(s.ahead)).Abs()
}

func TestNowIsTheDatabasesTimeHoweverFarOffTheMachineIs(t *testing.T) {
	for _, ahead := range []time.Duration{-31 * 24 * time.Hour, -time.Minute, 0, 10 * time.Second, 31 * 24 * time.Hour} {
		s := &server{ahead: ahead, there: time.Millisecond, back: time.Millisecond}
		follow(t, s, func(c *clock.Database, _ *bytes.Buffer) {
			for range 5 {
				if d := off(c, s); d > 2*time.Millisecond {
					t.Errorf("%v ahead: off by %v, want at most half of the round trip and a millisecond", ahead, d)
				}
				if skew := c.Skew() + ahead; skew.Abs() > 2*time.Millisecond {
					t.Errorf("%v ahead: skew %v, want %v", ahead, c.Skew(), -ahead)
				}
				time.Sleep(time.Second)
			}
		})
	}
}

func TestASlowAnswerDoesNotShiftTheClock(t *testing.T) {
	s := &server{ahead: time.Minute}
	follow(t, s, func(c *clock.Database, _ *bytes.Buffer) {
		s.set(func() { s.there, s.back = 10*time.Millisecond, 900*time.Millisecond })
		time.Sleep(10 * time.Second)
		if d := off(c, s); d > time.Millisecond {
			t.Errorf("off by %v after answers that took 910 ms, want as before", d)
		}
	})
}

func TestTheClockGoesAheadAtOnceAndBackBySmallSteps(t *testing.T) {
	s := &server{}
	follow(t, s, func(c *clock.Database, _ *bytes.Buffer) {
		s.set(func() { s.ahead = time.Hour })
		time.Sleep(1500 * time.Millisecond)
		if d := off(c, s); d > time.Millisecond {
			t.Errorf("off by %v a second after the database was set an hour ahead", d)
		}
		s.set(func() { s.ahead = 0 })
		before := c.Now()
		for range 20 {
			time.Sleep(time.Second)
			if passed := c.Now().Sub(before); passed < 890*time.Millisecond || passed > time.Second {
				t.Fatalf("%v passed in a second after the database was set back by an hour, want 900 ms", passed)
			}
			before = c.Now()
		}
	})
}

// begins returns a clock of a process that starts now.
func begins(t *testing.T, s *server) *clock.Database {
	t.Helper()
	c := clock.NewDatabase(s, slog.New(slog.DiscardHandler))
	if err := c.Sync(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return c
}

// A job that one process makes due is due for the other, also after a jump.
func TestAProcessThatBeginsAfterTheDatabaseWasSetBackHasTheTimeOfTheOthers(t *testing.T) {
	s := &server{there: time.Millisecond, back: time.Millisecond}
	follow(t, s, func(c *clock.Database, _ *bytes.Buffer) {
		time.Sleep(90 * time.Second)
		s.set(func() { s.ahead, s.refuses = -time.Hour, errors.New("the disk is full") })
		time.Sleep(3 * time.Second)
		s.set(func() { s.refuses = nil })
		time.Sleep(3 * time.Second)
		for range 10 {
			if d := begins(t, s).Now().Sub(c.Now()).Abs(); d > 150*time.Millisecond {
				t.Errorf("it is off by %v, want as little as an answer sets the clock back", d)
			}
			time.Sleep(10 * time.Minute)
		}
	})
}

func TestTheTimeGoesOnWhereTheDatabaseWasSetBackWhileNoProcessRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		var before time.Time
		during(t, s, func(c *clock.Database, _ *bytes.Buffer) {
			time.Sleep(150 * time.Second)
			before = c.Now()
		})
		s.ahead = -time.Hour
		time.Sleep(time.Minute)
		during(t, s, func(c *clock.Database, _ *bytes.Buffer) {
			time.Sleep(2 * time.Second)
			if d := c.Now().Sub(before.Add(62 * time.Second)); d > 0 || d < -2*time.Minute {
				t.Errorf("it is off by %v, want as much as nobody looked at most, and the minute in which the database keeps its clock", d)
			}
			now := c.Now()
			time.Sleep(10 * time.Second)
			if passed := c.Now().Sub(now); passed < 8*time.Second || passed > 10*time.Second {
				t.Errorf("%v pass in ten seconds", passed)
			}
		})
	})
}

func TestTheTimeOfTheInstallationComesBackToThatOfTheDatabase(t *testing.T) {
	s := &server{}
	follow(t, s, func(c *clock.Database, log *bytes.Buffer) {
		time.Sleep(10 * time.Second)
		s.set(func() { s.ahead = -time.Minute })
		time.Sleep(2 * time.Second)
		if skew := c.Skew(); skew < 59*time.Second || skew > 61*time.Second {
			t.Errorf("this machine shows a skew of %v, want the minute by which the database's clock differs", skew)
		}
		time.Sleep(11 * time.Minute)
		if d := off(c, s); d > time.Millisecond {
			t.Errorf("off by %v eleven minutes after the database was set back by one, want none", d)
		}
		synctest.Wait()
		if n := strings.Count(log.String(), "was set back"); n != 1 {
			t.Errorf("it is told %d times, want once: %s", n, log)
		}
	})
}

// The clock was wrong before, and the installation must not run in the future.
func TestAProcessThatBeginsAfterTheDatabaseWasSetBackByDaysHasTheNewTime(t *testing.T) {
	s := &server{}
	follow(t, s, func(*clock.Database, *bytes.Buffer) {
		time.Sleep(2 * time.Minute)
		s.set(func() { s.ahead = -24 * time.Hour })
		time.Sleep(2 * time.Minute)
		if d := off(begins(t, s), s); d > time.Millisecond {
			t.Errorf("off by %v", d)
		}
	})
}

func TestTheClockGoesOnWithoutTheDatabase(t *testing.T) {
	s := &server{ahead: -time.Hour}
	follow(t, s, func(c *clock.Database, _ *bytes.Buffer) {
		s.set(func() { s.err = errors.New("gone") })
		time.Sleep(5 * time.Minute)
		if d := c.Silence(); d < 5*time.Minute-time.Second || d > 5*time.Minute+time.Second {
			t.Errorf("silent for %v after five minutes without an answer", d)
		}
		s.set(func() { s.back = time.Hour }) // hangs
		time.Sleep(5 * time.Minute)
		if d := off(c, s); d > time.Millisecond {
			t.Errorf("off by %v after ten minutes without an answer", d)
		}
		s.set(func() {
			if s.questions < 400 {
				t.Errorf("%d questions in ten minutes: one that hangs stops all others", s.questions)
			}
		})
	})
}

func TestTheLogTellsOnceThatTheClocksDiffer(t *testing.T) {
	s := &server{ahead: 10 * time.Second}
	follow(t, s, func(_ *clock.Database, log *bytes.Buffer) {
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "ahead_seconds=-10") {
			t.Errorf("%d warnings in\n%s\nwant one, with ahead_seconds=-10", n, log)
		}
	})
}

func TestNowIsUTCInWholeMilliseconds(t *testing.T) {
	s := &server{ahead: 1234567 * time.Nanosecond}
	follow(t, s, func(c *clock.Database, _ *bytes.Buffer) {
		if now := c.Now(); now.Location() != time.UTC || now != now.Truncate(time.Millisecond) {
			t.Errorf("%v, want UTC in whole milliseconds without a monotonic reading", now)
		}
	})
}

// While a machine starts many processes an answer may take half a second, most of it on one of
// its two ways. The clock is then wrong by as much.
func TestAnAnswerThatWasLongUnderWayIsNoClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	s := &server{there: 600 * time.Millisecond}
	follow(t, s, func(c *clock.Database, log *bytes.Buffer) {
		s.set(func() { s.there = 0 })
		time.Sleep(5 * time.Second)
		if off := time.Until(c.Now()).Abs(); off > 10*time.Millisecond || strings.Contains(log.String(), "set back") || s.kept != 0 {
			t.Errorf("the clock is off by %s, %s ahead of the database's; it says %q", off, s.kept, log.String())
		}
	})
}

func TestTheFirstTimeIsOfTheQuickestAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{there: 600 * time.Millisecond}
		go func() { time.Sleep(time.Second); s.set(func() { s.there = time.Millisecond }) }()
		c := clock.NewDatabase(s, slog.New(slog.DiscardHandler))
		if err := c.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if off := time.Until(c.Now()).Abs(); off > 2*time.Millisecond {
			t.Errorf("the clock is off by %s", off)
		}
	})
}
