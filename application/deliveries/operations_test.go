package deliveries_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/sample"
	"waybill/test/stage"
)

var (
	noon  = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	owner = domain.Tenant{BusinessID: "biz_1", ApplicationID: "app_1", Environment: domain.Live}

	errOperationsBroken = errors.New("the disk is on fire")
)

const delivery, event, entry = domain.ID("dlv_1"), domain.ID("evt_2"), domain.ID("aud_3")

var by = domain.AuditActor{ID: "opr_1", Name: "Dispatch", RequestID: "req_1"}

type operationsScene struct {
	*deliveries.Operations
	storage *mocks.MockStorage
	reader  *mocks.MockDeliveryReader
	store   *mocks.MockDeliveryStore
	counts  *mocks.MockSimulationStore
	audit   *mocks.MockAuditStore // expects no call unless a test says so
}

func operationsNewScene(t *testing.T) *operationsScene {
	ctrl := gomock.NewController(t)
	clock, ids := mocks.NewMockClock(ctrl), mocks.NewMockIdentifiers(ctrl)
	s := &operationsScene{
		storage: mocks.NewMockStorage(ctrl), reader: mocks.NewMockDeliveryReader(ctrl), store: mocks.NewMockDeliveryStore(ctrl),
		counts: mocks.NewMockSimulationStore(ctrl), audit: mocks.NewMockAuditStore(ctrl),
	}
	clock.EXPECT().Now().Return(noon).AnyTimes()
	ids.EXPECT().ID(domain.PrefixEvent).Return(event).AnyTimes()
	ids.EXPECT().ID(domain.PrefixAuditEntry).Return(entry).AnyTimes()
	s.storage.EXPECT().Read().Return(ports.Readers{Deliveries: s.reader}).AnyTimes()
	s.Operations = deliveries.NewOperations(s.storage, clock, ids, stage.Renderer{})
	return s
}

// transaction expects one InTx that runs its function as often as given.
func (s *operationsScene) transaction(runs int, end error) *gomock.Call {
	return s.storage.EXPECT().InTx(gomock.Any(), gomock.Any()).DoAndReturn(
		func(ctx context.Context, fn func(context.Context, ports.Stores) error) (err error) {
			for range runs {
				if err = fn(ctx, ports.Stores{Deliveries: s.store, Simulations: s.counts, Audit: s.audit}); err != nil {
					return err
				}
			}
			return end
		})
}

// keeps expects the row of the audit log.
func (s *operationsScene) keeps(from, to, reason string) *gomock.Call {
	details := map[string]string{"from": from, "to": to}
	if reason != "" {
		details["reason_code"] = reason
	}
	return s.audit.EXPECT().Append(gomock.Any(), domain.AuditEntry{
		ID: entry, At: noon, Actor: by,
		AuditRecord: domain.AuditRecord{Action: "delivery.advance", Target: delivery, BusinessID: "biz_1", Details: details},
	})
}

func stored(status domain.Status) *domain.Delivery {
	return domain.RestoreDelivery(domain.Booking{ID: delivery, Tenant: owner}, domain.Lifecycle{Status: status, Sequence: 1,
		UpdatedAt: noon.Add(-time.Hour)})
}

func TestAdvanceMovesADeliveryOfAnyTenantUnderItsLock(t *testing.T) {
	t.Parallel()
	s := operationsNewScene(t)
	gomock.InOrder(
		s.reader.EXPECT().Owner(gomock.Any(), delivery).Return(owner, nil),
		s.transaction(1, nil),
		s.store.EXPECT().Lock(gomock.Any(), owner, delivery).Return(stored(domain.Assigned), nil),
		s.store.EXPECT().Update(gomock.Any(), owner, gomock.Any(), sample.Published(domain.Event{
			ID: event, DeliveryID: delivery, Type: "delivery.failed", Status: domain.Failed, Previous: domain.Assigned,
			Sequence: 2, OccurredAt: noon, Reason: domain.ReasonNoRider,
		})).DoAndReturn(func(_ context.Context, _ domain.Tenant, d *domain.Delivery, _ ports.EventWrite) error {
			if d.Status() != domain.Failed || d.Lifecycle().Sequence != 2 {
				t.Errorf("stored %+v", d.Lifecycle())
			}
			return nil
		}),
		s.keeps("assigned", "failed", "no_rider").Return(nil),
	)
	moved, err := s.Advance(t.Context(), by, delivery, domain.Failed, domain.ReasonNoRider)
	if err != nil || moved.Status() != domain.Failed {
		t.Errorf("%+v, %v", moved, err)
	}
}

