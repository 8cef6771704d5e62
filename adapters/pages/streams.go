package pages

import (
	"context"
	"sync"
	"time"

	"waybill/domain"
)

// How many streams one process keeps open. Browsers open six connections to a host over
// HTTP/1.1, for all tabs together: with half of them at most in use by streams, every
// page still loads. Of a session's streams, and of a person's, a new one ends the
// oldest; its page tells so, and goes on when it is looked at again. Of a business's streams
// a new one ends none: people of it would take turns without end. All together take
// less than half of the 512 connections that the listener of a site has by default, a
// proxy's before it too: pages, probes and dispatch systems have the rest.
const (
	streamsPerSession = 3
	streamsPerPerson  = 6
	streamsOfBusiness = 20
	streamsInAll      = 250
)

// streamPatience is after how long a browser that got no stream may ask again.
const streamPatience = 30 * time.Second

// checkEvery is how often the sessions of all open streams are read, and how long that may
// take: the stream of a revoked session ends within twice as long.
const checkEvery = time.Second

// follow reads which sessions go on.
type follow func(ctx context.Context, sessions []domain.ID) (map[domain.ID]domain.Principal, error)

// streams are those that are open in this process.
type streams struct {
	closing chan struct{} // closed when the server is to end: it does not wait for them
	follow  follow
	failed  func(ctx context.Context, err error) // is told why streams end whose sessions go on

	mu      sync.Mutex
	open    []*stream // oldest first
	end     func()
	unwatch func() // ends the checks, and waits until they have ended; nil: none are made
}

// stream is the place of one.
type stream struct {
	all       *streams
	of        domain.Principal
	displaced chan struct{} // closed when a newer one has taken the place
	ended     chan struct{} // closed when the session, the role or the business is another
	unknown   chan struct{} // closed when it cannot be found out whether they are
}

func newStreams(f follow) *streams {
	s := &streams{closing: make(chan struct{}), follow: f, failed: func(context.Context, error) {}}
	s.end = sync.OnceFunc(func() { close(s.closing) })
	return s
}

// enter takes a place; leave must be called. The error is for a business, or a process, that
// has as many streams as it may.
func (s *streams) enter(p domain.Principal) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.displace(streamsPerSession, func(o *stream) bool { return o.of.Session.ID == p.Session.ID })
	s.displace(streamsPerPerson, func(o *stream) bool { return o.of.Reader() == p.Reader() })
	if business := p.Session.BusinessID; business != "" {
		n := 0
		for _, o := range s.open {
			if o.of.Session.BusinessID == business {
				n++
			}
		}
		if n >= streamsOfBusiness {
			return nil, &domain.Error{Kind: domain.KindLimited, Code: domain.CodeTooManyPages, RetryAfter: streamPatience,
				Message: "Your business has 20 live pages open, the most there may be. Close one, or reload this page to see what came."}
		}
	}
	if len(s.open) >= streamsInAll {
		return nil, &domain.Error{Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable, RetryAfter: streamPatience,
			Message: "Too many live pages are open at the moment. Reload the page to see what came."}
	}
	mine := &stream{all: s, of: p, displaced: make(chan struct{}), ended: make(chan struct{}), unknown: make(chan struct{})}
	s.open = append(s.open, mine)
	if s.unwatch == nil {
		ctx, cancel := context.WithCancel(context.Background())
		var checks sync.WaitGroup
		checks.Go(func() { s.watch(ctx) })
		s.unwatch = func() {
			cancel()
			checks.Wait()
		}
	}
	return mine, nil
}

// displace ends the oldest of those that are meant, where there are as many as may be.
func (s *streams) displace(most int, meant func(*stream) bool) {
	n, oldest := 0, -1
	for i, o := range s.open {
		if !meant(o) {
			continue
		}
		if n++; oldest < 0 {
			oldest = i
		}
	}
	if n >= most {
		close(s.open[oldest].displaced)
		s.open = append(s.open[:oldest:oldest], s.open[oldest+1:]...)
	}
}

func (m *stream) leave() {
	if unwatch := m.all.remove(m); unwatch != nil {
		unwatch()
	}
}

// remove tells how the checks are ended, where no stream needs them any more.
func (s *streams) remove(m *stream) (unwatch func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range s.open {
		if o == m {
			s.open = append(s.open[:i:i], s.open[i+1:]...)
			break
		}
	}
	if len(s.open) == 0 {
		unwatch, s.unwatch = s.unwatch, nil
	}
	return unwatch
}

// watch ends streams whose sessions do not go on, with one query for all of them.
func (s *streams) watch(ctx context.Context) {
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	for {
		select {
		case <-check.C:
			s.check(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// check ends all streams where it cannot find out: none outlives its session unseen.
func (s *streams) check(ctx context.Context) {
	s.mu.Lock()
	open := s.open[:len(s.open):len(s.open)]
	s.mu.Unlock()
	var sessions []domain.ID
	asked := map[domain.ID]bool{}
	for _, m := range open {
		if id := m.of.Session.ID; !asked[id] {
			asked[id], sessions = true, append(sessions, id)
		}
	}
	within, cancel := context.WithTimeout(ctx, checkEvery)
	defer cancel()
	var now map[domain.ID]domain.Principal
	err := domain.Safely(func() (err error) {
		now, err = s.follow(within, sessions)
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.failed(ctx, err)
	}
	s.mu.Lock() // another check may find the same at the same time
	defer s.mu.Unlock()
	for _, m := range open {
		p, live := now[m.of.Session.ID]
		switch {
		case err != nil:
			once(m.unknown)
		case !live || p.Session.BusinessID != m.of.Session.BusinessID || p.Role != m.of.Role:
			once(m.ended)
		}
	}
}

// once closes a channel that only the checks close, one after the other.
func once(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}
