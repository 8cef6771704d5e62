package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// MachineryReader tells over all customers and processes how the work stands. Each read is
// bounded; a storage that takes too long answers ErrTookTooLong.
type MachineryReader interface {
	// Endpoints lists those of all customers by their standing and ID, behind a place;
	// nil: from the first one on. Listeners are not listed.
	Endpoints(ctx context.Context, f domain.EndpointFilter, now time.Time, after *domain.EndpointPlace, limit int) ([]domain.EndpointShown,
		error)
	// Endpoint is one of any customer; no listener.
	Endpoint(ctx context.Context, id domain.ID) (domain.WebhookEndpoint, error)
	// Work tells what is to be done: of webhooks for each environment, then of mails and
	// of steps.
	Work(ctx context.Context, now time.Time) ([]domain.Work, error)
	// GivenUpMails lists the mails that were given up, the last ones first.
	GivenUpMails(ctx context.Context, limit int) ([]domain.Mail, error)
	// Processes lists those that have told of themselves since a time, the oldest first.
	Processes(ctx context.Context, since time.Time) ([]domain.Process, error)
}

// MachineryStore repairs.
type MachineryStore interface {
	// RetryMail makes a mail that was given up wait again, due now and for as long as its
	// kind is of use, and returns it. It is domain.ErrNotFound where no mail of the ID was
	// given up, or its recipient is not known any more: of a link that was asked for by an
	// address that address is forgotten.
	RetryMail(ctx context.Context, id domain.ID, now time.Time) (domain.Mail, error)
	// DropMail takes a mail that was given up off the list.
	DropMail(ctx context.Context, id domain.ID) (domain.Mail, error)
}

// SharedQueue is what the notifications of several processes go through.
type SharedQueue interface {
	// State is Redis with the queue of each kind of job. It answers within the time of ctx.
	State(ctx context.Context) (domain.QueueState, error)
	// Dead lists the tasks of all kinds of jobs that were given up.
	Dead(ctx context.Context, limit int) ([]domain.DeadTask, error)
	// Retry makes such a task pending again, and Drop deletes it: domain.ErrNotFound
	// where it is gone.
	Retry(ctx context.Context, job, id string) error
	Drop(ctx context.Context, job, id string) error
}
