package pages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"waybill/adapters/web/server"
	"waybill/domain"
)

// sessionTable stands for the store of sessions: all go on but those that were ended.
type sessionTable struct {
	mu      sync.Mutex
	changed map[domain.ID]*domain.Principal // nil: the session has ended
	slow    time.Duration
	err     error
	asked   [][]domain.ID
}

func (d *sessionTable) follow(ctx context.Context, sessions []domain.ID) (map[domain.ID]domain.Principal, error) {
	d.mu.Lock()
	live := map[domain.ID]domain.Principal{}
	for _, id := range sessions {
		if now, found := d.changed[id]; !found {
			live[id] = principal(id)
		} else if now != nil {
			live[id] = *now
		}
	}
	d.asked = append(d.asked, sessions)
	slow, err := d.slow, d.err
	d.mu.Unlock()
	select {
	case <-time.After(slow):
		return live, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (d *sessionTable) change(id domain.ID, to *domain.Principal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changed[id] = to
}

func principal(session domain.ID) domain.Principal {
	return domain.Principal{
		Session: domain.Session{ID: session, BusinessID: "biz_of_" + session}, Person: domain.Person{ID: "prs_of_" + session},
		Role: domain.RoleOwner,
	}
}

func reader(ctx context.Context, s *Site, session domain.ID) (*Call, *httptest.ResponseRecorder) {
	sent := httptest.NewRecorder()
	g, _ := gin.CreateTestContext(sent)
	g.Request = httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", http.NoBody)
	return &Call{Context: g, Principal: principal(session), site: s, open: ctx}, sent
}

// reads has a session read a stream that never has news; what it was sent is there once
// the channel is closed.
func reads(ctx context.Context, s *Site, session domain.ID) (sent *httptest.ResponseRecorder, ended <-chan struct{}) {
	c, sent := reader(ctx, s, session)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Stream(c, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
	}()
	return sent, done
}

// Whenever it is revoked between two checks, and however slow the database is. Time is
// that of the test alone, so that the bound is exact.
func TestAStreamEndsWithinTwoSecondsOfItsSession(t *testing.T) {
	t.Parallel()
	viewer, elsewhere := principal("ses_1"), principal("ses_1")
	viewer.Role, elsewhere.Session.BusinessID = domain.RoleViewer, "biz_2"
	for what, now := range map[string]*domain.Principal{"revoked": nil, "another role": &viewer, "another business": &elsewhere} {
		for _, slow := range []time.Duration{0, 900 * time.Millisecond, time.Hour} {
			for phase := time.Duration(0); phase < 2*checkEvery; phase += 130 * time.Millisecond {
				t.Run(fmt.Sprintf("%s after %v, answers after %v", what, phase, slow), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						d := &sessionTable{changed: map[domain.ID]*domain.Principal{}}
						s := &Site{streams: newStreams(d.follow)}
						sent, ended := reads(t.Context(), s, "ses_1")
						_, other := reads(t.Context(), s, "ses_2")
						time.Sleep(phase)
						d.change("ses_1", now)
						d.mu.Lock()
						d.slow = slow
						d.mu.Unlock()
						revoked := time.Now()
						<-ended
						if took := time.Since(revoked); took > 2*time.Second {
							t.Errorf("it outlives its session by %v", took)
						}
						told := strings.HasSuffix(sent.Body.String(), "event: end\ndata: session\n\n")
						if found := slow <= checkEvery; told != found {
							t.Errorf("it ends with %q", sent.Body)
						}
						if slow <= checkEvery {
							time.Sleep(10 * checkEvery)
							synctest.Wait()
							select {
							case <-other:
								t.Error("the stream of another session has ended with it")
							default:
							}
							s.EndStreams()
						}
						<-other
					})
				})
			}
		}
	}
}

