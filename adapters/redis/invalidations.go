package redis

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Invalidations = (*Invalidations)(nil)

const (
	announceTimeout = 100 * time.Millisecond
	// reconnectPause is the pause between two attempts to subscribe.
	reconnectPause = 500 * time.Millisecond
	// pingAfter is how long a connection may be silent before a ping, and again before it is
	// closed.
	pingAfter = 5 * time.Second
)

// subject names a channel, its log messages and their levels.
type subject struct {
	channel                  string
	unannounced, lost, heard string
	unannouncedAt            slog.Level
	names                    string // the log key of the announced value
}

var keys = subject{
	channel:       "waybill:invalidations",
	unannounced:   "a change of keys was not announced: other processes go on with what they remember, for two seconds at most",
	unannouncedAt: slog.LevelWarn,
	names:         "application_id",
	lost:          "changes of keys are not heard until Redis answers again: what is remembered is up to two seconds old",
	heard:         "changes of keys are heard from Redis again",
}

// Invalidations sends and receives cache invalidations over one Redis.
type Invalidations struct {
	subject
	client          *redis.Client
	log             *slog.Logger
	announceTimeout time.Duration
	pingAfter       time.Duration
	gone            atomic.Bool // as logged last
}

// NewInvalidations needs a client that keeps the deadlines of contexts. It does not connect
// yet.
func NewInvalidations(client *redis.Client, log *slog.Logger) *Invalidations {
	return about(keys, client, log)
}

func about(s subject, client *redis.Client, log *slog.Logger) *Invalidations {
	return &Invalidations{subject: s, client: client, log: log, announceTimeout: announceTimeout, pingAfter: pingAfter}
}

// Announce sends an invalidation to every connected process.
func (p *Invalidations) Announce(ctx context.Context, application domain.ID) {
	p.announce(ctx, string(application))
}

// announce sends a message and returns how many processes received it.
func (p *Invalidations) announce(ctx context.Context, what string) (processes int64) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.announceTimeout)
	defer cancel()
	processes, err := p.client.Publish(bounded, p.channel, what).Result()
	if err != nil {
		p.log.Log(ctx, p.unannouncedAt, p.unannounced, p.names, what, "error", err)
	}
	return processes
}

// Listen calls forget for each invalidation, one call at a time, until ctx ends. While Redis is
// gone it retries the connection. It logs once that the connection was lost and once that it is
// back, even across several calls.
func (p *Invalidations) Listen(ctx context.Context, forget func(application domain.ID)) {
	for {
		received := func(application string) {
			if p.gone.Swap(false) {
				p.log.Info(p.subject.heard)
			}
			forget(domain.ID(application))
		}
		connected := func() { received("") }
		err := hearChannel(ctx, p.client, p.channel, p.pingAfter, connected, received)
		if ctx.Err() != nil {
			return
		}
		if !p.gone.Swap(true) {
			p.log.Warn(p.lost, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(reconnectPause):
		}
	}
}
