package main

import (
	"context"
	"log/slog"

	"waybill/adapters/cli/settings"
	"waybill/application/webhooks"
	"waybill/configs"
)

// secretKey checks the key of signing secrets at the start of a process.
type secretKey struct {
	use    *webhooks.SecretKey
	config *configs.Config
	log    *slog.Logger
}

// confirm refuses a key that cannot open the stored secrets. Its error names the setting, never
// the key.
func (k *secretKey) confirm(ctx context.Context) error {
	return settings.SecretKeyRefused(k.use.Confirm(ctx), k.config)
}

// adopt makes the database accept the key, like adoptPepper.
func (k *secretKey) adopt(ctx context.Context) error {
	replaced, err := k.use.Adopt(ctx)
	if err == nil && replaced {
		k.log.Warn("database", "warning", "WAYBILL_SECRET_KEY is another one than before: webhooks to an endpoint wait until its secret is "+
			"rotated, and waybill serve with the old one will not start")
	}
	return err
}

// rotates reports whether the key is being rotated.
func (k *secretKey) rotates() bool { return len(k.config.SecretKeyPrevious) > 0 }