func TestOneQueryFollowsTheSessionsOfAllStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &sessionTable{}
		s := &Site{streams: newStreams(d.follow)}
		ctx, leave := context.WithCancel(t.Context())
		var left []<-chan struct{}
		for i := range 50 {
			_, ended := reads(ctx, s, domain.ID(fmt.Sprintf("ses_%d", i/2))) // two pages of each session
			left = append(left, ended)
			time.Sleep(checkEvery / 100)
		}
		time.Sleep(10*checkEvery - checkEvery/4)
		synctest.Wait()
		if len(d.asked) != 10 {
			t.Errorf("%d queries in ten seconds", len(d.asked))
		}
		if last := d.asked[len(d.asked)-1]; len(last) != 25 || len(slices.Compact(slices.Sorted(slices.Values(last)))) != 25 {
			t.Errorf("the last one asks for %v", last)
		}
		leave()
		for _, ended := range left {
			<-ended
		}
		asked := len(d.asked)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(d.asked) != asked {
			t.Errorf("without a stream %d queries are made", len(d.asked)-asked)
		}
		_, again := reads(t.Context(), s, "ses_1")
		time.Sleep(10*checkEvery + checkEvery/2)
		synctest.Wait()
		if n := len(d.asked) - asked; n != 10 {
			t.Errorf("a later stream has %d queries in ten seconds", n)
		}
		s.EndStreams()
		<-again
	})
}

func TestNoStreamGoesOnWhileItsSessionCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &sessionTable{err: errors.New("the database is gone")}
		s := &Site{streams: newStreams(d.follow)}
		sent, ended := reads(t.Context(), s, "ses_1")
		begun := time.Now()
		<-ended
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("it goes on for %v", took)
		}
		// A browser that is told of an end does not come again by itself: the board on a wall
		// would stand still for good after a second without the database.
		if strings.Contains(sent.Body.String(), "event: end") {
			t.Errorf("the reader is told that it is signed out: %q", sent.Body)
		}
	})
}

func TestAPanicOfTheCheckOfSessionsEndsStreamsAndNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Site{streams: newStreams(func(context.Context, []domain.ID) (map[domain.ID]domain.Principal, error) { panic("a fault") })}
		var told error
		s.streams.failed = func(_ context.Context, err error) { told = err }
		_, ended := reads(t.Context(), s, "ses_1")
		<-ended
		if told == nil || !strings.Contains(told.Error(), "a fault") {
			t.Errorf("told %v", told)
		}
	})
}

// A stream reads in a goroutine of its own, where a panic would end the process.
func TestAPanicInAStreamEndsNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &strings.Builder{}
		s := &Site{o: Options{Log: slog.New(slog.NewTextHandler(log, nil))}, streams: newStreams((&sessionTable{}).follow)}
		c, sent := reader(t.Context(), s, "ses_1")
		go func() { _ = s.Stream(c, func(context.Context) (string, error) { panic("a fault") }) }()
		time.Sleep(heartbeat + time.Second)
		synctest.Wait()
		if !strings.HasSuffix(sent.Body.String(), "still here\n\n") {
			t.Errorf("the reader was sent %q", sent.Body)
		}
		if !strings.Contains(log.String(), "a fault") {
			t.Errorf("the log has %q", log)
		}
		s.EndStreams()
	})
}

// Streams come and go on many connections at once.
func TestStreamsMayEnterAndLeaveTogether(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	all := newStreams(func(context.Context, []domain.ID) (map[domain.ID]domain.Principal, error) {
		asked.Add(1)
		return nil, nil
	})
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for n := range 50 {
				m, err := all.enter(principal(domain.ID(fmt.Sprintf("ses_%d", (i+n)%7))))
				if err != nil {
					t.Error(err)
					return
				}
				all.check(t.Context())
				m.leave()
			}
		})
	}
	group.Wait()
	if len(all.open) != 0 || all.unwatch != nil || asked.Load() == 0 {
		t.Errorf("%d are open, checks go on: %v, asked %d times", len(all.open), all.unwatch != nil, asked.Load())
	}
}

