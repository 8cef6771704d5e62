// Package audit changes something for operators, persons and commands: in one transaction with the
// row of the audit log that names the actor and the action. Their use cases begin a transaction in
// no other way, so that none can forget the row.
//
// The actor is a parameter and not a value of the context: leaving it out does not compile. A
// person acts on behalf of one business. A change of anything else is rolled back and returns
// domain.ErrNotFound. So a page that forgets to check the owner of a record changes nothing of
// another customer. The transaction first checks the session and role of a person again: whoever
// lost them after the request was admitted changes nothing.
//
// A refused action, and one that changes nothing, leaves no row. But people.Refusals stores refused
// attempts of persons, joined, since anybody can fail and the log is kept forever. Some changes also send mails, in the same transaction: domain.AuditNotice says
// which. Customers' own calls are not in the log: their deliveries have timelines, and their
// requests are logged.
package audit

import (
	"context"
	"errors"

	"waybill/domain"
	"waybill/ports"
)

// Log runs changes and writes them to the audit log.
type Log struct {
	storage ports.Storage
	clock   ports.Clock
	ids     ports.Identifiers
}

// New returns the log of a storage.
func New(s ports.Storage, c ports.Clock, ids ports.Identifiers) *Log {
	return &Log{storage: s, clock: c, ids: ids}
}

// Change runs fn in one transaction and stores the record that it returns as the actor's, unless
// that is the zero one. As with Storage.InTx, fn may run several times; the record of the last run
// counts.
func (l *Log) Change(ctx context.Context, by domain.AuditActor, fn func(ctx context.Context, tx ports.Stores) (domain.AuditRecord,
	error)) error {
	return l.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		if err := l.stillMay(ctx, tx, by); err != nil {
			return err
		}
		record, err := fn(ctx, tx)
		if err != nil || record.Action == "" {
			return err
		}
		if by.BusinessID != "" && record.BusinessID != by.BusinessID {
			return domain.ErrNotFound
		}
		entry := domain.AuditEntry{ID: l.ids.ID(domain.PrefixAuditEntry), At: l.clock.Now(), Actor: by, AuditRecord: record}
		if err := tx.Audit.Append(ctx, entry); err != nil {
			return err
		}
		if notice, told := domain.AuditNotice(entry); told {
			return tx.Mails.Tell(ctx, notice)
		}
		return nil
	})
}

// stillMay returns SESSION_ENDED where the session of the actor has ended, shows another business or
// has another role since the request was admitted.
func (l *Log) stillMay(ctx context.Context, tx ports.Stores, by domain.AuditActor) error {
	if by.Session == "" {
		return nil
	}
	now, err := tx.Sessions.Get(ctx, by.Session)
	if errors.Is(err, domain.ErrNotFound) ||
		err == nil && (!now.Session.Live(l.clock.Now()) || now.Session.BusinessID != by.BusinessID || now.Role != by.Role) {
		return domain.SessionEnded()
	}
	return err
}

// Entries returns up to Limit+1 entries, newest first.
func (l *Log) Entries(ctx context.Context, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry, error) {
	return l.storage.Read().Audit.List(ctx, f, p)
}

// EntriesOfBusiness lists the entries of one business only, as Entries does.
func (l *Log) EntriesOfBusiness(ctx context.Context, business domain.ID, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry,
	error) {
	return l.storage.Read().Audit.ListOfBusiness(ctx, business, f, p)
}
