package periodic

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

const (
	mailEvery = 2 * time.Second
	// mailLimit ends the search for due mails; the sending has limits of its own.
	mailLimit = 10 * time.Second
	warnEvery = time.Hour
	warnLimit = 5 * time.Minute
)

// sender sends what is due.
type sender interface {
	Send(ctx context.Context) error
}

// Mails sends mails that are due. A mail server that does not answer is no failure of
// the job: it is logged with each mail, and metrics tell.
func Mails(s sender) Job {
	return Job{Name: "mails", Every: mailEvery, Limit: mailLimit, Level: slog.LevelWarn, AtOnce: true,
		Do: func(ctx context.Context) (time.Duration, error) { return 0, s.Send(ctx) }}
}

// watch tells people of what is to come.
type watch interface {
	TellExpiring(ctx context.Context) error
	TellFailing(ctx context.Context) error
}

// Warnings has people told of keys that expire soon, and of webhook endpoints that will
// be disabled because they fail.
func Warnings(w watch) Job {
	return Job{Name: "warnings", Every: warnEvery, Limit: warnLimit, Level: slog.LevelWarn, AtOnce: true,
		Do: func(ctx context.Context) (time.Duration, error) {
			return 0, errors.Join(w.TellExpiring(ctx), w.TellFailing(ctx))
		}}
}
