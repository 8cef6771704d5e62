package webhooks

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"sync"
	"time"

	"waybill/domain"
)

const (
	// keepEvery is how often the life of an open inbox is renewed.
	keepEvery = watchLife / 4
	// inboxPause separates two reads, so that the events of a burst share one.
	inboxPause = 150 * time.Millisecond
	// inboxOverlap is how far before the newest row a read begins: of two events the later one may
	// be committed first.
	inboxOverlap = 10 * time.Second
)

// InboxWatch is one person's watch of an inbox.
type InboxWatch struct {
	all  *Inboxes
	poll *inboxPoll
	keep bool
	left sync.Once
}

// inboxPoll reads one inbox for all its watches in this process.
type inboxPoll struct {
	tenant domain.Tenant
	stop   context.CancelFunc
	ended  chan struct{} // closed when its goroutine has ended

	watches, keepers int // under the lock of Inboxes

	mu     sync.Mutex
	latest InboxNews
	news   chan struct{} // closed when latest is replaced
}

// InboxNews is the last state of an inbox.
type InboxNews struct {
	Inbox
	Version int   // grows with every change
	Err     error // why it cannot be read; nil: it can
}

// Watch begins a watch, and with keep keeps an open inbox open. The caller must call Close.
func (i *Inboxes) Watch(t domain.Tenant, keep bool) *InboxWatch {
	i.mu.Lock()
	defer i.mu.Unlock()
	p := i.polls[t]
	if p == nil {
		ctx, stop := context.WithCancel(context.Background())
		p = &inboxPoll{tenant: t, stop: stop, ended: make(chan struct{}), news: make(chan struct{})}
		i.polls[t] = p
		go i.follow(ctx, p)
	}
	p.watches++
	if keep {
		p.keepers++
	}
	return &InboxWatch{all: i, poll: p, keep: keep}
}

// Next waits until the inbox is beyond a version, 0 at first. It returns an error only from ctx.
func (w *InboxWatch) Next(ctx context.Context, version int) (InboxNews, error) {
	for {
		w.poll.mu.Lock()
		latest, news := w.poll.latest, w.poll.news
		w.poll.mu.Unlock()
		if latest.Version > version {
			return latest, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return InboxNews{}, ctx.Err()
		}
	}
}

// Close ends the watch. After the last one of an inbox nothing of it runs here.
func (w *InboxWatch) Close() {
	w.left.Do(func() {
		if w.all.leaveWatch(w) {
			w.poll.stop()
			<-w.poll.ended
		}
	})
}

// leaveWatch reports whether it was the last watch of its inbox.
func (i *Inboxes) leaveWatch(w *InboxWatch) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	w.poll.watches--
	if w.keep {
		w.poll.keepers--
	}
	if w.poll.watches > 0 {
		return false
	}
	delete(i.polls, w.poll.tenant)
	return true
}

func (i *Inboxes) kept(p *inboxPoll) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return p.keepers > 0
}

// inboxLook holds what is needed to read an inbox.
type inboxLook struct {
	endpoint domain.WebhookEndpoint // zero: none was found
	found    time.Time
	woken    <-chan struct{} // something may be due; nil: there was no place to wait
	leave    func()
}

// follow reads until the last watch ends.
func (i *Inboxes) follow(ctx context.Context, p *inboxPoll) {
	defer close(p.ended)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	look := &inboxLook{leave: func() {}}
	defer func() { look.leave() }()
	failing := false
	for {
		received, err := i.lookOnce(ctx, p, look)
		if ctx.Err() != nil {
			return
		}
		p.update(received, look.endpoint.ID != "", err)
		if err != nil && !failing {
			i.log.WarnContext(ctx, "an inbox of the portal waits: its webhooks cannot be read", "error", err,
				"application_id", p.tenant.ApplicationID)
		}
		failing = err != nil
		select {
		case <-time.After(inboxPause):
		case <-ctx.Done():
			return
		}
		select {
		case <-look.woken:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// lookOnce reads once. It returns nothing for a closed inbox.
func (i *Inboxes) lookOnce(ctx context.Context, p *inboxPoll, look *inboxLook) ([]ReceivedWebhook, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if keep := i.kept(p); look.endpoint.ID == "" || !keep || time.Since(look.found) > keepEvery {
		e, err := i.find(ctx, p.tenant, keep, watchLife)
		if e.ID != look.endpoint.ID || err != nil {
			look.leave()
			look.endpoint, look.woken, look.leave = domain.WebhookEndpoint{}, nil, func() {}
		}
		if errors.Is(err, domain.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if look.endpoint.ID == "" {
			if mine, leave, err := i.enter(e); err == nil { // without a place the next tick finds what is due
				look.woken, look.leave = mine.woken, leave
			}
		}
		look.endpoint, look.found = e, time.Now()
	}
	received, err := i.take(ctx, look.endpoint, p.since(), InboxRows)
	if err != nil {
		look.found = time.Time{}
	}
	return received, err
}

// since returns the time from which rows may be missing.
func (p *inboxPoll) since() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.latest.Webhooks) == 0 {
		return time.Time{}
	}
	return p.latest.Webhooks[0].At.Add(-inboxOverlap)
}

// update adds new rows.
func (p *inboxPoll) update(received []ReceivedWebhook, open bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := map[domain.ID]bool{}
	for _, w := range p.latest.Webhooks {
		known[w.ID] = true
	}
	fresh := slices.DeleteFunc(received, func(w ReceivedWebhook) bool { return known[w.ID] })
	before := p.latest
	if before.Version > 0 && len(fresh) == 0 && open == before.Open && (err == nil) == (before.Err == nil) {
		return
	}
	all := slices.Concat(fresh, before.Webhooks)
	sort.SliceStable(all, func(i, j int) bool {
		return cmp.Or(all[j].At.Compare(all[i].At), cmp.Compare(all[j].ID, all[i].ID)) < 0
	})
	p.latest = InboxNews{Inbox: Inbox{Open: open, Webhooks: all[:min(len(all), InboxRows)]}, Version: before.Version + 1, Err: err}
	close(p.news)
	p.news = make(chan struct{})
}
