package pages

import (
	"context"
	"sync"
	"time"

	"waybill/domain"
)

// Limits of open streams per process. Over HTTP/1.1 browsers open six connections to a host, for
// all tabs together. Streams use at most half of them, so every page still loads. A new stream of a
// session or person ends its oldest one. That page says so, and reconnects when it is viewed again.
// A new stream of a business ends none: its people would displace each other without end. All
// streams take less than half of the 512 connections that a site's listener, or a proxy before it,
// has by default. Pages, probes and dispatch systems use the rest.
const (
	streamsPerSession = 3
	streamsPerPerson  = 6
	streamsOfBusiness = 20
	streamsInAll      = 250
)

// streamPatience tells a browser without a stream when to retry.
const streamPatience = 30 * time.Second

// checkEvery sets how often the sessions of all streams are read, and limits each read. The stream
// of a revoked session ends within twice that time.
const checkEvery = time.Second

// follow reads which sessions continue.
type follow func(ctx context.Context, sessions []domain.ID) (map[domain.ID]domain.Principal, error)

// streams holds the open streams of this process.
type streams struct {
	closing chan struct{} // closed at shutdown, which does not wait for streams
	follow  follow
	failed  func(ctx context.Context, err error) // reports a failed check, which ends all streams

	mu      sync.Mutex
	open    []*stream // oldest first
	end     func()
	unwatch func() // stops the checks and waits for them; nil: none run
}

// stream is a place of one open stream.
type stream struct {
	all       *streams
	of        domain.Principal
	displaced chan struct{} // closed when a newer stream takes the place
	ended     chan struct{} // closed when the session ended, or its role or business changed
	unknown   chan struct{} // closed when the check failed
}

func newStreams(f follow) *streams {
	s := &streams{closing: make(chan struct{}), follow: f, failed: func(context.Context, error) {}}
	s.end = sync.OnceFunc(func() { close(s.closing) })
	return s
}

// enter takes a place. The caller must call leave. It returns an error if the business or the
// process has too many streams.
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
				Message: "Your business has 20 live pages open, which is the maximum. Close one, or reload this page to see what is new."}
		}
	}
	if len(s.open) >= streamsInAll {
		return nil, &domain.Error{Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable, RetryAfter: streamPatience,
			Message: "Too many live pages are open at the moment. Reload the page to see what is new."}
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

// displace ends the oldest matching stream if their number is at the limit.
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

// remove removes a stream. With the last one it returns the function that stops the checks.
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

// watch ends streams whose sessions ended, with one query for all of them.
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

// check ends all streams if the query fails, so that none outlives its session.
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
	s.mu.Lock() // another check may run at the same time
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

// once closes a channel if it is open. Only checks call it, one after the other.
func once(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}
