package idempotency_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
)

const (
	claim      = "0123456789abcdef0123456789abcdef"
	otherClaim = "ffffffffffffffffffffffffffffffff"
	retention  = 24 * time.Hour
)

var (
	noon   = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	tenant = domain.Tenant{BusinessID: "biz_1", ApplicationID: "app_1", Environment: domain.Live}
	keyed  = idempotency.Request{Tenant: tenant, Key: "order-0001", Fingerprint: [32]byte{1}}
	made   = domain.Answer{Status: 201, Location: "/v1/things/1", Body: []byte(`{"thing": 1}`)}

	errBroken = errors.New("the disk is on fire")
)

// scene is a gate in front of mocks. A test expects every call that it allows.
type scene struct {
	gate    *idempotency.Gate
	storage *mocks.MockStorage
	records *mocks.MockIdempotencyReader
}

func newScene(t *testing.T) *scene {
	ctrl := gomock.NewController(t)
	s := &scene{
		storage: mocks.NewMockStorage(ctrl), records: mocks.NewMockIdempotencyReader(ctrl),
	}
	clock, ids := mocks.NewMockClock(ctrl), mocks.NewMockIdentifiers(ctrl)
	clock.EXPECT().Now().Return(noon).AnyTimes()
	ids.EXPECT().ID(domain.Prefix("")).Return(domain.ID(claim)).MaxTimes(1) // one claim, however many tries
	s.storage.EXPECT().Read().Return(ports.Readers{Idempotency: s.records}).AnyTimes()
	s.gate = idempotency.NewGate(s.storage, clock, ids, slog.New(slog.DiscardHandler), idempotency.Retention(retention))
	return s
}

func (s *scene) holds(record domain.KeyRecord) *gomock.Call {
	return s.records.EXPECT().Find(gomock.Any(), tenant, keyed.Key).Return(record, nil)
}

func (s *scene) holdsNothing() *gomock.Call {
	return s.records.EXPECT().Find(gomock.Any(), tenant, keyed.Key).Return(domain.KeyRecord{}, domain.ErrNotFound)
}

// isFirst lets the key through to its only prepare.
func (s *scene) isFirst() *gomock.Call {
	return s.holdsNothing()
}

func recordOf(claimID string, fingerprint byte) domain.KeyRecord {
	return domain.KeyRecord{
		Key: keyed.Key, Fingerprint: [32]byte{fingerprint}, ClaimID: claimID, Answer: made, CreatedAt: noon.Add(-time.Hour),
	}
}

// tries is an attempt that ends in the given ways, one after the other.
type tries struct {
	t       *testing.T
	ends    []error
	records []domain.KeyRecord
	ctx     context.Context
}

func (a *tries) attempt(ctx context.Context, r domain.KeyRecord) (domain.Answer, error) {
	a.ctx, a.records = ctx, append(a.records, r)
	if len(a.records) > len(a.ends) {
		a.t.Fatalf("try %d, want at most %d", len(a.records), len(a.ends))
	}
	if err := a.ends[len(a.records)-1]; err != nil {
		return domain.Answer{Status: 201, Body: []byte("never to be seen")}, err
	}
	return made, nil
}

func (a *tries) prepare(context.Context) (idempotency.Attempt, error) { return a.attempt, nil }

func neverPrepared(t *testing.T) func(context.Context) (idempotency.Attempt, error) {
	return func(context.Context) (idempotency.Attempt, error) {
		t.Error("prepared")
		return nil, errBroken
	}
}

func wantAnswer(t *testing.T, got idempotency.Result, err error, replayed bool) {
	t.Helper()
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	a := got.Answer
	if a.Status != made.Status || a.Location != made.Location || string(a.Body) != string(made.Body) || got.Replayed != replayed {
		t.Errorf("answer %d %s %s, replayed %t; want %+v, replayed %t", a.Status, a.Location, a.Body, got.Replayed, made, replayed)
	}
}

func wantRefusal(t *testing.T, got idempotency.Result, err error, code string) *domain.Error {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	if got.Answer.Status != 0 || got.Answer.Body != nil || got.Replayed {
		t.Errorf("a refusal came with %+v", got)
	}
	return e
}
