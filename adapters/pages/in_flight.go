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

// How many pages are made at a time, in one process, and for how long the next one waits: a
// browser that opens all its windows again asks for dozens at once. They are few, so that the
// people of one business take neither the processors nor the connections of the database from
// the others. Streams and tables that are sent as they are read count until they begin, and have
// bounds of their own. So has heavy work: one file or preview of a business at a time.
const (
	pagesPerPerson   = 4
	pagesPerBusiness = 8
	pagePatience     = 2 * time.Second
)

// inFlight bounds what one person, and one business, has made at a time. Who has nothing in
// it takes no memory.
type inFlight struct {
	mu sync.Mutex
	of map[domain.ID]*places
}

type places struct {
	free *semaphore.Weighted
	held int // places that are taken or waited for; under the lock of inFlight
}

// enter waits for a place of the person and one of the business; leave must be called.
// Calling it again does nothing.
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

// Forms with more than maxForm bytes, such as tables to be imported, that are read and answered
// at a time: each may take many times its length.
const (
	uploadsPerBusiness = 1 // and of each of the staff
	mostUploads        = 8 // in one process
)

// enterUpload waits for a place of the business to read a large form, and one of the process.
func (f *inFlight) enterUpload(ctx context.Context, p domain.Principal) (leave func(), err error) {
	crowded := &domain.Error{Kind: domain.KindLimited, Code: domain.CodeTooManyPages, RetryAfter: 5 * time.Second,
		Message: "Another large form is being taken at this moment, and nothing of this one was read. Send it again in a few seconds."}
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

// Alone waits until no other file or preview of the business is being made, or of the person
// where the session is of the staff; leave must be called.
func (c *Call) Alone() (leave func(), err error) {
	leave, err = c.site.heavy.take(c.Ctx(), cmp.Or(c.Principal.Session.BusinessID, c.Principal.Reader()), 1, pagePatience)
	var e *domain.Error
	if errors.As(err, &e) {
		e.Message = "Another file or preview of yours, or of your business, is being made at this moment. Ask for this one again in a few seconds."
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
			Message: "Too many pages of yours, or of your business, are being made at this moment. Reload this one in a few seconds."}
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
