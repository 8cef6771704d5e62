// Package audit is how operators change something: in one transaction with the
// row of the audit log that tells who did what. No use case of theirs begins a
// transaction in any other way, so that none can forget the row.
//
// The operator is a parameter and not a value of the context: to leave it out
// does not compile. What is refused, and what turns out to change nothing,
// leaves no row. Customers' own calls are not kept here: their deliveries have
// timelines, and their requests are logged.
package audit

import (
	"context"

	"waybill/domain"
	"waybill/ports"
)

// Log runs the changes of operators and keeps them.
type Log struct {
	storage ports.Storage
	clock   ports.Clock
	ids     ports.Identifiers
}

// New makes the log of a storage.
func New(s ports.Storage, c ports.Clock, ids ports.Identifiers) *Log {
	return &Log{storage: s, clock: c, ids: ids}
}

// Change runs fn in one transaction and keeps the deed that it returns as the
// operator's, unless that is the zero one. As with Storage.InTx, fn may run
// several times; the deed of the last run counts.
func (l *Log) Change(ctx context.Context, by domain.Operator, fn func(ctx context.Context, tx ports.Stores) (domain.Deed, error)) error {
	return l.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		deed, err := fn(ctx, tx)
		if err != nil || deed.Action == "" {
			return err
		}
		return tx.Audit.Append(ctx, domain.AuditEntry{
			ID: l.ids.ID(domain.PrefixAuditEntry), At: l.clock.Now(), Operator: by, Deed: deed,
		})
	})
}

// Entries returns up to Limit+1 entries, newest first.
func (l *Log) Entries(ctx context.Context, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry, error) {
	return l.storage.Read().Audit.List(ctx, f, p)
}
