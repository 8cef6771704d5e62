package gormstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var mailTable = newTable(mailRow{})

// mails implements ports.MailStore and ports.MailOutbox.
type mails struct{ session }

// Mails returns the outbox of emails.
func (s *Store) Mails() ports.MailOutbox {
	return mails{session{db: s.write, dialect: s.dialect}}
}

// pgMailLock locks the count of the emails of a business until the transaction ends.
const pgMailLock = "2002937446"

const selectTold = "SELECT p.id FROM memberships m JOIN persons p ON p.id = m.person_id" +
	" WHERE m.business_id = ? AND m.role IN ? AND m.accepted_at IS NOT NULL AND p.state = 'active' ORDER BY p.id"

func (s mails) Tell(ctx context.Context, n domain.Notice) error {
	recipients, err := s.recipients(ctx, n)
	if err != nil {
		return err
	}
	past, err := s.counted(ctx, n)
	if err != nil {
		return err
	}
	for _, person := range recipients {
		if err := s.tell(ctx, n, person, past); err != nil {
			return err
		}
	}
	return nil
}

// tell stores the email to one recipient, or leaves the notice to the summary of the hour; past
// holds the emails that count.
func (s mails) tell(ctx context.Context, n domain.Notice, person domain.ID, past []domain.CountedMail) error {
	if n.Budget.Refuses() {
		to, err := persons(s).Get(ctx, person)
		if err != nil {
			return err
		}
		if err := n.WithinBudget(to.Email, past); err != nil {
			return err
		}
	}
	if !n.Joins(person, past) {
		_, err := s.insert(ctx, domain.MailTo(n, person))
		return err
	}
	added, err := s.insert(ctx, domain.JoinedTo(n, person))
	if err == nil && added {
		_, err = s.insert(ctx, domain.SummaryTo(n, person))
	}
	return err
}

// insert stores an email and reports whether it is new.
func (s mails) insert(ctx context.Context, m domain.Mail) (added bool, err error) {
	row, err := newMailRow(m)
	if err != nil {
		return false, err
	}
	result := mailTable.insertInto(ctx, s.with(ctx), row, " ON CONFLICT (id) DO NOTHING")
	return result.RowsAffected > 0, s.dialect.failed("insert a mail", result.Error)
}

// counted returns the emails that count for a notice, oldest first. Until the transaction ends, no
// other one counts for the same business, or the same person's account. So many at once do not all
// find room.
func (s mails) counted(ctx context.Context, n domain.Notice) ([]domain.CountedMail, error) {
	if n.Budget == "" {
		return nil, nil
	}
	condition, values, ok := body(n.BusinessID)
	if !ok {
		return nil, nil // no such business, so no mails
	}
	scope := string(n.BusinessID)
	if n.Budget == domain.BudgetAccount {
		key, err := lookup(domain.PrefixPerson, n.PersonID)
		if err != nil {
			return nil, nil //nolint:nilerr // no such person, so no mails
		}
		scope += string(n.PersonID)
		condition, values = condition+" AND m.budget = 'account' AND m.person_id = ?", append(values, key)
	} else {
		condition += " AND m.budget <> 'account'"
	}
	if s.dialect.locksRows {
		// A separate statement: the next one must see what the others have stored.
		if err := s.with(ctx).Exec("SELECT pg_advisory_xact_lock("+pgMailLock+", hashtext(?))", scope).Error; err != nil {
			return nil, s.dialect.failed("wait for others to count mails", err)
		}
	}
	var rows []struct {
		Kind, Budget, Email string
		PersonID            rowID
		CreatedAt           instant
	}
	err := s.with(ctx).Raw("SELECT m.kind, m.budget, m.person_id, m.created_at, p.email FROM mails m JOIN persons p ON p.id = m.person_id"+
		" WHERE "+condition+" AND m.budget <> '' AND m.created_at > ? ORDER BY m.created_at", append(values, instantOf(n.CountedSince()))...).
		Scan(&rows).Error
	if err != nil {
		return nil, s.dialect.failed("count mails", err)
	}
	past := make([]domain.CountedMail, len(rows))
	for i, r := range rows {
		past[i] = domain.CountedMail{Kind: domain.MailKind(r.Kind), Budget: domain.MailBudget(r.Budget), Email: domain.Email(r.Email),
			PersonID: r.PersonID.as(domain.PrefixPerson), At: r.CreatedAt.time}
	}
	return past, nil
}

