package access_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/access"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

// peppered is a digester under the first pepper, which knows those behind it too.
type peppered []string

func (p peppered) Digest(secret string) [32]byte { return sha256.Sum256([]byte(p[0] + secret)) }

func (p peppered) Previous(secret string) (digests [][32]byte) {
	for _, previous := range p[1:] {
		digests = append(digests, sha256.Sum256([]byte(previous+secret)))
	}
	return digests
}

// member is one process of an installation.
type member struct {
	*access.Tenants
	gate      *access.Admission
	operators *access.Operators
}

func (o *scene) member(pepper string, previous ...string) member {
	limiter := &counter{taken: map[string]int{}}
	digest := append(peppered{pepper}, previous...)
	return member{
		Tenants:   access.NewTenants(o.Store, digest, o.Clock, o.IDs, stage.Unheard{}),
		gate:      access.NewAdmission(o.Store, limiter, digest, o.Clock, limits),
		operators: access.NewOperators(o.Store, limiter, digest, o.Clock, access.FailedOperators(limits.PerAddress)),
	}
}

// takes shows a key to a process, and has the use written.
func (m member) takes(t *testing.T, secret string) error {
	t.Helper()
	_, err := m.gate.Admit(t.Context(), access.Credentials{Environment: domain.Live, Address: address, Key: secret})
	if err := m.gate.RecordUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	return err
}

func (m member) takesToken(t *testing.T, secret string) error {
	t.Helper()
	_, err := m.operators.Identify(t.Context(), access.OperatorCredentials{Address: address, Token: secret})
	return err
}

// left is how many keys and tokens a change of the pepper waits for.
func (m member) left(t *testing.T) string {
	t.Helper()
	uses, err := m.OldPeppers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keys, tokens := 0, 0
	for _, use := range uses {
		keys, tokens = keys+use.Keys, tokens+use.Tokens
	}
	return fmt.Sprint(keys, " ", tokens)
}

func TestThePepperIsChangedWithoutAGap(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	app := o.newApplication(t)
	before, told := o.member("salt"), o.member("salt", "sugar")
	changing, changed := o.member("sugar", "salt"), o.member("sugar")
	confirmed := func(m member, code string) {
		t.Helper()
		if err := m.ConfirmPepper(t.Context()); code == "" && err != nil || code != "" && !domain.HasCode(err, code) {
			t.Errorf("confirmed with %v, want %q", err, code)
		}
	}
	issue := func(m member) access.IssuedKey {
		t.Helper()
		key, err := m.IssueKey(t.Context(), boss, app.ID, domain.Live, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	want := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}

	confirmed(before, "")
	a, b, forgotten := issue(before), issue(before), issue(before)
	token, err := before.IssueOperatorToken(t.Context(), boss, "Dispatch", domain.OperatorAdmin, nil)
	if err != nil {
		t.Fatal(err)
	}

	// Every process is told the new pepper: nothing moves.
	confirmed(told, "")
	want("a key of before", told.takes(t, a.Secret), nil)
	want("left", told.left(t), "0 0")

	// The first process has it as its own.
	confirmed(changing, "")
	confirmed(told, "")
	confirmed(before, "KEY_PEPPER_MISMATCH")
	confirmed(changed, "KEY_PEPPER_IN_USE")
	want("left", changing.left(t), "3 1")
	want("a key of before", changing.takes(t, a.Secret), nil)
	want("left", changing.left(t), "2 1")
	want("a key that moved", told.takes(t, a.Secret), nil)
	want("left, as the others take nothing back", changing.left(t), "2 1")
	want("a key that moved", changed.takes(t, a.Secret), nil)
	wantCode(t, changed.takes(t, b.Secret), domain.KindUnauthenticated, "INVALID_API_KEY")

	// What processes with the old one make meanwhile moves too.
	late := issue(told)
	want("left", changing.left(t), "3 1")
	want("a key of a process that was told", changing.takes(t, late.Secret), nil)
	want("a new key", told.takes(t, issue(changing).Secret), nil)
	want("left", changing.left(t), "2 1")

	want("a token of before", changing.takesToken(t, token.Secret), nil)
	want("left", changing.left(t), "2 0")
	o.Clock.GoOn(time.Minute)
	want("a token that moved", told.takesToken(t, token.Secret), nil)
	want("a token that moved", changed.takesToken(t, token.Secret), nil)

	want("a key of before", changing.takes(t, b.Secret), nil)
	keys, err := changing.OldPepperKeys(t.Context())
	if err != nil || len(keys) != 1 || keys[0].ID != forgotten.ID {
		t.Errorf("%+v are left, %v", keys, err)
	}
	confirmed(changed, "KEY_PEPPER_IN_USE")
	if _, err := changing.RevokeKey(t.Context(), boss, forgotten.ID); err != nil {
		t.Fatal(err)
	}
	want("left", changing.left(t), "0 0")
	confirmed(changed, "")
	for _, key := range []access.IssuedKey{a, b, late} {
		want("a key of before", changed.takes(t, key.Secret), nil)
	}
}

// A guess costs the database one look-up, whether the pepper is being changed or not.
func TestAKeyIsLookedUpOnceUnderAllPeppers(t *testing.T) {
	t.Parallel()
	ctrl := gomock.NewController(t)
	table, storage := mocks.NewMockTenancyReader(ctrl), mocks.NewMockStorage(ctrl)
	storage.EXPECT().Read().Return(ports.Readers{Tenancy: table}).AnyTimes()
	digest := peppered{"sugar", "salt"}
	table.EXPECT().Credential(gomock.Any(), digest.Digest(liveKey), digest.Previous(liveKey)[0]).Return(domain.Credential{},
		domain.ErrNotFound).Times(1)
	gate := access.NewAdmission(storage, &counter{taken: map[string]int{}}, digest, &stage.Clock{}, limits)
	for range 2 {
		_, err := gate.Admit(t.Context(), access.Credentials{Environment: domain.Live, Address: address, Key: liveKey})
		wantCode(t, err, domain.KindUnauthenticated, "INVALID_API_KEY")
	}
}

func TestAKeyThatCouldNotBeMovedIsMovedLater(t *testing.T) {
	t.Parallel()
	o := newScene(t)
	app := o.newApplication(t)
	salt, sugar := o.member("salt"), o.member("sugar", "salt")
	key, err := salt.IssueKey(t.Context(), boss, app.ID, domain.Live, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sugar.ConfirmPepper(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken := &moody{Storage: o.Store, fails: map[int]error{2: errBroken}} // the first one writes the use
	gate := access.NewAdmission(broken, &counter{taken: map[string]int{}}, peppered{"sugar", "salt"}, o.Clock, limits)
	if _, err := gate.Admit(t.Context(), access.Credentials{Environment: domain.Live, Address: address, Key: key.Secret}); err != nil {
		t.Fatal(err)
	}
	if err := gate.RecordUses(t.Context()); !errors.Is(err, errBroken) || sugar.left(t) != "1 0" {
		t.Errorf("%v, left %s", err, sugar.left(t))
	}
	if err := gate.RecordUses(t.Context()); err != nil || sugar.left(t) != "0 0" {
		t.Errorf("%v, left %s", err, sugar.left(t))
	}
}
