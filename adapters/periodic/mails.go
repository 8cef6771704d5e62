package periodic

import (
	"context"
	"log/slog"
	"time"
)

const (
	mailEvery = 2 * time.Second
	// mailLimit ends the search for due mails; the sending has limits of its own.
	mailLimit     = 10 * time.Second
	expiringEvery = time.Hour
	expiringLimit = 5 * time.Minute
)

// sender sends some of what is due.
type sender interface {
	Send(ctx context.Context) (more bool, err error)
}

// Mails sends mails that are due. A mail server that does not answer is no failure of
// the job: it is logged with each mail, and metrics tell.
func Mails(s sender) Job {
	return Job{Name: "mails", Every: mailEvery, Limit: mailLimit, Level: slog.LevelWarn, AtOnce: true,
		Do: func(ctx context.Context) (time.Duration, error) {
			more, err := s.Send(ctx)
			if more && err == nil {
				return 1, nil
			}
			return 0, err
		}}
}

// watch tells people of keys that expire soon.
type watch interface {
	TellExpiring(ctx context.Context) error
}

// ExpiringKeys has people told of keys that expire soon.
func ExpiringKeys(w watch) Job {
	return Job{Name: "expiring_keys", Every: expiringEvery, Limit: expiringLimit, Level: slog.LevelWarn, AtOnce: true,
		Do: func(ctx context.Context) (time.Duration, error) {
			return 0, w.TellExpiring(ctx)
		}}
}
