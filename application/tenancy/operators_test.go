package tenancy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/tenancy"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

var boss = domain.AuditActor{Name: "command:boss"}

func (o *office) operators(limiter ports.RateLimiter) *tenancy.Operators {
	return tenancy.NewOperators(o.Store, limiter, digester{}, o.Clock, o.IDs, tenancy.FailedOperators(limits.PerAddress))
}

// actions are what was kept, oldest first.
func (o *office) actions(t *testing.T) []domain.Action {
	t.Helper()
	entries, err := o.Store.Read().Audit.List(t.Context(), domain.AuditFilter{}, domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var actions []domain.Action
	for _, e := range entries {
		actions = append(actions, e.Action)
	}
	slices.Reverse(actions)
	return actions
}

func TestAnOperatorTokenNamesItsOperatorUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	door := o.operators(&counter{taken: map[string]int{}})
	issued, err := o.IssueOperatorToken(t.Context(), boss, "  Dispatch ", domain.OperatorAdmin, nil)
	if err != nil || issued.Name != "Dispatch" || !domain.SoundOperatorToken(issued.Secret) {
		t.Fatalf("%+v, %v", issued, err)
	}
	knock := tenancy.OperatorKnock{Address: address, Token: issued.Secret, RequestID: "req_1"}
	by, err := door.Identify(t.Context(), knock)
	if want := (domain.AuditActor{ID: issued.ID, Name: "Dispatch", RequestID: "req_1"}); err != nil || by != want {
		t.Errorf("%+v, %v", by, err)
	}
	for range 2 {
		if revoked, err := o.RevokeOperatorToken(t.Context(), boss, issued.ID); err != nil || revoked.RevokedAt == nil {
			t.Errorf("%+v, %v", revoked, err)
		}
	}
	_, err = door.Identify(t.Context(), knock)
	wantCode(t, err, domain.KindUnauthenticated, "OPERATOR_TOKEN_REVOKED")
	if works, err := o.UsableOperatorToken(t.Context(), issued.Secret); works || err != nil {
		t.Errorf("%t, %v", works, err)
	}
	if got, want := fmt.Sprint(o.actions(t)), "[operator.create operator.revoke]"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
}

func TestWhenATokenWasUsedIsKeptOnceAMinute(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	door := o.operators(&counter{taken: map[string]int{}})
	issued, err := o.IssueOperatorToken(t.Context(), boss, "Dispatch", domain.OperatorAdmin, nil)
	if err != nil {
		t.Fatal(err)
	}
	used := func() time.Time {
		if _, err := door.Identify(t.Context(), tenancy.OperatorKnock{Address: address, Token: issued.Secret}); err != nil {
			t.Fatal(err)
		}
		tokens, err := o.OperatorTokens(t.Context())
		if err != nil || len(tokens) != 1 || tokens[0].LastUsedAt == nil {
			t.Fatalf("%+v, %v", tokens, err)
		}
		return *tokens[0].LastUsedAt
	}
	first := used()
	o.Clock.GoOn(59 * time.Second)
	if got := used(); !got.Equal(first) {
		t.Errorf("used at %s, written at %s", first, got)
	}
	o.Clock.GoOn(time.Second)
	if got := used(); !got.Equal(first.Add(time.Minute)) {
		t.Errorf("used at %s, want a minute behind %s", got, first)
	}
}

