package dispatch

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// much is how many due webhooks make a backlog. Drains that have one share
	// permits for the storage, so that drains with little to do find it free.
	much = 2 * inFlight
	// brief is how long a send of a backlog counts as work for this machine. A receiver
	// that has not answered by then costs waiting and no work, and holds up no other.
	brief = 2 * time.Millisecond
	// permitsPerProcessor is how many sends of backlogs are work at a time. All that
	// are beyond what keeps the processors busy only stand in the way of endpoints
	// without a backlog.
	permitsPerProcessor = 4
	// contention is how long after its last send an endpoint without a backlog counts
	// as active. While one does, each use of the storage by a backlog is followed by a
	// pause that is pauseShare times as long.
	contention = time.Second
	pauseShare = 3
)

// fairShare keeps drains with a backlog from starving those without one. A backlog needs
// a storage permit for each call of the storage, pauses after the call, and needs a send
// permit for each send that keeps this machine busy.
type fairShare struct {
	storagePermits chan struct{} // an element for each permit that is held
	sendPermits    chan struct{} // an element for each permit that is held
	backlogs       atomic.Int32  // drains with a backlog
	prompt         atomic.Int64  // when one that never had any sent last, in Unix nanoseconds
	closed         <-chan struct{}

	mu    sync.Mutex
	began map[*time.Time]bool // of the storage permits in use, without their pauses
}

// newFairShare shares so many processors; once closed is closed nothing pauses.
func newFairShare(processors int, closed <-chan struct{}) *fairShare {
	return &fairShare{
		storagePermits: make(chan struct{}, max(1, processors/2)), sendPermits: make(chan struct{}, permitsPerProcessor*processors),
		closed: closed,
		began:  map[*time.Time]bool{},
	}
}

func processors() int { return runtime.GOMAXPROCS(0) }

// holdStorage notes that a permit is in use, and returns what releases it: at once, or after a pause where
// an endpoint without a backlog is active.
func (f *fairShare) holdStorage() (end func()) {
	began := time.Now()
	f.mu.Lock()
	f.began[&began] = true
	f.mu.Unlock()
	return func() {
		f.mu.Lock()
		delete(f.began, &began)
		f.mu.Unlock()
		took := time.Since(began)
		if time.Since(time.Unix(0, f.prompt.Load())) > contention || f.isClosed() {
			<-f.storagePermits
			return
		}
		// Never long: a permit may have been held through an outage, which makes backlogs.
		time.AfterFunc(min(pauseShare*took, contention), func() { <-f.storagePermits })
	}
}

// stuck reports whether all storage permits are with calls of the storage that hang.
func (f *fairShare) stuck() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for began := range f.began {
		if time.Since(*began) <= stalled {
			return false
		}
	}
	return len(f.began) == cap(f.storagePermits)
}

func (f *fairShare) isClosed() bool {
	select {
	case <-f.closed:
		return true
	default:
		return false
	}
}

// share is what one drain has of it, for the goroutine of the drain alone.
type share struct {
	*fairShare
	load   load
	permit permit
}

// found takes note of how many webhooks are due.
func (s *share) found(due int) {
	before := s.load
	s.load = before.on(due)
	switch {
	case s.load == behind && before != behind:
		s.backlogs.Add(1)
	case s.load != behind && before == behind:
		s.backlogs.Add(-1)
	}
}

// leave gives back all that the drain has.
func (s *share) leave() {
	s.returnPermit()
	s.found(0)
}

// admit reports whether one more may be sent now. With a backlog that takes a permit,
// unless the backlog is the only one.
func (s *share) admit() bool {
	if s.load != behind || s.permit == held || s.backlogs.Load() == 1 {
		return true
	}
	select {
	case s.sendPermits <- struct{}{}:
		s.permit = s.permit.on(granted)
	default:
		s.permit = s.permit.on(denied)
	}
	return s.permit == held
}

// queue is where a send that waits for a permit sends an element to get it; nil where
// none does.
func (s *share) queue() chan<- struct{} {
	if s.permit != wanted {
		return nil
	}
	return s.sendPermits
}

// returnPermit gives back what no send took.
func (s *share) returnPermit() {
	if s.permit == held {
		<-s.sendPermits
		s.permit = s.permit.on(used)
	}
}

// begin takes note of a send. Its permit, where it has one, is free again when the
// send has ended or waits for its receiver.
func (s *share) begin() (ended func()) {
	if s.load == prompt {
		s.prompt.Store(time.Now().UnixNano())
	}
	if s.permit != held {
		return func() {}
	}
	s.permit = s.permit.on(used)
	free := sync.OnceFunc(func() { <-s.sendPermits })
	waits := time.AfterFunc(brief, free)
	return func() { waits.Stop(); free() }
}
