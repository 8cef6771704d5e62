package gormstore

import (
	"context"
	"regexp"
	"slices"
	"time"

	"waybill/ports"
)

// A row of webhook_leases has the lease of an endpoint, and the time since which webhooks may be
// due for it. It changes many times a second, and a snapshot that is held for long, as by pg_dump,
// keeps all its versions. So each change takes the next number, and the newest version is searched
// for from the end of the index, where it comes first.

// leases replaces $lease(ENDPOINT) in a statement by the newest version of the endpoint's lease,
// and fills in the database's clock.
func (e *dialect) leases(statement string) string {
	return e.clocked(e.placed(leaseOf.ReplaceAllString(statement, e.newestLease)))
}

var leaseOf = regexp.MustCompile(`\$lease\(([a-z._?]+)\)`)

// changeLease changes the lease of an endpoint if it meets a condition, and reports whether it did.
// A version that another transaction adds meanwhile has a higher number.
func (s session) changeLease(ctx context.Context, what string, endpoint rowID, set string, to []any, where string, is ...any) (bool,
	error) {
	key, err := s.placeOf(ctx, endpoint)
	if err != nil {
		return false, err
	}
	values := slices.Concat(to, key, key, is)
	result := s.with(ctx).Exec(s.dialect.leases("UPDATE webhook_leases SET number = number + 1, "+set+
		" WHERE endpoint_id = ?$node AND number >= (SELECT number FROM $lease(?) l) AND "+where), values...)
	return result.RowsAffected > 0, s.dialect.failed(what, result.Error)
}

const (
	// dueMargin limits how long after its due time a webhook may still be committed: a booking ends
	// within its budget. FindLate finds later ones.
	dueMargin = ports.BookingBudget + time.Second
	// dueStep is the least by which due_since is raised.
	dueStep = 2 * time.Second
)

// dueSince holds the time since which webhooks may be due for an endpoint, in a version of its
// lease.
type dueSince struct {
	Number   int64
	DueSince instant
}

// from returns the due time at which a search for due webhooks begins. A clock that was ahead for a
// while does not hide webhooks from after its correction.
func (d dueSince) from(now time.Time) time.Time {
	if settled := now.Add(-dueMargin); settled.Before(d.DueSince.time) {
		return settled
	}
	return d.DueSince.time
}

// below reports whether raising it to a time is worth a new version of the lease.
func (d dueSince) below(to time.Time) bool { return to.Sub(d.DueSince.time) >= dueStep }

// dueSinceOf is from in SQL, of an endpoint e. Both parameters are the time dueMargin before now.
const dueSinceOf = "(SELECT CASE WHEN l.due_since < ? THEN l.due_since ELSE ? END FROM $lease(e.id) l)"

// dueSince reads the dueSince of an endpoint; found is false where there is no such endpoint.
func (s session) dueSince(ctx context.Context, endpoint rowID) (d dueSince, found bool, err error) {
	key, err := s.placeOf(ctx, endpoint)
	if err != nil {
		return d, false, err
	}
	result := s.with(ctx).Raw(s.dialect.leases("SELECT number, due_since FROM $lease(?) l WHERE number IS NOT NULL"), key...).Scan(&d)
	return d, result.RowsAffected > 0, s.dialect.failed("read since when webhooks are due", result.Error)
}

// settledBefore returns the time before which nothing is or will be due, after a search whose first
// webhook is due at first; nil: it found none.
func settledBefore(now time.Time, first *time.Time) time.Time {
	if first == nil {
		return now.Add(-dueMargin)
	}
	return earlier(*first, now.Add(-dueMargin))
}

// raiseDueSince records that nothing older than the first webhook of a search is due, if it found
// one. A webhook that became due since the search has changed the number.
func (s session) raiseDueSince(ctx context.Context, endpoint rowID, seen dueSince, now time.Time, first *time.Time) error {
	to := settledBefore(now, first)
	if !seen.below(to) {
		return nil
	}
	_, err := s.changeLease(ctx, "note since when webhooks are due", endpoint, "due_since = ?", []any{instantOf(to)}, "number = ?",
		seen.Number)
	return err
}

// dueFrom records a pending webhook with that due time. Call it at the end of a transaction that
// holds the endpoint.
func (s session) dueFrom(ctx context.Context, endpoint rowID, due time.Time) error {
	_, err := s.changeLease(ctx, "note since when webhooks are due", endpoint,
		"due_since = CASE WHEN due_since > ? THEN ? ELSE due_since END", []any{instantOf(due), instantOf(due)}, "TRUE")
	return err
}

// latePage limits the endpoints of a statement, and lateLimit its time. A due_since older than
// lateRaise was not raised by searches.
const (
	latePage  = 100
	lateLimit = time.Minute
	lateRaise = time.Hour
)

// oldestWebhooks selects, for each endpoint, when its first pending webhook was due, and the lease
// as it is.
const oldestWebhooks = `SELECT e.id, (SELECT number FROM $lease(e.id) l) AS number, (SELECT due_since FROM $lease(e.id) l) AS due_since,
	(SELECT min(d.due_at) FROM webhook_deliveries d WHERE d.endpoint_id = e.id$with(d,e) AND d.status = 'pending') AS oldest
FROM webhook_endpoints e WHERE e.slot IS NOT NULL AND e.id > ? ORDER BY e.id LIMIT ?`

// FindLate looks for webhooks that became pending later than dueMargin after their due time, and
// makes the next searches begin early enough for them. It returns for how many endpoints there were
// some. It walks through all dead index entries that the database could not clean up yet. So the
// next searches need not, if none of them has ended for a while.
func (s *Store) FindLate(ctx context.Context) (late int, err error) {
	now, err := s.Time(ctx)
	if err != nil {
		return 0, err
	}
	for after := noRow; ; {
		var rows []struct {
			ID       rowID
			Number   int64
			DueSince instant
			Oldest   *instant
		}
		look := func(sn session) error {
			if sn.dialect.limitsStatements {
				if err := sn.with(ctx).Exec("SELECT set_config('statement_timeout', ?, true)", milliseconds(lateLimit)).Error; err != nil {
					return sn.dialect.failed("be patient", err)
				}
			}
			return sn.dialect.failed("look for late webhooks", sn.with(ctx).Raw(sn.dialect.leases(oldestWebhooks), after, latePage).Scan(
				&rows).Error)
		}
		if s.dialect.limitsStatements {
			err = s.transact(ctx, look)
		} else {
			err = look(session{db: s.read, dialect: s.dialect})
		}
		if err != nil {
			return late, err
		}
		sn := session{db: s.write, dialect: s.dialect}
		for _, r := range rows {
			switch oldest := optionalTime(r.Oldest); {
			case oldest != nil && oldest.Before(r.DueSince.time):
				late++
				err = sn.dueFrom(ctx, r.ID, *oldest)
			case now.Sub(r.DueSince.time) > lateRaise:
				err = sn.raiseDueSince(ctx, r.ID, dueSince{r.Number, r.DueSince}, now, oldest)
			}
			if err != nil {
				return late, err
			}
		}
		if len(rows) < latePage {
			return late, nil
		}
		after = rows[len(rows)-1].ID
	}
}