func TestNoTokenIsMadeThatWouldOpenNothing(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, name := range []string{"", "  "} {
		if _, err := o.IssueOperatorToken(t.Context(), boss, name, domain.OperatorAdmin, nil); !domain.HasCode(err, "VALIDATION_ERROR") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := o.IssueOperatorToken(t.Context(), boss, "Dispatch", domain.OperatorAdmin, new(time.Duration(0))); !domain.HasCode(err, "VALIDATION_ERROR") {
		t.Error(err)
	}
	if err := o.ConfirmPepper(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := tenancy.NewTenants(o.Store, peppered{"other"}, o.Clock, o.IDs, &o.grapevine)
	if _, err := other.IssueOperatorToken(t.Context(), boss, "Dispatch", domain.OperatorAdmin, nil); !domain.HasCode(err, "KEY_PEPPER_MISMATCH") {
		t.Error(err)
	}
	if kept := o.actions(t); len(kept) != 0 {
		t.Errorf("kept %v", kept)
	}
}

// noTokens is a table without tokens, which counts who asks.
type noTokens struct {
	ports.OperatorReader
	asked atomic.Int64
}

func (n *noTokens) FindByDigest(context.Context, ...[32]byte) (domain.OperatorToken, error) {
	n.asked.Add(1)
	time.Sleep(5 * time.Millisecond)
	return domain.OperatorToken{}, domain.ErrNotFound
}

func TestGuessesAtTokensAtOneMomentReachTheStorageSixtyTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := &noTokens{}
		storage := mocks.NewMockStorage(gomock.NewController(t))
		storage.EXPECT().Read().Return(ports.Readers{Operators: table}).AnyTimes()
		door := tenancy.NewOperators(storage, &counter{taken: map[string]int{}}, digester{}, &stage.Clock{}, &stage.IDs{}, tenancy.FailedOperators(limits.PerAddress))
		var all sync.WaitGroup
		for i := range 500 {
			all.Go(func() {
				_, err := door.Identify(t.Context(), tenancy.OperatorKnock{Address: address, Token: domain.MakeOperatorToken([32]byte{byte(i), byte(i >> 8)})})
				if !domain.HasCode(err, "INVALID_OPERATOR_TOKEN") && !domain.HasCode(err, "RATE_LIMIT_EXCEEDED") {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := table.asked.Load(); n != int64(limits.PerAddress.Limit) {
			t.Errorf("%d look-ups, want %d", n, limits.PerAddress.Limit)
		}
	})
}

func TestAStorageThatFailsIsNotTheOperatorsFault(t *testing.T) {
	t.Parallel()
	ctrl := gomock.NewController(t)
	table, storage := mocks.NewMockOperatorReader(ctrl), mocks.NewMockStorage(ctrl)
	storage.EXPECT().Read().Return(ports.Readers{Operators: table}).AnyTimes()
	table.EXPECT().FindByDigest(gomock.Any(), gomock.Any()).Return(domain.OperatorToken{}, errBroken).Times(100)
	limiter := &counter{taken: map[string]int{}}
	door := tenancy.NewOperators(storage, limiter, digester{}, &stage.Clock{}, &stage.IDs{}, tenancy.FailedOperators(limits.PerAddress))
	for range 100 {
		_, err := door.Identify(t.Context(), tenancy.OperatorKnock{Address: address, Token: domain.MakeOperatorToken([32]byte{})})
		var told *domain.Error
		if !errors.As(err, &told) || told.Kind != domain.KindInternal || !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
	}
}

func TestWhatOperatorsChangeOfACustomerIsKept(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	k := o.issue(t, nil)
	app, err := o.Application(t.Context(), k.ApplicationID)
	if err != nil {
		t.Fatal(err)
	}
	steps := []func() error{
		func() error { _, err := o.SetDisabled(t.Context(), boss, app.ID, true); return err },
		func() error { _, err := o.SetDisabled(t.Context(), boss, app.ID, true); return err }, // changes nothing
		func() error { _, err := o.SetDisabled(t.Context(), boss, app.ID, false); return err },
		func() error { _, err := o.RotateKey(t.Context(), boss, k.ID); return err },
		func() error { _, err := o.RevokeKey(t.Context(), boss, k.ID); return err },
		func() error { _, err := o.RevokeKey(t.Context(), boss, k.ID); return err }, // changes nothing
		func() error {
			_, err := o.ChangeBusiness(t.Context(), boss, app.BusinessID, tenancy.BusinessChange{Name: new("New"), RateLimit: &domain.RateLimit{Limit: 5, Window: time.Minute}})
			return err
		},
		func() error { // changes nothing
			_, err := o.ChangeBusiness(t.Context(), boss, app.BusinessID, tenancy.BusinessChange{Name: new(" New "), RateLimit: &domain.RateLimit{Limit: 5, Window: time.Minute}})
			return err
		},
		func() error {
			_, err := o.ChangeBusiness(t.Context(), boss, app.BusinessID, tenancy.BusinessChange{DefaultLimit: true})
			return err
		},
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if _, err := o.RotateKey(t.Context(), boss, k.ID); err == nil { // refused
		t.Error("a revoked key was rotated")
	}
	if _, err := o.ChangeBusiness(t.Context(), boss, app.BusinessID, tenancy.BusinessChange{Name: new("")}); err == nil {
		t.Error("a business lost its name")
	}
	want := "[business.create application.create key.create application.disable application.enable key.rotate key.revoke business.update business.update]"
	if got := fmt.Sprint(o.actions(t)); got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
	entries, err := o.Store.Read().Audit.List(t.Context(), domain.AuditFilter{Action: domain.ActionKeyRotate}, domain.PageRequest{Limit: 1})
	if err != nil || entries[0].Target != k.ID || entries[0].BusinessID != app.BusinessID || entries[0].Actor != boss || entries[0].Details["successor"] == "" {
		t.Errorf("%+v, %v", entries, err)
	}
	b, err := o.Business(t.Context(), app.BusinessID)
	if err != nil || b.Name != "New" || b.RateLimit != nil {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestARevocationIsKeptOnceHoweverManyRevoke(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	k := o.issue(t, nil)
	o.Clock.Step = time.Millisecond
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := o.RevokeKey(t.Context(), boss, k.ID); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	revoked := slices.DeleteFunc(o.actions(t), func(a domain.Action) bool { return a != domain.ActionKeyRevoke })
	if len(revoked) != 1 {
		t.Errorf("kept %d revocations", len(revoked))
	}
}

// Who works all day behind an address that somebody guesses from is not shut out
// in the middle of it.
func TestTrustInATokenIsRenewedWithEachUse(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	limiter := &counter{taken: map[string]int{}}
	door := o.operators(limiter)
	issued, err := o.IssueOperatorToken(t.Context(), boss, "Dispatch", domain.OperatorAdmin, nil)
	if err != nil {
		t.Fatal(err)
	}
	use := func() error {
		_, err := door.Identify(t.Context(), tenancy.OperatorKnock{Address: address, Token: issued.Secret})
		return err
	}
	if err := use(); err != nil {
		t.Fatal(err)
	}
	for range limits.PerAddress.Limit + 1 {
		_, _ = door.Identify(t.Context(), tenancy.OperatorKnock{Address: address, Malformed: true})
	}
	for range 4 {
		o.Clock.GoOn(9 * time.Minute)
		if err := use(); err != nil {
			t.Fatalf("nine minutes after the last use: %v", err)
		}
	}
	o.Clock.GoOn(11 * time.Minute)
	if err := use(); !domain.HasCode(err, domain.CodeRateLimitExceeded) {
		t.Errorf("eleven minutes after it: %v", err)
	}
}
