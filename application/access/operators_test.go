package access_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/access"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

func (o *scene) operators(limiter ports.RateLimiter) *access.Operators {
	return access.NewOperators(o.Store, limiter, stage.Digester{}, o.Clock, access.FailedOperators(limits.PerAddress))
}

func TestAnOperatorTokenNamesItsOperatorUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	operators := o.operators(&counter{taken: map[string]int{}})
	issued, err := o.IssueOperatorToken(t.Context(), boss, "  Dispatch ", domain.OperatorAdmin, nil)
	if err != nil || issued.Name != "Dispatch" || !domain.SoundOperatorToken(issued.Secret) {
		t.Fatalf("%+v, %v", issued, err)
	}
	credentials := access.OperatorCredentials{Address: address, Token: issued.Secret, RequestID: "req_1"}
	by, err := operators.Identify(t.Context(), credentials)
	if want := (domain.AuditActor{ID: issued.ID, Name: "Dispatch", RequestID: "req_1"}); err != nil || by != want {
		t.Errorf("%+v, %v", by, err)
	}
	for range 2 {
		if revoked, err := o.RevokeOperatorToken(t.Context(), boss, issued.ID); err != nil || revoked.RevokedAt == nil {
			t.Errorf("%+v, %v", revoked, err)
		}
	}
	for range 2 { // at first it is still trusted
		by, err = operators.Identify(t.Context(), credentials)
		wantCode(t, err, domain.KindUnauthenticated, "OPERATOR_TOKEN_REVOKED")
		if by.ID != issued.ID {
			t.Errorf("the refused token is said to be of %q", by.ID)
		}
	}
	if works, err := o.UsableOperatorToken(t.Context(), issued.Secret); works || err != nil {
		t.Errorf("%t, %v", works, err)
	}
	if got, want := fmt.Sprint(o.actions(t)), "[operator.create operator.revoke]"; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
}

func TestWhenATokenWasUsedIsKeptOnceAMinute(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	operators := o.operators(&counter{taken: map[string]int{}})
	issued, err := o.IssueOperatorToken(t.Context(), boss, "Dispatch", domain.OperatorAdmin, nil)
	if err != nil {
		t.Fatal(err)
	}
	used := func() time.Time {
		if _, err := operators.Identify(t.Context(), access.OperatorCredentials{Address: address, Token: issued.Secret}); err != nil {
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

// noTokens is a table without tokens, which counts look-ups.
type noTokens struct {
	ports.OperatorReader
	asked, listed atomic.Int64
}

func (n *noTokens) FindByDigest(context.Context, ...[32]byte) (domain.OperatorToken, error) {
	n.asked.Add(1)
	time.Sleep(5 * time.Millisecond)
	return domain.OperatorToken{}, domain.ErrNotFound
}

func (n *noTokens) List(context.Context) ([]domain.OperatorToken, error) {
	n.listed.Add(1)
	return nil, nil
}

func TestGuessesAtTokensAtOneMomentReachTheStorageSixtyTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := &noTokens{}
		storage := mocks.NewMockStorage(gomock.NewController(t))
		storage.EXPECT().Read().Return(ports.Readers{Operators: table}).AnyTimes()
		operators := access.NewOperators(storage, &counter{taken: map[string]int{}}, stage.Digester{}, &stage.Clock{},
			access.FailedOperators(limits.PerAddress))
		var all sync.WaitGroup
		for i := range 500 {
			all.Go(func() {
				_, err := operators.Identify(t.Context(), access.OperatorCredentials{Address: address,
					Token: domain.MakeOperatorToken([32]byte{byte(i), byte(i >> 8)})})
				if !domain.HasCode(err, "INVALID_OPERATOR_TOKEN") && !domain.HasCode(err, "RATE_LIMIT_EXCEEDED") {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := table.asked.Load(); n != int64(limits.PerAddress.Limit) {
			t.Errorf("%d look-ups, want %d", n, limits.PerAddress.Limit)
		}
		if n := table.listed.Load(); n < 1 || n > 2 {
			t.Errorf("the others are looked up in %d queries", n)
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
	operators := access.NewOperators(storage, limiter, stage.Digester{}, &stage.Clock{}, access.FailedOperators(limits.PerAddress))
	for range 100 {
		_, err := operators.Identify(t.Context(), access.OperatorCredentials{Address: address, Token: domain.MakeOperatorToken([32]byte{})})
		var told *domain.Error
		if !errors.As(err, &told) || told.Kind != domain.KindInternal || !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
	}
}

// listed counts the queries for all tokens.
type listed struct {
	ports.Storage
	ports.OperatorReader
	times int
}

func (l *listed) Read() ports.Readers { return ports.Readers{Operators: l} }

func (l *listed) List(ctx context.Context) ([]domain.OperatorToken, error) {
	l.times++
	return l.OperatorReader.List(ctx)
}

// An operator behind an address with many wrong guesses is not locked out, whether the token is new
// or at work. The one at work is not looked up among all either.
func TestAnOperatorIsAdmittedHoweverManyGuessFromTheAddress(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	tokens := &listed{Storage: o.Store, OperatorReader: o.Store.Read().Operators}
	operators := access.NewOperators(tokens, &counter{taken: map[string]int{}}, stage.Digester{}, o.Clock, access.FailedOperators(limits.PerAddress))
	issued, err := o.IssueOperatorToken(t.Context(), boss, "Dispatch", domain.OperatorAdmin, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range limits.PerAddress.Limit + 1 {
		_, _ = operators.Identify(t.Context(), access.OperatorCredentials{Address: address, Malformed: true})
	}
	for n, c := range []struct {
		after  time.Duration
		listed int
	}{{0, 1}, {9 * time.Minute, 1}, {9 * time.Minute, 1}, {11 * time.Minute, 2}} {
		o.Clock.GoOn(c.after)
		by, err := operators.Identify(t.Context(), access.OperatorCredentials{Address: address, Token: issued.Secret})
		if err != nil || by.ID != issued.ID || tokens.times != c.listed {
			t.Errorf("use %d: %+v, %v, after %d queries for all tokens, want %d", n, by, err, tokens.times, c.listed)
		}
	}
	_, err = operators.Identify(t.Context(), access.OperatorCredentials{Address: address, Token: domain.MakeOperatorToken([32]byte{})})
	if !domain.HasCode(err, domain.CodeRateLimitExceeded) {
		t.Errorf("an unknown token: %v", err)
	}
}
