package gormstore

import (
	"cmp"
	"context"
	"sort"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var mailTable = newTable(mailRow{})

// mails is ports.MailStore and ports.MailOutbox.
type mails struct{ session }

// Mails is the outbox of mails.
func (s *Store) Mails() ports.MailOutbox {
	return mails{session{db: s.write, dialect: s.dialect}}
}

const selectTold = "SELECT p.id FROM memberships m JOIN persons p ON p.id = m.person_id" +
	" WHERE m.business_id = ? AND m.role IN ? AND m.accepted_at IS NOT NULL AND p.state = 'active' ORDER BY p.id"

func (s mails) Tell(ctx context.Context, n domain.Notice) error {
	recipients, err := s.recipients(ctx, n)
	if err != nil {
		return err
	}
	for _, person := range recipients {
		row, err := newMailRow(domain.MailTo(n, person))
		if err != nil {
			return err
		}
		if err := mailTable.insertInto(ctx, s.with(ctx), row, " ON CONFLICT (id) DO NOTHING").Error; err != nil {
			return s.dialect.failed("insert a mail", err)
		}
	}
	return nil
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

func (s mails) Lease(ctx context.Context, now, until time.Time, limit int) ([]domain.Mail, error) {
	lock := ""
	if s.dialect.locksRows {
		lock = " FOR UPDATE SKIP LOCKED"
	}
	var rows []mailRow
	err := s.with(ctx).Raw("WITH due AS (SELECT id FROM mails WHERE state = 'waiting' AND due_at <= ? ORDER BY due_at, id LIMIT ?"+lock+")"+
		" UPDATE mails SET attempts = attempts + 1, due_at = ? WHERE id IN (SELECT id FROM due) RETURNING "+mailTable.list(),
		instantOf(now), limit, instantOf(until)).Scan(&rows).Error
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

// devices is ports.DeviceStore.
type devices struct{ session }

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
