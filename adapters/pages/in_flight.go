package pages

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"waybill/domain"
)

// Limits of pages in progress, per process, and how long the next one waits. A browser that
// restores its windows requests dozens at once. The limits are low, so that one business cannot
// take the processors and database connections from others. Streams and streamed tables count until
// they begin; then they have their own limits. So has heavy work: one file or preview of a business
// at a time.
const (
	pagesPerPerson   = 4
	pagesPerBusiness = 8
	pagePatience     = 2 * time.Second
)

// inFlight limits the concurrent work of one person and one business. It stores nothing for IDs
// without work.
type inFlight struct {
	mu sync.Mutex
	of map[domain.ID]*places
}

type places struct {
	free *semaphore.Weighted
	held int // places taken or waited for; guarded by inFlight.mu
}

// enter waits for a place of the person and one of the business. The caller must call leave; more
// calls do nothing.
func (f *inFlight) enter(ctx context.Context, p domain.Principal) (leave func(), err error) {
	leavePerson, err := f.take(ctx, p.Reader(), pagesPerPerson, pagePatience)
	if err != nil || p.Session.BusinessID == "" {
		return leavePerson, err
	}
	leaveBusiness, err := f.take(ctx, p.Session.BusinessID, pagesPerBusiness, pagePatience)
	if err != nil {
		leavePerson()
		return nil, err
	}
	return func() { leavePerson(); leaveBusiness() }, nil
}

// Limits of concurrent forms with more than maxForm bytes, such as tables to import. Each may need
// memory of many times its length.
const (
	uploadsPerBusiness = 1 // and for each person of the staff
	mostUploads        = 8 // per process
)

// enterUpload waits for a place of the business and one of the process to read a large form.
func (f *inFlight) enterUpload(ctx context.Context, p domain.Principal) (leave func(), err error) {
	crowded := &domain.Error{Kind: domain.KindLimited, Code: domain.CodeTooManyPages, RetryAfter: 5 * time.Second,
		Message: "Another large form is being sent at the moment. This one was not read. Send it again in a few seconds."}
	leaveBusiness, err := f.take(ctx, cmp.Or(p.Session.BusinessID, p.Reader()), uploadsPerBusiness, pagePatience)
	if err != nil {
		return nil, crowded
	}
	leaveProcess, err := f.take(ctx, "", mostUploads, pagePatience)
	if err != nil {
		leaveBusiness()
		return nil, crowded
	}
	return func() { leaveProcess(); leaveBusiness() }, nil
}

// Alone waits until no other file or preview of the business is in progress. For staff sessions it
// counts per person. The caller must call leave.
func (c *Call) Alone() (leave func(), err error) {
	leave, err = c.site.heavy.take(c.Ctx(), cmp.Or(c.Principal.Session.BusinessID, c.Principal.Reader()), 1, pagePatience)
	var e *domain.Error
	if errors.As(err, &e) {
		e.Message = "Another file or preview is being made for you or your business. Try again in a few seconds."
	}
	return leave, err
}

func (f *inFlight) take(ctx context.Context, id domain.ID, most int64, patience time.Duration) (leave func(), err error) {
	f.mu.Lock()
	if f.of == nil {
		f.of = map[domain.ID]*places{}
	}
	of := f.of[id]
	if of == nil {
		of = &places{free: semaphore.NewWeighted(most)}
		f.of[id] = of
	}
	of.held++
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !of.free.TryAcquire(1) && of.free.Acquire(ctx, 1) != nil {
		f.forget(id, of)
		return nil, &domain.Error{Kind: domain.KindLimited, Code: domain.CodeTooManyPages, RetryAfter: time.Second,
			Message: "Too many pages are being loaded by you or your business. Reload this one in a few seconds."}
	}
	return sync.OnceFunc(func() {
		of.free.Release(1)
		f.forget(id, of)
	}), nil
}

func (f *inFlight) forget(id domain.ID, of *places) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if of.held--; of.held == 0 {
		delete(f.of, id)
	}
}
