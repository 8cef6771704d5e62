package monitoring

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// readFor is how long a part may take to be read.
const readFor = 2500 * time.Millisecond

// mostDead is how much of what was given up is shown of a kind.
const mostDead = 50

// Overview is the state of what works by itself. Each part has an error of its own.
type Overview struct {
	At        time.Time // when it was read
	Work      Part[[]domain.Work]
	Pauses    Part[[]domain.SendingPause]
	Mails     Part[[]domain.Mail]      // given up
	Dead      Part[[]domain.DeadTask]  // of the queue; none where no Redis is shared
	Queue     Part[*domain.QueueState] // nil: this installation has no queue that processes share
	Processes Part[[]domain.Process]
	Database  Part[domain.DatabaseState]
	FeedLag   Part[time.Duration]
}

// Part is what was read, or why it was not.
type Part[T any] struct {
	Value T
	Err   error
}

// Overview reads all parts at once, and gives what was read less than keepFor ago to all
// who ask meanwhile. It answers within 3 s, whatever does not answer it.
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

// part reads one within its time, and gives it up then even where it does not end.
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

// RetryMail makes a mail that was given up be sent again.
func (m *Machinery) RetryMail(ctx context.Context, by domain.AuditActor, id domain.ID) error {
	now := m.clock.Now()
	return m.ofMail(ctx, by, domain.ActionMailRetry, func(tx ports.Stores) (domain.Mail, error) {
		return tx.Machinery.RetryMail(ctx, id, now)
	})
}

// DropMail takes a mail that was given up off the list.
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

// RetryTask makes a task that its queue gave up be done again.
func (m *Machinery) RetryTask(ctx context.Context, by domain.AuditActor, job, id string) error {
	return m.ofTask(ctx, by, domain.ActionTaskRetry, job, id, func(ctx context.Context) error { return m.queue.Retry(ctx, job, id) })
}

// DropTask deletes such a task. What it was for is in the storage, and is found there.
func (m *Machinery) DropTask(ctx context.Context, by domain.AuditActor, job, id string) error {
	return m.ofTask(ctx, by, domain.ActionTaskDrop, job, id, func(ctx context.Context) error { return m.queue.Drop(ctx, job, id) })
}

// ofTask changes the queue within the transaction of the audit record: of a change that is
// not kept there all that is lost is a notification, which the storage repeats.
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
