package redis

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.FanoutNews = (*Fanouts)(nil)

// Many events a second send announcements, so a failed one is not logged as a warning.
var fanouts = subject{
	channel:       "waybill:fanouts",
	unannounced:   "a fan-out was not announced: listeners at other processes find it a second later",
	unannouncedAt: slog.LevelDebug,
	names:         "endpoints",
	lost:          "fan-outs of other processes are not heard until Redis answers again: webhook listeners look once a second",
	heard:         "fan-outs of other processes are heard from Redis again",
}

// Fanouts sends notifications of webhook fan-outs between processes, many endpoints in a
// message. Messages missed during a lost connection are not repeated: listeners also poll.
type Fanouts struct {
	on    *Invalidations
	quiet atomic.Pointer[time.Time] // until then: no process received the last message
}

// silence is how long announcements pause after one that no process received. A listener that
// starts in between polls at least as often.
const silence = time.Second

// NewFanouts needs the same client as NewInvalidations.
func NewFanouts(client *redis.Client, log *slog.Logger) *Fanouts {
	return &Fanouts{on: about(fanouts, client, log)}
}

// Announce notifies every process that listens.
func (f *Fanouts) Announce(ctx context.Context, endpoints []domain.ID) {
	if until := f.quiet.Load(); until != nil && time.Now().Before(*until) {
		return
	}
	var all strings.Builder
	for i, id := range endpoints {
		if i > 0 {
			all.WriteByte(',')
		}
		all.WriteString(string(id))
	}
	if f.on.announce(ctx, all.String()) == 0 {
		until := time.Now().Add(silence)
		f.quiet.Store(&until)
	}
}

// Listen calls heard for each message, one call at a time, until ctx ends.
func (f *Fanouts) Listen(ctx context.Context, heard ports.FanoutListener) {
	f.on.Listen(ctx, func(all domain.ID) {
		var endpoints []domain.ID
		for id := range strings.SplitSeq(string(all), ",") {
			endpoints = append(endpoints, domain.ID(id))
		}
		heard(endpoints)
	})
}
