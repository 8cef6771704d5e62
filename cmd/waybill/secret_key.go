package main

import (
	"context"
	"log/slog"
	"time"

	"waybill/adapters/cli/settings"
	"waybill/adapters/periodic"
	"waybill/application/webhooks"
	"waybill/configs"
)

// resealEvery is how often what is sealed under a previous key is looked for: a
// process that still has it as its key may seal under it until it ends.
const resealEvery = time.Hour

// resealLimit is for as many endpoints as there may be; what is left comes with
// the next run.
const resealLimit = 30 * time.Minute

// secretKey is what a process does about the key of signing secrets.
type secretKey struct {
	use    *webhooks.SecretKey
	config *configs.Config
	log    *slog.Logger
}

// confirm refuses a key by which nothing that is stored can be opened. It tells
// where the key is set, never the key.
func (k *secretKey) confirm(ctx context.Context) error {
	return settings.SecretKeyRefused(k.use.Confirm(ctx), k.config)
}

// adopt takes the database over, as adoptPepper does.
func (k *secretKey) adopt(ctx context.Context) error {
	replaced, err := k.use.Adopt(ctx)
	if err == nil && replaced {
		k.log.Warn("database", "warning", "WAYBILL_SECRET_KEY is another one than before: webhooks to an endpoint wait until its secret is rotated, and waybill serve with the old one will not start")
	}
	return err
}

// rotates reports whether the key is being changed.
func (k *secretKey) rotates() bool { return len(k.config.SecretKeyPrevious) > 0 }

// resealing seals anew what is under a previous key. Any number of processes may
// do it.
func (k *secretKey) resealing() periodic.Job {
	return periodic.Job{Name: "resealing", Every: resealEvery, Limit: resealLimit, Level: slog.LevelWarn, AtOnce: true, Do: func(ctx context.Context) (time.Duration, error) {
		if !k.rotates() {
			return 0, nil
		}
		resealed, err := k.use.Reseal(ctx)
		if resealed > 0 {
			k.log.Info("signing secrets were sealed anew, under WAYBILL_SECRET_KEY", "resealed", resealed)
		}
		return 0, err
	}}
}
