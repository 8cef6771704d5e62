package access

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"waybill/domain"
)

// Limits of the requests in flight of an application and environment.
const (
	// MaxInFlight limits the requests in flight in this process, so that no application takes all
	// of its capacity.
	MaxInFlight = 50
	// MaxLists limits those of them that are pages of lists, searches and the feed. The next one
	// waits for up to ListPatience.
	MaxLists     = 4
	ListPatience = time.Second
	// MaxBulks limits the running bulks, in addition to those requests: each does the work of a
	// hundred. MaxWaitingBulks more wait for their turn, each for up to BulkPatience.
	MaxBulks        = 4
	MaxWaitingBulks = 16
	BulkPatience    = 10 * time.Second
)

// permits limits the concurrent requests of each application and environment. An application
// without requests in flight uses no memory.
type permits struct {
	most     int
	patience time.Duration // how long the next one waits, in the order of arrival; 0: not at all

	mu    sync.Mutex
	lines map[holder]*line
}

type holder struct {
	application domain.ID
	environment domain.Environment
}

func holderOf(c *domain.Credential) holder { return holder{c.Application.ID, c.Key.Environment} }

// line holds the permits that one holder has taken, and its waiters. Closing a waiter's channel
// passes a permit on.
type line struct {
	inside  int
	waiting []chan struct{}
}

func newPermits(most int, patience time.Duration) *permits {
	return &permits{most: most, patience: patience, lines: make(map[holder]*line)}
}

// enter takes a permit, which leave gives back, or returns false if none became free.
func (p *permits) enter(ctx context.Context, h holder) bool {
	entered, permit := p.join(h)
	if permit == nil {
		return entered
	}
	timer := time.NewTimer(p.patience)
	defer timer.Stop()
	select {
	case <-permit:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return !p.giveUp(h, permit)
}

func (p *permits) join(h holder) (entered bool, permit chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[h]
	if l == nil {
		l = &line{}
		p.lines[h] = l
	}
	switch {
	case l.inside < p.most:
		l.inside++
		return true, nil
	case p.patience == 0:
		return false, nil
	}
	permit = make(chan struct{})
	l.waiting = append(l.waiting, permit)
	return false, permit
}

// giveUp leaves the line, unless a permit was passed on at the last moment.
func (p *permits) giveUp(h holder, permit chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[h] // exists while a request waits
	at := slices.Index(l.waiting, permit)
	if at < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	return true
}

func (p *permits) leave(h holder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[h]
	if len(l.waiting) > 0 {
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
		return
	}
	if l.inside--; l.inside == 0 {
		delete(p.lines, h)
	}
}

// Enter lets an admitted request begin. leave must be called when it has ended. Beyond MaxInFlight
// it returns 429 and gives back what the request was charged.
func (a *Admission) Enter(ctx context.Context, g *Grant) (leave func(), err error) {
	return a.take(ctx, a.inFlight, g,
		fmt.Sprintf("%d requests of this application are in flight, the most there may be. Wait for one to end.", MaxInFlight))
}

// EnterList lets a request in flight read a page of a list, a search or the feed. It waits up to a
// second for a permit, and otherwise works as Enter.
func (a *Admission) EnterList(ctx context.Context, g *Grant) (leave func(), err error) {
	return a.take(ctx, a.lists, g,
		fmt.Sprintf("%d lists, searches or pages of events are read for this application, the most at a time, and none ended within %d s. Wait "+
			"for one to end.",
			MaxLists, int(ListPatience.Seconds())))
}

// EnterBulk takes a place for a request that books many deliveries, among the running and the
// waiting ones. It does not wait for one.
func (a *Admission) EnterBulk(ctx context.Context, g *Grant) (leave func(), err error) {
	return a.take(ctx, a.bulks, g,
		fmt.Sprintf("%d bulks of this application are in progress and %d more are waiting, the most there may be. Wait for one to end, then send "+
			"this one again.", MaxBulks, MaxWaitingBulks))
}

// AwaitBulkTurn waits until a bulk that has a place may begin its work, first come first served,
// for up to BulkPatience or until ctx ends.
func (a *Admission) AwaitBulkTurn(ctx context.Context, g *Grant) (leave func(), err error) {
	return a.take(ctx, a.bulkTurns, g,
		fmt.Sprintf("%d bulks of this application are in progress, the most at a time, and none of them ended within the %d s that a bulk waits. "+
			"Nothing was created. Send the same request again when one has ended.", MaxBulks, int(BulkPatience.Seconds())))
}

func (a *Admission) take(ctx context.Context, p *permits, g *Grant, refusal string) (leave func(), err error) {
	h := holderOf(&g.Credential)
	if p.enter(ctx, h) {
		return func() { p.leave(h) }, nil
	}
	if err := a.GiveBack(ctx, g); err != nil {
		return nil, domain.Internal(err)
	}
	return nil, &domain.Error{
		Kind: domain.KindLimited, Code: domain.CodeRateLimitExceeded, Message: refusal,
		Details:    map[string]any{"scope": "concurrency", "limit": p.most},
		RetryAfter: time.Second,
	}
}