// simulated returns a delivery that a scenario moves, or has moved.
func simulated(status domain.SimulationStatus) (domain.Tenant, *domain.Delivery) {
	tenant := owner
	tenant.Environment = domain.Sandbox
	simulation := &domain.Simulation{Scenario: domain.ScenarioDelivered, Status: status, StepSeconds: 1}
	if status == domain.SimulationRunning {
		simulation.NextStepAt = &noon
	}
	return tenant, domain.RestoreDelivery(domain.Booking{ID: delivery, Tenant: tenant},
		domain.Lifecycle{Status: domain.Booked, Sequence: 1, UpdatedAt: noon.Add(-time.Hour), Simulation: simulation})
}

func TestAdvanceLeavesWhatAScenarioMovesToIt(t *testing.T) {
	t.Parallel()
	s := operationsNewScene(t)
	tenant, running := simulated(domain.SimulationRunning)
	gomock.InOrder(
		s.reader.EXPECT().Owner(gomock.Any(), delivery).Return(tenant, nil),
		s.transaction(1, nil),
		s.counts.EXPECT().Lock(gomock.Any(), tenant).Return(nil),
		s.store.EXPECT().Lock(gomock.Any(), tenant, delivery).Return(running, nil), // and no Update
	)
	if moved, err := s.Advance(t.Context(), by, delivery, domain.Assigned, ""); moved != nil || !domain.HasCode(err, "SIMULATION_RUNNING") {
		t.Errorf("%+v, %v", moved, err)
	}
}

func TestAdvanceMovesWhatAScenarioMovesNoMore(t *testing.T) {
	t.Parallel()
	s := operationsNewScene(t)
	tenant, stopped := simulated(domain.SimulationStopped)
	gomock.InOrder(
		s.reader.EXPECT().Owner(gomock.Any(), delivery).Return(tenant, nil),
		s.transaction(1, nil),
		s.counts.EXPECT().Lock(gomock.Any(), tenant).Return(nil), // and neither Enter nor Leave
		s.store.EXPECT().Lock(gomock.Any(), tenant, delivery).Return(stopped, nil),
		s.store.EXPECT().Update(gomock.Any(), tenant, stopped, gomock.Any()).Return(nil),
		s.keeps("booked", "assigned", "").Return(nil),
	)
	if moved, err := s.Advance(t.Context(), by, delivery, domain.Assigned, ""); err != nil || moved.Status() != domain.Assigned {
		t.Errorf("%+v, %v", moved, err)
	}
}

func TestAdvanceDecidesAgainWhenTheStorageStartsOver(t *testing.T) {
	t.Parallel()
	s := operationsNewScene(t)
	s.reader.EXPECT().Owner(gomock.Any(), delivery).Return(owner, nil)
	s.transaction(2, nil)
	// A delivery kept from the first run would be refused, since it was moved already.
	s.store.EXPECT().Lock(gomock.Any(), owner, delivery).DoAndReturn(
		func(context.Context, domain.Tenant, domain.ID) (*domain.Delivery, error) {
			return stored(domain.Booked), nil
		}).Times(2)
	s.store.EXPECT().Update(gomock.Any(), owner, gomock.Any(), gomock.Any()).Return(nil).Times(2)
	s.keeps("booked", "assigned", "").Return(nil).Times(2)
	if moved, err := s.Advance(t.Context(), by, delivery, domain.Assigned, ""); err != nil || moved.Lifecycle().Sequence != 2 {
		t.Errorf("%+v, %v", moved, err)
	}
}

func TestAStepThePlatformMayNotTakeChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to domain.Status
		reason   domain.ReasonCode
		code     string
	}{
		"a step too far":          {domain.Booked, domain.Delivered, "", "TRANSITION_INVALID"},
		"the same status":         {domain.Booked, domain.Booked, "", "TRANSITION_INVALID"},
		"behind the end":          {domain.Delivered, domain.Failed, "", "TRANSITION_INVALID"},
		"a reason for a good end": {domain.InTransit, domain.Delivered, domain.ReasonOther, "VALIDATION_ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := operationsNewScene(t)
			s.reader.EXPECT().Owner(gomock.Any(), delivery).Return(owner, nil)
			s.transaction(1, nil)
			s.store.EXPECT().Lock(gomock.Any(), owner, delivery).Return(stored(c.from), nil) // and no Update
			moved, err := s.Advance(t.Context(), by, delivery, c.to, c.reason)
			if moved != nil || !domain.HasCode(err, c.code) {
				t.Errorf("%+v, %v", moved, err)
			}
		})
	}
}

func TestADeliveryThatCouldNotBeMovedIsNotReturned(t *testing.T) {
	t.Parallel()
	for name, expect := range map[string]func(*operationsScene){
		"nobody owns it": func(s *operationsScene) {
			s.reader.EXPECT().Owner(gomock.Any(), delivery).Return(domain.Tenant{}, errOperationsBroken)
		},
		"its count cannot be locked": func(s *operationsScene) {
			tenant, _ := simulated(domain.SimulationRunning)
			s.reader.EXPECT().Owner(gomock.Any(), delivery).Return(tenant, nil)
			s.transaction(1, nil)
			s.counts.EXPECT().Lock(gomock.Any(), tenant).Return(errOperationsBroken)
		},
		"it cannot be locked": func(s *operationsScene) {
			s.reader.EXPECT().Owner(gomock.Any(), delivery).Return(owner, nil)
			s.transaction(1, nil)
			s.store.EXPECT().Lock(gomock.Any(), owner, delivery).Return(nil, errOperationsBroken)
		},
		"it cannot be stored": func(s *operationsScene) {
			s.reader.EXPECT().Owner(gomock.Any(), delivery).Return(owner, nil)
			s.transaction(1, nil)
			s.store.EXPECT().Lock(gomock.Any(), owner, delivery).Return(stored(domain.Booked), nil)
			s.store.EXPECT().Update(gomock.Any(), owner, gomock.Any(), gomock.Any()).Return(errOperationsBroken)
		},
		"the audit log cannot be written": func(s *operationsScene) {
			s.reader.EXPECT().Owner(gomock.Any(), delivery).Return(owner, nil)
			s.transaction(1, nil)
			s.store.EXPECT().Lock(gomock.Any(), owner, delivery).Return(stored(domain.Booked), nil)
			s.store.EXPECT().Update(gomock.Any(), owner, gomock.Any(), gomock.Any()).Return(nil)
			s.keeps("booked", "assigned", "").Return(errOperationsBroken)
		},
		"the commit fails": func(s *operationsScene) {
			s.reader.EXPECT().Owner(gomock.Any(), delivery).Return(owner, nil)
			s.transaction(1, errOperationsBroken)
			s.store.EXPECT().Lock(gomock.Any(), owner, delivery).Return(stored(domain.Booked), nil)
			s.store.EXPECT().Update(gomock.Any(), owner, gomock.Any(), gomock.Any()).Return(nil)
			s.keeps("booked", "assigned", "").Return(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := operationsNewScene(t)
			expect(s)
			if moved, err := s.Advance(t.Context(), by, delivery, domain.Assigned, ""); moved != nil || !errors.Is(err, errOperationsBroken) {
				t.Errorf("%+v, %v", moved, err)
			}
		})
	}
}

func TestThePlatformDoesNotCancelInTheCustomersName(t *testing.T) {
	t.Parallel()
	o := deliveries.NewOperations(nil, nil, nil, nil) // refused before anything is read
	_, err := o.Advance(t.Context(), domain.AuditActor{}, "", domain.Cancelled, domain.ReasonCancelledByCaller)
	if !domain.HasCode(err, domain.CodeValidation) {
		t.Error(err)
	}
}
