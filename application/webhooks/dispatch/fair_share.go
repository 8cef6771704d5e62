package dispatch

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// much is the number of due webhooks beyond which there is a backlog. Drains with a backlog
	// share permits for the storage, so that drains with little to do find it free.
	much = 2 * inFlight
	// brief is how long a send of a backlog counts as work for this machine. A receiver that has
	// not responded by then costs waiting and no work, and does not delay others.
	brief = 2 * time.Millisecond
	// permitsPerProcessor limits the sends of backlogs that count as work at a time. More than what
	// keeps the processors busy would only delay endpoints without a backlog.
	permitsPerProcessor = 4
	// contention is how long after its last send an endpoint without a backlog counts as active.
	// During that time a pause follows each use of the storage by a backlog, pauseShare times as
	// long.
	contention = time.Second
	pauseShare = 3
)

// fairShare keeps drains with a backlog from starving those without one. A backlog needs a storage
// permit for each call of the storage and pauses after the call. It needs a send permit for each
// send that keeps this machine busy.
type fairShare struct {
	storagePermits chan struct{} // an element for each permit that is held
	sendPermits    chan struct{} // an element for each permit that is held
	backlogs       atomic.Int32  // drains with a backlog
	prompt         atomic.Int64  // last send of a drain that never had a backlog, in Unix nanoseconds
	closed         <-chan struct{}

	mu    sync.Mutex
	began map[*time.Time]bool // of the storage permits in use, without their pauses
}

// newFairShare returns the shares of a number of processors. Once closed is closed, nothing pauses.
func newFairShare(processors int, closed <-chan struct{}) *fairShare {
	return &fairShare{
		storagePermits: make(chan struct{}, max(1, processors/2)), sendPermits: make(chan struct{}, permitsPerProcessor*processors),
		closed: closed,
		began:  map[*time.Time]bool{},
	}
}

func processors() int { return runtime.GOMAXPROCS(0) }

// holdStorage notes that a permit is in use. The returned function releases it: at once, or after a
// pause while an endpoint without a backlog is active.
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

// stuck reports whether calls of the storage that hang hold all storage permits.
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

// share holds the part of one drain, only for the goroutine of the drain.
type share struct {
	*fairShare
	load   load
	permit permit
}

// found updates the load from the number of due webhooks.
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

// leave gives back everything that the drain holds.
func (s *share) leave() {
	s.returnPermit()
	s.found(0)
}

// admit reports whether one more webhook may be sent now. With a backlog that takes a permit,
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

// queue returns the channel to which a waiting send sends an element to get its permit, or nil if
// no send waits.
func (s *share) queue() chan<- struct{} {
	if s.permit != wanted {
		return nil
	}
	return s.sendPermits
}

// returnPermit gives back a permit that no send used.
func (s *share) returnPermit() {
	if s.permit == held {
		<-s.sendPermits
		s.permit = s.permit.on(used)
	}
}

// begin records a send. Its permit, if it has one, is free again when the send has ended or waits
// for its receiver.
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
