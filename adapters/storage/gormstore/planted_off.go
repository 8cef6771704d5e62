//go:build !plantedbugs

package gormstore

import (
	"context"

	"waybill/ports"
)

// plantedBug is no bug: the tag plantedbugs, which only tests build with, puts
// some in place of Book.
func (s *Store) plantedBug(ports.BookingWrite, deliveryRow) func(context.Context) error { return nil }

// plantedUnfenced lets whoever has lost the lease of a bulk go on.
func plantedUnfenced() bool { return false }

// These are where the tag puts in the others.
func newDeliveries(s session) ports.DeliveryStore    { return deliveries{s} }
func newSimulations(s session) ports.SimulationStore { return simulations{s} }

func newFeed(s session) ports.FeedReader     { return feed{s} }
func newFanOut(s feed) fanOutOf              { return s.fanOut }
func newOutbox(s *Store) ports.WebhookOutbox { return outbox{store: s} }