func (s mails) recipients(ctx context.Context, n domain.Notice) ([]domain.ID, error) {
	if n.Email != "" || n.PersonID != "" {
		return []domain.ID{n.PersonID}, nil
	}
	key, err := lookup(domain.PrefixBusiness, n.BusinessID)
	if err != nil || len(n.Kind.Roles()) == 0 {
		return nil, nil // no such business, or a kind of mail for no role: no recipients
	}
	var rows []rowID
	err = s.with(ctx).Raw(selectTold, key, n.Kind.Roles()).Scan(&rows).Error
	return all(rows, func(r *rowID) domain.ID { return r.as(domain.PrefixPerson) }), s.dialect.failed("look for those to tell", err)
}

func (s mails) Lease(ctx context.Context, l ports.MailLease) ([]domain.Mail, error) {
	lock := ""
	if s.dialect.locksRows {
		lock = " FOR UPDATE OF m SKIP LOCKED"
	}
	now, busy, served := instantOf(l.Now), s.among(l.Busy), s.among(l.Served)
	// All due emails are ranked before any is left out, so that many of one business delay none of
	// another. The condition is checked again behind the lock: another sender may have leased an
	// email meanwhile.
	var rows []mailRow
	err := s.with(ctx).Raw("WITH due AS (SELECT id, business_id, due_at, CASE kind WHEN 'sign_in_link' THEN 0 ELSE 1 END AS class,"+
		" "+served+" AS served FROM mails WHERE state = 'waiting' AND due_at <= ? AND "+busy+" = 0),"+
		" ranked AS (SELECT id, due_at, class, served, row_number() OVER (PARTITION BY business_id ORDER BY class, due_at, id) AS turn FROM due),"+
		" chosen AS (SELECT m.id FROM mails m JOIN ranked r ON r.id = m.id WHERE r.turn <= ? AND m.state = 'waiting' AND m.due_at <= ?"+
		" ORDER BY r.class, CASE r.class WHEN 0 THEN 0 ELSE r.served END, r.turn, r.due_at, r.id LIMIT ?"+lock+")"+
		" UPDATE mails SET attempts = attempts + 1, due_at = ? WHERE id IN (SELECT id FROM chosen) RETURNING "+mailTable.list(),
		s.dialect.idList(withoutCompany(l.Served)), now, s.dialect.idList(withoutCompany(l.Busy)),
		cmp.Or(l.OfOne, l.Limit), now, l.Limit, instantOf(l.Until)).Scan(&rows).Error
	if err != nil {
		return nil, s.dialect.failed("lease mails", err)
	}
	leased := make([]domain.Mail, len(rows))
	for i := range rows {
		if leased[i], err = rows[i].domain(); err != nil {
			return nil, err
		}
	}
	sort.Slice(leased, func(i, j int) bool {
		return cmp.Or(leased[i].At.Compare(leased[j].At), cmp.Compare(leased[i].ID, leased[j].ID)) < 0
	})
	return leased, nil
}

// among returns SQL that is 1 for an email of one of the businesses, else 0. It takes their idList.
func (s mails) among(businesses []domain.ID) string {
	company := "0"
	if slices.Contains(businesses, "") {
		company = "1"
	}
	return "CASE WHEN business_id IS NULL THEN " + company + " WHEN " + s.dialect.notAmong("business_id") + " THEN 0 ELSE 1 END"
}

