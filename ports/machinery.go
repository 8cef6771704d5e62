package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// MachineryReader reads the state of background work over all customers and processes. Each read is
// limited. A storage that takes too long returns ErrTookTooLong.
type MachineryReader interface {
	// Endpoints lists the endpoints of all customers by their standing and ID, after a place; nil
	// means from the first one on. Listeners are not listed.
	Endpoints(ctx context.Context, f domain.EndpointFilter, now time.Time, after *domain.EndpointPlace, limit int) ([]domain.EndpointShown,
		error)
	// Endpoint returns one endpoint of any customer, but no listener.
	Endpoint(ctx context.Context, id domain.ID) (domain.WebhookEndpoint, error)
	// Work lists the background work: webhooks of each environment, then mails, then simulation
	// steps.
	Work(ctx context.Context, now time.Time) ([]domain.Work, error)
	// GivenUpMails lists the mails that were given up, the last ones first.
	GivenUpMails(ctx context.Context, limit int) ([]domain.Mail, error)
	// Processes lists the processes that have reported since a time, the oldest first.
	Processes(ctx context.Context, since time.Time) ([]domain.Process, error)
}

// MachineryStore retries and drops mails that were given up.
type MachineryStore interface {
	// RetryMail makes a mail that was given up pending again, due now and for the useful time of
	// its kind, and returns it. It returns domain.ErrNotFound where no mail of the ID was given up,
	// or where its recipient is no longer known: the address that asked for a link is not kept.
	RetryMail(ctx context.Context, id domain.ID, now time.Time) (domain.Mail, error)
	// DropMail removes a mail that was given up from the list.
	DropMail(ctx context.Context, id domain.ID) (domain.Mail, error)
}

// SharedQueue shows the queue for the notifications of several processes.
type SharedQueue interface {
	// State returns the state of Redis and of the queue of each kind of job. It ends with ctx.
	State(ctx context.Context) (domain.QueueState, error)
	// Dead lists the tasks of all kinds of jobs that were given up.
	Dead(ctx context.Context, limit int) ([]domain.DeadTask, error)
	// Retry makes such a task pending again, and Drop deletes it. Both return domain.ErrNotFound
	// where it is gone.
	Retry(ctx context.Context, job, id string) error
	Drop(ctx context.Context, job, id string) error
}
