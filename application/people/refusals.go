package people

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
)

const (
	// refusalsJoined is the time in which refusals of one kind are counted together.
	refusalsJoined = 24 * time.Hour
	// maxRefusals limits the kinds that are counted at a time.
	maxRefusals = 10_000
	// refusalsWaiting limits the refusals that wait to be counted.
	refusalsWaiting = 1024
	// keepRefusalWithin is the timeout of the storage for one entry.
	keepRefusalWithin = 5 * time.Second
)

// Refusals records refused attempts of known persons in the audit log. The log is kept forever and
// anybody can fail, so attempts are joined. A kind is a person, an outcome, and the site and
// business of the session. It gets an entry with the count at the 1st, 10th, 100th attempt of 24
// hours and so on. A process remembers 10,000 kinds, and starts with none. The actor of an entry is
// the person named by the attempt. Nobody has proved to be that person.
//
// Entries are written outside the request. Otherwise the response time would reveal whether there
// is such a person.
type Refusals struct {
	storage ports.Storage
	audit   *audit.Log
	clock   ports.Clock
	log     *slog.Logger
	waiting chan domain.Refusal
	tallies map[refusalKey]*refusalTally
}

type refusalKey struct {
	person   domain.ID
	outcome  domain.RefusalOutcome
	site     domain.Site
	business domain.ID // of the session or link: what is refused in one must not hide what is refused in another
}

type refusalTally struct {
	since time.Time
	count int
}

// NewRefusals records refusals until the returned function is called. That function waits until the
// queued ones are stored.
func NewRefusals(s ports.Storage, c ports.Clock, ids ports.Identifiers, log *slog.Logger) (*Refusals, func()) {
	r := &Refusals{storage: s, audit: audit.New(s, c, ids), clock: c, log: log, waiting: make(chan domain.Refusal, refusalsWaiting),
		tallies: map[refusalKey]*refusalTally{}}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case refusal := <-r.waiting:
				r.keep(refusal)
			case <-stop:
				for len(r.waiting) > 0 {
					r.keep(<-r.waiting)
				}
				return
			}
		}
	}()
	return r, func() { close(stop); <-stopped }
}

// Keep queues a refusal. If too many wait, it is dropped: the log and the metrics still show it.
// Nil refusals do nothing.
func (r *Refusals) Keep(refusal domain.Refusal) {
	if r == nil || refusal.PersonID == "" {
		return
	}
	select {
	case r.waiting <- refusal:
	default:
	}
}

func (r *Refusals) keep(refusal domain.Refusal) {
	ctx, cancel := context.WithTimeout(context.Background(), keepRefusalWithin)
	defer cancel()
	if err := r.append(ctx, refusal); err != nil && !errors.Is(err, domain.ErrNotFound) {
		r.log.WarnContext(ctx, "a refused attempt is not in the audit log", "request_id", refusal.RequestID, "person",
			string(refusal.PersonID), "error", err)
	}
}

// append counts a refusal. It returns domain.ErrNotFound for an unknown person.
func (r *Refusals) append(ctx context.Context, refusal domain.Refusal) error {
	key, now := refusalKey{refusal.PersonID, refusal.Outcome, refusal.Site, refusal.BusinessID}, r.clock.Now()
	tally := r.tallies[key]
	known := tally != nil && now.Sub(tally.since) < refusalsJoined
	if !known {
		if tally == nil && !r.room(now) {
			return nil
		}
		tally = &refusalTally{since: now}
	}
	tally.count++
	if !powerOfTen(tally.count) {
		return nil
	}
	person, err := r.storage.Read().Persons.Get(ctx, refusal.PersonID)
	if err != nil {
		return err
	}
	r.tallies[key] = tally // only for persons that exist
	business, err := r.businessOf(ctx, refusal)
	if err != nil {
		return err
	}
	name, err := r.nameAt(ctx, person, business)
	if err != nil {
		return err
	}
	by := domain.AuditActor{ID: person.ID, Name: name, BusinessID: business, RequestID: refusal.RequestID}
	return r.audit.Change(ctx, by, func(context.Context, ports.Stores) (domain.AuditRecord, error) {
		return domain.AuditRecord{Action: domain.ActionPersonRefused, Target: person.ID, BusinessID: business, Details: map[string]string{
			"site": string(refusal.Site), "outcome": string(refusal.Outcome), "count": strconv.Itoa(tally.count),
			"since": domain.FormatTime(tally.since),
		}}, nil
	})
}

// businessOf returns the business whose audit log gets the entry: that of the session or link, or
// else where the person would sign in. It is empty at the console, and where there is none.
func (r *Refusals) businessOf(ctx context.Context, refusal domain.Refusal) (domain.ID, error) {
	if refusal.Site == domain.Console || refusal.BusinessID != "" {
		return refusal.BusinessID, nil
	}
	all, err := r.storage.Read().Memberships.OfPerson(ctx, refusal.PersonID)
	for _, m := range all {
		if m.Site() == refusal.Site && m.AcceptedAt != nil {
			return m.BusinessID, nil
		}
	}
	return "", err
}

// nameAt returns the name by which a business knows the person: that of the invitation until it is
// accepted. For a person who has left it returns the email address.
func (r *Refusals) nameAt(ctx context.Context, person domain.Person, business domain.ID) (string, error) {
	if business == "" {
		return person.Name, nil
	}
	member, err := r.storage.Read().Memberships.Member(ctx, business, person.ID)
	if errors.Is(err, domain.ErrNotFound) {
		return string(person.Email), nil
	}
	return member.Person.Name, err
}

// room reports whether one more kind can be counted, after dropping those whose time is over.
func (r *Refusals) room(now time.Time) bool {
	if len(r.tallies) < maxRefusals {
		return true
	}
	for key, tally := range r.tallies {
		if now.Sub(tally.since) >= refusalsJoined {
			delete(r.tallies, key)
		}
	}
	return len(r.tallies) < maxRefusals
}

func powerOfTen(n int) bool {
	for n%10 == 0 && n > 1 {
		n /= 10
	}
	return n == 1
}