// withoutCompany removes the delivery company, which has no ID.
func withoutCompany(all []domain.ID) []domain.ID {
	return slices.DeleteFunc(slices.Clone(all), func(id domain.ID) bool { return id == "" })
}

func (s mails) DropToNobody(ctx context.Context, now time.Time, limit int) (int, error) {
	lock := ""
	if s.dialect.locksRows {
		lock = " FOR UPDATE OF m SKIP LOCKED"
	}
	at := instantOf(now)
	result := s.with(ctx).Exec("UPDATE mails SET state = 'dropped', due_at = ?, settled_at = ?, email = NULL WHERE id IN"+
		" (SELECT m.id FROM mails m WHERE m.state = 'waiting' AND m.due_at <= ? AND m.kind = 'sign_in_link' AND m.email IS NOT NULL"+
		" AND NOT EXISTS (SELECT 1 FROM persons p WHERE p.email = m.email) ORDER BY m.due_at LIMIT ?"+lock+")", at, at, at, limit)
	return int(result.RowsAffected), s.dialect.failed("drop mails to nobody", result.Error)
}

func (s mails) Settle(ctx context.Context, m domain.Mail) error {
	key, err := lookup(domain.PrefixMail, m.ID)
	if err != nil {
		return err
	}
	// The number of the attempt is the lease: each attempt has its own.
	result := s.with(ctx).Exec("UPDATE mails SET state = ?, due_at = ?, settled_at = ?, last_error = ?, email = CASE WHEN ? = 'waiting' "+
		"THEN email END"+
		" WHERE id = ? AND attempts = ? AND state = 'waiting'",
		string(m.State), instantOf(m.DueAt), optionalInstant(m.SettledAt), storableExcerpt.Replace(m.LastError), string(m.State), key, m.Attempts)
	return s.dialect.changed("settle a mail", result)
}

func (s mails) Waiting(ctx context.Context) (int, time.Time, error) {
	var row struct {
		N     int
		Since *instant
	}
	err := s.with(ctx).Raw("SELECT count(*) AS n, min(created_at) AS since FROM mails WHERE state = 'waiting'").Scan(&row).Error
	if err != nil || row.Since == nil {
		return row.N, time.Time{}, s.dialect.failed("count mails that wait", err)
	}
	return row.N, row.Since.time, nil
}

// devices implements ports.DeviceStore.
type devices struct{ session }

func (s devices) Known(ctx context.Context, person domain.ID, digest [32]byte) (bool, error) {
	key, err := lookup(domain.PrefixPerson, person)
	if errors.Is(err, domain.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var n int64
	err = s.with(ctx).Raw("SELECT count(*) FROM person_devices WHERE person_id = ? AND digest = ?", key, digest[:]).Scan(&n).Error
	return n > 0, s.dialect.failed("find a device", err)
}

func (s devices) Seen(ctx context.Context, person domain.ID, digest [32]byte, at time.Time) (known, others bool, err error) {
	key, err := lookup(domain.PrefixPerson, person)
	if err != nil {
		return false, false, err
	}
	result := s.with(ctx).Exec("UPDATE person_devices SET last_seen_at = ? WHERE person_id = ? AND digest = ?", instantOf(at), key, digest[:])
	if result.Error != nil {
		return false, false, s.dialect.failed("keep the use of a device", result.Error)
	}
	known = result.RowsAffected == 1
	var n int64
	err = s.with(ctx).Raw("SELECT count(*) FROM person_devices WHERE person_id = ? AND digest <> ?", key, digest[:]).Scan(&n).Error
	if err == nil && !known {
		err = s.with(ctx).Exec(
			"INSERT INTO person_devices (person_id, digest, created_at, last_seen_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			key, digest[:], instantOf(at), instantOf(at)).Error
	}
	return known, n > 0, s.dialect.failed("keep a device", err)
}

func (s devices) RemoveAll(ctx context.Context, person domain.ID) error {
	return s.removeOf(ctx, person, "person_devices")
}
