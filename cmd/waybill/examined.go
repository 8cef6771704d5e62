package main

import (
	"context"
	"log/slog"

	"waybill/adapters/cli/doctor"
	"waybill/adapters/cli/settings"
	"waybill/adapters/clock"
	"waybill/adapters/memory"
	"waybill/adapters/redis"
	"waybill/application/access"
	"waybill/application/webhooks"
	"waybill/configs"
	"waybill/domain"
	"waybill/ports"
)

// doctor returns the command that checks what a start with the settings would open.
func (p *commands) doctor() *doctor.Commands {
	return &doctor.Commands{CommandLine: p.CommandLine, Instruments: doctor.Instruments{
		Database: func(ctx context.Context, c *configs.Config) (doctor.Database, func(), error) {
			return newDatabase(ctx, c, slog.New(slog.DiscardHandler))
		},
		Replicas: func(ctx context.Context, c *configs.Config) ([]domain.ReplicaState, error) {
			open, closeAll, err := openBy(ctx, c, slog.New(slog.DiscardHandler), storageOf(c).opened)
			if err != nil {
				return nil, err
			}
			defer closeAll()
			all, _ := open.background.Replicas()
			return all, nil
		},
		Secrets: func(s ports.Storage, c *configs.Config) (*access.Tenants, *webhooks.SecretKey, error) {
			digest, err := newKeyDigester(c)
			if err != nil {
				return nil, nil, err
			}
			sealer, err := newSealer(c)
			if err != nil {
				return nil, nil, err
			}
			clock := clock.NewSystem()
			return access.NewTenants(s, digest, clock, newIdentifiers(clock), memory.NewInvalidations()), webhooks.NewSecretKey(s, sealer), nil
		},
		Redis: func(c *configs.Config) (doctor.Redis, func(), error) {
			client, closeClient, err := redisOf(c, openRedis)
			return redis.Probe{Client: client}, closeClient, err
		},
		Pricing: func(c *configs.Config) (ports.Pricing, error) {
			area, err := newServiceArea(c)
			if err != nil {
				return nil, err
			}
			return choosePricing(c, nil, area)
		},
		Mailer: func(c *configs.Config) ports.Mailer { return newMailer(c, slog.New(slog.DiscardHandler)) },
		Identity: func(c *configs.Config) doctor.IdentityProvider {
			return newIdentityProvider(c, settings.PublicURLsOf(c, "", "").Console, clock.NewSystem())
		},
		Streets: newStreets,
		Roads:   func(c *configs.Config) (doctor.RoutingEngine, func(), error) { return newRoutingEngine(c) },
	}}
}
