package monitoring

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// readFor limits how long reading a part may take.
const readFor = 2500 * time.Millisecond

// mostDead limits the shown given-up tasks of a kind.
const mostDead = 50

// Overview is the state of the background work. Each part has its own error.
type Overview struct {
	At        time.Time // when it was read
	Work      Part[[]domain.Work]
	Pauses    Part[[]domain.SendingPause]
	Mails     Part[[]domain.Mail]      // given up
	Dead      Part[[]domain.DeadTask]  // of the queue; none where no Redis is shared
	Queue     Part[*domain.QueueState] // nil: this installation has no shared queue
	Processes Part[[]domain.Process]
	Database  Part[domain.DatabaseState]
	FeedLag   Part[time.Duration]
}

// Part is a result, or the error of reading it.
type Part[T any] struct {
	Value T
	Err   error
}

// Overview reads all parts at once, and returns results of less than keepFor ago to concurrent
// callers. It returns within 3 s, whatever does not respond.
func (m *Machinery) Overview(ctx context.Context) *Overview { return m.overview.get(ctx) }

func (m *Machinery) look(ctx context.Context) *Overview {
	now := m.clock.Now()
	o := &Overview{At: now}
	read := m.storage.Read()
	together(
		part(ctx, &o.Work, func(ctx context.Context) ([]domain.Work, error) { return read.Machinery.Work(ctx, now) }),
		part(ctx, &o.Pauses, read.Sending.Pauses),
		part(ctx, &o.Mails, func(ctx context.Context) ([]domain.Mail, error) { return read.Machinery.GivenUpMails(ctx, mostDead) }),
		part(ctx, &o.Processes, func(ctx context.Context) ([]domain.Process, error) {
			return read.Machinery.Processes(ctx, now.Add(-time.Hour))
		}),
		part(ctx, &o.Database, m.database.State),
		part(ctx, &o.FeedLag, m.upkeep.FeedLag),
		part(ctx, &o.Queue, func(ctx context.Context) (*domain.QueueState, error) {
			if m.queue == nil {
				return nil, nil
			}
			state, err := m.queue.State(ctx)
			return &state, err
		}),
		part(ctx, &o.Dead, func(ctx context.Context) ([]domain.DeadTask, error) {
			if m.queue == nil {
				return nil, nil
			}
			return m.queue.Dead(ctx, mostDead)
		}),
	)
	return o
}

// part reads one part within its time, and gives up then even where the read does not end.
func part[T any](ctx context.Context, into *Part[T], read func(context.Context) (T, error)) func() {
	return func() {
		ctx, cancel := context.WithTimeout(ctx, readFor)
		defer cancel()
		came := make(chan Part[T], 1)
		go func() {
			var p Part[T]
			p.Err = domain.Safely(func() (err error) {
				p.Value, err = read(ctx)
				return err
			})
			came <- p
		}()
		select {
		case *into = <-came:
		case <-ctx.Done():
			into.Err = ports.ErrTookTooLong
		}
	}
}

// RetryMail sends a mail again that was given up.
func (m *Machinery) RetryMail(ctx context.Context, by domain.AuditActor, id domain.ID) error {
	now := m.clock.Now()
	return m.ofMail(ctx, by, domain.ActionMailRetry, func(tx ports.Stores) (domain.Mail, error) {
		return tx.Machinery.RetryMail(ctx, id, now)
	})
}

// DropMail removes a mail that was given up from the list.
func (m *Machinery) DropMail(ctx context.Context, by domain.AuditActor, id domain.ID) error {
	return m.ofMail(ctx, by, domain.ActionMailDrop, func(tx ports.Stores) (domain.Mail, error) {
		return tx.Machinery.DropMail(ctx, id)
	})
}

func (m *Machinery) ofMail(ctx context.Context, by domain.AuditActor, a domain.Action,
	change func(ports.Stores) (domain.Mail, error)) error {
	defer m.overview.forget()
	return m.log.Change(ctx, by, func(_ context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		mail, err := change(tx)
		return domain.AuditRecord{Action: a, Target: mail.ID, BusinessID: mail.BusinessID,
			Details: map[string]string{"kind": string(mail.Kind)}}, err
	})
}

// RetryTask runs a task again that its queue gave up.
func (m *Machinery) RetryTask(ctx context.Context, by domain.AuditActor, job, id string) error {
	return m.ofTask(ctx, by, domain.ActionTaskRetry, job, id, func(ctx context.Context) error { return m.queue.Retry(ctx, job, id) })
}

// DropTask deletes such a task. Its job is in the storage, and is found there.
func (m *Machinery) DropTask(ctx context.Context, by domain.AuditActor, job, id string) error {
	return m.ofTask(ctx, by, domain.ActionTaskDrop, job, id, func(ctx context.Context) error { return m.queue.Drop(ctx, job, id) })
}

// ofTask changes the queue within the transaction of the audit record. If that is not committed,
// only a notification is lost, which the storage repeats.
func (m *Machinery) ofTask(ctx context.Context, by domain.AuditActor, a domain.Action, job, id string,
	change func(context.Context) error) error {
	if m.queue == nil {
		return domain.ErrNotFound
	}
	defer m.overview.forget()
	return m.log.Change(ctx, by, func(ctx context.Context, _ ports.Stores) (domain.AuditRecord, error) {
		return domain.AuditRecord{Action: a, Target: domain.ID(id), Details: map[string]string{"job": job}}, change(ctx)
	})
}
