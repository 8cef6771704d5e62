package bulk_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

var dispatcher = domain.AuditActor{ID: sample.ID(domain.PrefixPerson), Name: "Dispatch", RequestID: "req_1"}

const (
	key   = "dispatch-0001"
	ample = time.Minute // more patience than any test needs
)

// movesScene holds some live deliveries in a real database, and one process after the other that
// moves them.
type movesScene struct {
	*stage.Stage
	*bulk.Moves
	tenant domain.Tenant
	booked []domain.ID
	log    *stage.Log
}

func movesNewScene(t *testing.T, deliveries int) *movesScene {
	t.Helper()
	s := &movesScene{Stage: stage.New(t), log: &stage.Log{}}
	s.tenant = s.NewTenant(t)
	s.tenant.Environment = domain.Live
	for range deliveries {
		w := sample.BookingWrite(s.tenant)
		if err := s.Store.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		s.booked = append(s.booked, w.Delivery.ID)
	}
	s.start(s.Store)
	return s
}

// start makes a process that shares only the database with the one before it.
func (s *movesScene) start(storage ports.Storage) {
	s.Moves = bulk.NewMoves(storage, deliveries.NewOperations(storage, s.Clock, s.IDs, stage.Renderer{}), s.Clock, s.IDs,
		slog.New(slog.NewTextHandler(s.log, nil)))
}

// another returns a second process.
func (s *movesScene) another() *movesScene {
	other := *s
	other.start(s.Store)
	return &other
}

// startWith makes a process with changed transactions.
func (s *movesScene) startWith(change func(*ports.Stores)) {
	s.start(stage.Between{Storage: s.Store, Change: change})
}

func (s *movesScene) orders(patience time.Duration) bulk.MoveOrders {
	o := bulk.MoveOrders{Key: key, By: dispatcher, Patience: patience}
	for _, id := range s.booked {
		o.Items = append(o.Items, bulk.MoveOrder{Name: string(id), To: domain.Assigned})
	}
	return o
}

func (s *movesScene) send(t *testing.T, patience time.Duration) (run domain.MoveRun, replayed bool, err error) {
	t.Helper()
	return s.Advance(t.Context(), s.orders(patience))
}

func movesWantInProgress(t *testing.T, err error) {
	t.Helper()
	if !domain.HasCode(err, domain.CodeIdempotencyInProgress) {
		t.Fatalf("got %v, want %s", err, domain.CodeIdempotencyInProgress)
	}
}

// kept returns the stored run.
func (s *movesScene) kept(t *testing.T) domain.MoveRun {
	t.Helper()
	run, err := s.Store.Read().MoveRuns.FindByKey(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// answerOf returns what a response shows of a run.
func answerOf(run domain.MoveRun) string {
	var all strings.Builder
	fmt.Fprintf(&all, "%s, finished %t:", run.ID, run.FinishedAt != nil)
	for _, i := range run.Items {
		fmt.Fprintf(&all, " %d %s %s %s %s %s %q,", i.Index, i.DeliveryID, i.Outcome, i.Current, i.Code, i.Message, i.Allowed)
	}
	return all.String()
}

// want fails unless the run has these outcomes and its rows agree: an advanced delivery has one
// event more and one entry in the audit log, and all others are unchanged.
func (s *movesScene) want(t *testing.T, outcomes ...domain.MoveOutcome) {
	t.Helper()
	ctx, run := context.Background(), s.kept(t)
	if len(run.Items) != len(outcomes) {
		t.Fatalf("%d items: %s", len(run.Items), answerOf(run))
	}
	for i, item := range run.Items {
		if item.Outcome != outcomes[i] {
			t.Errorf("item %d is %s, want %s: %s", i, item.Outcome, outcomes[i], answerOf(run))
		}
		if item.DeliveryID == "" {
			continue
		}
		changes := 0
		if outcomes[i] == domain.MoveAdvanced {
			changes = 1
		}
		events, err := s.Store.Read().Deliveries.Events(ctx, s.tenant, item.DeliveryID)
		if err != nil || len(events) != 1+changes {
			t.Errorf("item %d has %d events, want %d (%v)", i, len(events), 1+changes, err)
		}
		entries, err := s.Store.Read().Audit.List(ctx, domain.AuditFilter{Target: item.DeliveryID}, domain.PageRequest{Limit: 10})
		if err != nil || len(entries) != changes {
			t.Errorf("item %d has %d entries in the audit log, want %d (%v)", i, len(entries), changes, err)
		}
		for _, e := range entries {
			if e.Actor != dispatcher || e.Details["run"] != string(run.ID) {
				t.Errorf("item %d: the audit log has %+v", i, e)
			}
		}
	}
}

// leaseRunsOut lets the lease of a hold expire.
func (s *movesScene) leaseRunsOut(t *testing.T, h ports.MoveHold) {
	t.Helper()
	s.Write(t, func(ctx context.Context, tx ports.Stores) error { return tx.MoveRuns.Release(ctx, h) })
}

// unlockable is a store in which one delivery cannot be locked.
type unlockable struct {
	ports.DeliveryStore
	lock func(domain.ID) error // nil: it is locked
}

func (u unlockable) Lock(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	if err := u.lock(id); err != nil {
		return nil, err
	}
	return u.DeliveryStore.Lock(ctx, t, id)
}

// watched is a store of runs that notes the latest hold.
type watched struct {
	ports.MoveRunStore
	hold *ports.MoveHold
}

func (w watched) Begin(ctx context.Context, r domain.MoveRun, h ports.MoveHold) error {
	*w.hold = h
	return w.MoveRunStore.Begin(ctx, r, h)
}

func (w watched) Resume(ctx context.Context, h ports.MoveHold) error {
	*w.hold = h
	return w.MoveRunStore.Resume(ctx, h)
}

// paused does something before each transaction.
type paused struct {
	ports.Storage
	before func()
}

func (p paused) InTx(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
	p.before()
	return p.Storage.InTx(ctx, fn)
}
