package guarded_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Other requests are counted ahead all the time, so that something is owed whenever anyone looks.
func TestWhatIsOwedAgainMeanwhileKeepsNoCallerFromTheSharedLimiter(t *testing.T) {
	play(t, func(s *scene) {
		s.local.owed.Store(5)
		s.shared.slow.Store(int64(5 * time.Millisecond))
		done := make(chan struct{})
		go func() {
			for ahead := time.NewTicker(time.Millisecond); ; {
				select {
				case <-ahead.C:
					s.local.owed.Add(1)
				case <-done:
					ahead.Stop()
					return
				}
			}
		}()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				began := time.Now()
				if a, err := s.Take(s.Context(), bucket); err != nil || a.Scope != "shared" || time.Since(began) > 15*time.Millisecond {
					s.Errorf("got %+v, %v after %v", a, err, time.Since(began))
				}
			})
		}
		all.Wait()
		close(done)
	})
}

func TestWhereThereIsAmpleRoomNobodyWaitsForTheSharedLimiter(t *testing.T) {
	play(t, func(s *scene) {
		s.local.ample.Store(true)
		s.shared.hangs.Store(true)
		s.answers("ample", 10)
		s.local.due.Store(true)
		began := time.Now()
		s.answers("ample", 10) // one of them tells what is owed, and hangs
		if synctest.Wait(); time.Since(began) != 0 || s.shared.asked.Load() != 1 {
			s.Errorf("took %v, the shared limiter was asked %d times", time.Since(began), s.shared.asked.Load())
		}
		time.Sleep(31 * time.Millisecond)
		s.shared.hangs.Store(false)
		s.answers("ample", 1)
		if synctest.Wait(); s.shared.taken.Load() != 21 || s.local.owed.Load() != 0 || s.fallbacks() != 0 {
			s.Errorf("%d counted, %d owed, %d fallbacks; want 21 and none", s.shared.taken.Load(), s.local.owed.Load(), s.fallbacks())
		}
	})
}

func TestWhatIsOwedIsToldWithinASecondThoughNobodyAsks(t *testing.T) {
	play(t, func(s *scene) {
		s.local.ample.Store(true)
		s.answers("ample", 3)
		time.Sleep(time.Second - time.Millisecond)
		if synctest.Wait(); s.shared.asked.Load() != 0 {
			s.Errorf("asked %d times before", s.shared.asked.Load())
		}
		time.Sleep(time.Millisecond)
		if synctest.Wait(); s.shared.added.Load() != 3 || s.shared.asked.Load() != 1 || s.local.owed.Load() != 0 {
			s.Errorf("told %d, asked %d times, %d owed", s.shared.added.Load(), s.shared.asked.Load(), s.local.owed.Load())
		}
	})
}

func TestTheEndOfTheProcessTellsWhatIsOwed(t *testing.T) {
	play(t, func(s *scene) {
		s.local.ample.Store(true)
		s.answers("ample", 3)
		began := time.Now()
		s.Close()
		if s.shared.added.Load() != 3 || s.local.owed.Load() != 0 || time.Since(began) != 0 {
			s.Errorf("told %d, %d owed, after %v", s.shared.added.Load(), s.local.owed.Load(), time.Since(began))
		}
		time.Sleep(2 * time.Second)
		if synctest.Wait(); s.shared.asked.Load() != 1 {
			s.Errorf("asked %d times, want once", s.shared.asked.Load())
		}
		s.answers("ample", 3)
		s.shared.hangs.Store(true)
		began = time.Now()
		if s.Close(); time.Since(began) != time.Second {
			s.Errorf("waited for %v where no answer comes, want a second", time.Since(began))
		}
		time.Sleep(2 * time.Second)
	})
}

// Three are being told when one more is counted, which is not part of that.
func TestWhatIsCountedDuringAPaymentIsToldAfterIt(t *testing.T) {
	for what, end := range map[string]func(s *scene){
		"by the end of the process": func(s *scene) { s.Close() },
		"within a second":           func(*scene) { time.Sleep(1100 * time.Millisecond) },
	} {
		t.Run(what, func(t *testing.T) {
			play(t, func(s *scene) {
				s.local.ample.Store(true)
				s.answers("ample", 3)
				s.shared.slow.Store(int64(20 * time.Millisecond))
				time.Sleep(time.Second)
				synctest.Wait()
				s.local.owed.Add(1)
				if end(s); s.shared.added.Load() != 4 || s.local.owed.Load() != 0 {
					s.Errorf("told %d, %d owed", s.shared.added.Load(), s.local.owed.Load())
				}
				time.Sleep(2 * time.Second)
			})
		})
	}
}

// Telling what is owed opens the breaker too, where no request asks.
func TestTellingWhatIsOwedSeesThatTheSharedLimiterIsGone(t *testing.T) {
	play(t, func(s *scene) {
		s.local.ample.Store(true)
		s.local.due.Store(true)
		s.shared.hangs.Store(true)
		for range 5 {
			s.answers("ample", 1)
			time.Sleep(31 * time.Millisecond)
		}
		s.answers("ample", 1)
		if synctest.Wait(); s.shared.asked.Load() != 5 || s.lines() != 1 {
			s.Errorf("asked %d times, logged %q", s.shared.asked.Load(), s.logged.String())
		}
	})
}

func TestWhatIsGivenBackIsOwedNoMore(t *testing.T) {
	play(t, func(s *scene) {
		s.local.ample.Store(true)
		s.answers("ample", 2)
		for range 3 { // of which the last one was told already
			if err := s.GiveBack(s.Context(), bucket); err != nil {
				s.Error(err)
			}
		}
		if s.local.owed.Load() != 0 || s.shared.taken.Load() != -1 {
			s.Errorf("%d owed, the shared limiter counts %d", s.local.owed.Load(), s.shared.taken.Load())
		}
	})
}
