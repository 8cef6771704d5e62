package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/application/tenancy"
	"waybill/configs"
	"waybill/domain"
	"waybill/ports"
)

// pepperRefused puts the refusals of a pepper in the form of a start that fails,
// and leaves any other error alone. It tells where the pepper is set, never the
// pepper.
func pepperRefused(err error, c *configs.Config) error {
	switch {
	case domain.HasCode(err, domain.CodeKeyPepperMismatch):
		what := "WAYBILL_KEY_PEPPER is not the one this database's keys were made with"
		if len(c.KeyPepperPrevious) > 0 {
			what += ", nor is any of WAYBILL_KEY_PEPPER_PREVIOUS"
		}
		return &startError{
			what:    what,
			usedFor: "API keys, which are all refused under another one (now from " + c.Source("key_pepper") + ")",
			fix: "set it to that one, or to change it add that one to WAYBILL_KEY_PEPPER_PREVIOUS; where it is lost, " +
				"delete the rows of the table key_pepper and make every key anew",
		}
	case domain.HasCode(err, domain.CodeKeyPepperInUse):
		return &startError{
			what:    message(err),
			usedFor: "API keys and operator tokens, which would be refused without it",
			fix:     "put it back into WAYBILL_KEY_PEPPER_PREVIOUS until they have been used, or revoke them: waybill key list --old-pepper",
		}
	}
	return err
}

// left is what a change of the pepper still waits for.
type left struct {
	keys, tokens int
	lastUsedAt   *time.Time
}

func summed(uses []domain.PepperUse) (l left) {
	for _, u := range uses {
		l.keys, l.tokens = l.keys+u.Keys, l.tokens+u.Tokens
		if u.LastUsedAt != nil && (l.lastUsedAt == nil || u.LastUsedAt.After(*l.lastUsedAt)) {
			l.lastUsedAt = u.LastUsedAt
		}
	}
	return l
}

// pepperChange tells how far a change of the pepper has come.
func (d *diagnosis) pepperChange(ctx context.Context, tenants *tenancy.Tenants) {
	const check = "key pepper"
	uses, err := tenants.OldPeppers(ctx)
	if err != nil {
		d.failed(check, err)
		return
	}
	l := summed(uses)
	switch {
	case l.keys+l.tokens > 0:
		used := "never used"
		if l.lastUsedAt != nil {
			used = "last used at " + domain.FormatTime(*l.lastUsedAt)
		}
		d.warn(check, counted(l.keys, "API key")+" and "+counted(l.tokens, "operator token")+" are still under a previous pepper, "+used,
			"leave WAYBILL_KEY_PEPPER_PREVIOUS as it is: each moves within about a minute of its next use; revoke what is not used any more, waybill key list --old-pepper lists the keys")
	case len(d.c.KeyPepperPrevious) > 0:
		changed, err := tenants.PepperChanged(ctx)
		switch {
		case err != nil:
			d.failed(check, err)
		case changed:
			d.ok(check, "no API key and no operator token is left under WAYBILL_KEY_PEPPER_PREVIOUS; cursors are not counted, so leave it until 30 days after the last process got the new one")
		default:
			d.ok(check, "the pepper of the database is still the same: no process has begun with another; leave WAYBILL_KEY_PEPPER_PREVIOUS as it is and go on with the change (waybill config --docs)")
		}
	default:
		d.ok(check, "all keys are under WAYBILL_KEY_PEPPER")
	}
}

// registerPepper shows how far a change of the pepper has come, while there is one.
func registerPepper(s ports.Storage, clock ports.Clock, c *configs.Config, r prometheus.Registerer, log *slog.Logger) {
	if len(c.KeyPepperPrevious) == 0 {
		return
	}
	gauge := func(name, help string, labels prometheus.Labels, value func(left) float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
			defer cancel()
			uses, err := s.Read().Tenancy.OldPeppers(ctx, clock.Now())
			if err != nil {
				log.Debug("keys under previous peppers not counted", "metric", name, "error", err)
				return -1
			}
			return value(summed(uses))
		}))
	}
	const name, help = "waybill_old_pepper_keys", "API keys and operator tokens that are still under a previous pepper; -1: not known."
	gauge(name, help, prometheus.Labels{"kind": "api_key"}, func(l left) float64 { return float64(l.keys) })
	gauge(name, help, prometheus.Labels{"kind": "operator_token"}, func(l left) float64 { return float64(l.tokens) })
	gauge("waybill_old_pepper_last_used_timestamp_seconds", "When a key under a previous pepper was used last; 0: none, -1: not known.", nil, func(l left) float64 {
		if l.lastUsedAt == nil {
			return 0
		}
		return float64(l.lastUsedAt.Unix())
	})
}
