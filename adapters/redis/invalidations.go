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
	// reconnectPause is between two attempts to subscribe.
	reconnectPause = 500 * time.Millisecond
	// pingAfter is how long a connection may be silent before it is asked, and
	// then before it is given up.
	pingAfter = 5 * time.Second
)

// subject is what a channel is about, and what the log says of its troubles.
type subject struct {
	channel                  string
	unannounced, lost, heard string
	unannouncedAt            slog.Level
	names                    string // what an announcement does, as a key of the log
}

var keys = subject{
	channel:       "waybill:invalidations",
	unannounced:   "a change of keys was not announced: other processes go on with what they remember, for two seconds at most",
	unannouncedAt: slog.LevelWarn,
	names:         "application_id",
	lost:          "changes of keys are not heard until Redis answers again: what is remembered is up to two seconds old",
	heard:         "changes of keys are heard from Redis again",
}

// Invalidations announces and listens on one Redis.
type Invalidations struct {
	subject
	client          *redis.Client
	log             *slog.Logger
	announceTimeout time.Duration
	pingAfter       time.Duration
	gone            atomic.Bool // as the log has it
}

// New needs a client that obeys the deadlines of contexts. It connects to
// nothing yet.
func NewInvalidations(client *redis.Client, log *slog.Logger) *Invalidations {
	return about(keys, client, log)
}

func about(s subject, client *redis.Client, log *slog.Logger) *Invalidations {
	return &Invalidations{subject: s, client: client, log: log, announceTimeout: announceTimeout, pingAfter: pingAfter}
}

// Announce tells every process that is connected.
func (p *Invalidations) Announce(ctx context.Context, application domain.ID) {
	p.announce(ctx, string(application))
}

// announce returns how many processes were told.
func (p *Invalidations) announce(ctx context.Context, what string) (processes int64) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.announceTimeout)
	defer cancel()
	processes, err := p.client.Publish(bounded, p.channel, what).Result()
	if err != nil {
		p.log.Log(ctx, p.unannouncedAt, p.unannounced, p.names, what, "error", err)
	}
	return processes
}

// Listen calls forget, one call at a time, until ctx ends. While Redis is gone
// it tries to connect again and again; that it went, and that it is back, is
// logged once each, also where one call heard that it went and the next that it is back.
func (p *Invalidations) Listen(ctx context.Context, forget func(application domain.ID)) {
	for {
		tell := func(application string) {
			if p.gone.Swap(false) {
				p.log.Info(p.subject.heard)
			}
			forget(domain.ID(application))
		}
		connected := func() { tell("") }
		err := hearChannel(ctx, p.client, p.channel, p.pingAfter, connected, tell)
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