func TestANewStreamEndsTheOldestOfItsSessionAndOfItsPerson(t *testing.T) {
	t.Parallel()
	all := newStreams((&sessionTable{}).follow)
	enter := func(session string, business domain.ID) *stream {
		p := principal(domain.ID(session))
		p.Person.ID, p.Session.BusinessID = "prs_1", business
		mine, err := all.enter(p)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(mine.leave)
		return mine
	}
	displaced := func(s *stream) bool {
		select {
		case <-s.displaced:
			return true
		default:
			return false
		}
	}
	var open []*stream
	for range streamsPerSession {
		open = append(open, enter("ses_1", "biz_1"))
	}
	// A person in one business may be somebody else who has a link of an operator.
	for n := range 2 * streamsPerPerson {
		enter(fmt.Sprint("ses_other_", n), "biz_2")
	}
	if displaced(open[0]) {
		t.Error("streams in another business end one")
	}
	open = append(open, enter("ses_1", "biz_1"))
	if !displaced(open[0]) || displaced(open[1]) {
		t.Error("one more of a session does not end its oldest alone")
	}
	for n := range streamsPerPerson - streamsPerSession {
		open = append(open, enter(fmt.Sprint("ses_2", n), "biz_1"))
	}
	if displaced(open[1]) {
		t.Error("a person has fewer streams than they may")
	}
	enter("ses_3", "biz_1")
	if !displaced(open[1]) || displaced(open[2]) {
		t.Error("one more of a person does not end their oldest alone")
	}
}

// However many are opened by a few people, the pages of all others still have half of
// the connections of the listener, in an installation that has set none.
func TestStreamsLeaveHalfOfTheConnectionsToPages(t *testing.T) {
	t.Parallel()
	_, _, listener := server.Bounds(8192, 1<<20) // the default of max_connections
	d := &sessionTable{changed: map[domain.ID]*domain.Principal{}}
	all := newStreams(d.follow)
	var open []*stream
	defer func() {
		for _, o := range open {
			o.leave()
		}
	}()
	for n := 0; ; n++ {
		place, err := all.enter(principal(domain.ID(fmt.Sprint("ses_", n))))
		if domain.HasCode(err, domain.CodeServiceUnavailable) {
			break
		}
		if err != nil || n > listener {
			t.Fatalf("stream %d: %v", n, err)
		}
		open = append(open, place)
	}
	if len(open) < 100 || 2*len(open) > listener {
		t.Errorf("%d streams are open of %d connections", len(open), listener)
	}
}

func TestOneBusinessHoldsTwentyStreamsAndNoMore(t *testing.T) {
	t.Parallel()
	all := newStreams((&sessionTable{}).follow)
	enter := func(n int, business domain.ID) (*stream, error) {
		p := principal(domain.ID(fmt.Sprint("ses_", n)))
		p.Session.BusinessID = business
		return all.enter(p)
	}
	var open []*stream
	for n := range 100 {
		place, err := enter(n, "biz_1")
		if n < 20 {
			if err != nil {
				t.Fatalf("stream %d: %v", n, err)
			}
			open = append(open, place)
			continue
		}
		var e *domain.Error
		if !errors.As(err, &e) || e.Kind != domain.KindLimited || e.RetryAfter == 0 {
			t.Fatalf("stream %d of the business: %v", n, err)
		}
	}
	for _, business := range []domain.ID{"biz_2", ""} {
		for n := range 30 {
			place, err := enter(1000+n, business)
			if (err != nil) != (business != "" && n >= 20) {
				t.Fatalf("stream %d of %q: %v", n, business, err)
			}
			if err == nil {
				defer place.leave()
			}
		}
	}
	for _, o := range open {
		select {
		case <-o.displaced:
			t.Error("a stream of the business was ended for another one")
		default:
		}
		o.leave()
	}
	if again, err := enter(0, "biz_1"); err != nil {
		t.Errorf("after they have ended: %v", err)
	} else {
		again.leave()
	}
}
