package site

import (
	"sync"

	"waybill/domain"
)

// How many streams one process keeps open. Browsers open six connections to a host over
// HTTP/1.1, for all tabs together: with half of them at most in use by streams, every
// page still loads. Of a session's streams, and of a person's, a new one ends the
// oldest; its page tells so, and goes on when it is looked at again.
const (
	streamsPerSession = 3
	streamsPerPerson  = 6
	streamsInAll      = 500
)

// streams are those that are open in this process.
type streams struct {
	closing chan struct{} // closed when the server is to end: it does not wait for them

	mu   sync.Mutex
	open []*stream // oldest first
	end  func()
}

// stream is the place of one.
type stream struct {
	all             *streams
	session, person domain.ID
	displaced       chan struct{} // closed when a newer one has taken the place
}

func newStreams() *streams {
	s := &streams{closing: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.closing) })
	return s
}

// enter takes a place; leave must be called. The error is for a process that has as many
// streams as it may.
func (s *streams) enter(session, person domain.ID) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.displace(streamsPerSession, func(o *stream) bool { return o.session == session })
	s.displace(streamsPerPerson, func(o *stream) bool { return o.person == person })
	if len(s.open) >= streamsInAll {
		return nil, &domain.Error{Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable,
			Message: "Too many live pages are open at the moment. Reload the page to see what came."}
	}
	mine := &stream{all: s, session: session, person: person, displaced: make(chan struct{})}
	s.open = append(s.open, mine)
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
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	for i, o := range m.all.open {
		if o == m {
			m.all.open = append(m.all.open[:i:i], m.all.open[i+1:]...)
			return
		}
	}
}
