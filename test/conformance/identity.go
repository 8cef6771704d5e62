package conformance

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// IdentityScene is a provider that is examined, and a person with an account there.
type IdentityScene struct {
	Provider ports.IdentityProvider
	// SignIn opens an address as the browser of the person does, signs in, and returns
	// the query with which the provider sends the browser back.
	SignIn func(t testing.TB, address string) url.Values
	Want   domain.Identity // of the account, without the time
}

// ExamineIdentityProvider puts an adapter to the exam. Each call of open makes a browser that was never
// at the provider.
func ExamineIdentityProvider(t *testing.T, open func(t *testing.T) IdentityScene) {
	request := func(state string, maxAge time.Duration) ports.IdentityRequest {
		return ports.IdentityRequest{State: state, Nonce: "nonce-" + state, Verifier: strings.Repeat("v", 43) + state, MaxAge: maxAge}
	}
	begin := func(t *testing.T, s IdentityScene, r ports.IdentityRequest) string {
		t.Helper()
		address, err := s.Provider.Begin(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return address
	}
	unproven := func(t *testing.T, what string, s IdentityScene, r ports.IdentityRequest, code string) {
		t.Helper()
		if i, err := s.Provider.Finish(t.Context(), r, code); !errors.Is(err, ports.ErrIdentityUnproven) {
			t.Errorf("%s: %+v, %v", what, i, err)
		}
	}

	t.Run("a person who signs in is vouched for, and the state comes back", func(t *testing.T) {
		s, r := open(t), request("one", time.Hour)
		back := s.SignIn(t, begin(t, s, r))
		if back.Get("state") != r.State {
			t.Errorf("the state is %q", back.Get("state"))
		}
		got, err := s.Provider.Finish(t.Context(), r, back.Get("code"))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got.Groups)
		if ago := time.Since(got.AuthenticatedAt); ago < -2*time.Second || ago > time.Minute {
			t.Errorf("signed in at %s", got.AuthenticatedAt)
		}
		if want := s.Want; got.Issuer != want.Issuer || got.Subject != want.Subject || got.Email != want.Email || got.Name != want.Name ||
			got.EmailVerified != want.EmailVerified || !slices.Equal(got.Groups, want.Groups) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})

	t.Run("the address shows the challenge and not the verifier", func(t *testing.T) {
		s, r := open(t), request("two", time.Hour)
		address, err := url.Parse(begin(t, s, r))
		if err != nil {
			t.Fatal(err)
		}
		q := address.Query()
		if q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || strings.Contains(address.String(), r.Verifier) {
			t.Errorf("%s", address)
		}
	})

	t.Run("a code is worth nothing twice, with another verifier or nonce, or made up", func(t *testing.T) {
		s := open(t)
		r := request("three", time.Hour)
		code := s.SignIn(t, begin(t, s, r)).Get("code")
		if _, err := s.Provider.Finish(t.Context(), r, code); err != nil {
			t.Fatal(err)
		}
		unproven(t, "a second time", s, r, code)

		another := request("four", time.Hour)
		another.Verifier = r.Verifier
		code = s.SignIn(t, begin(t, s, r)).Get("code")
		unproven(t, "another nonce", s, another, code)

		another = r
		another.Verifier = strings.Repeat("w", 43)
		code = s.SignIn(t, begin(t, s, r)).Get("code")
		unproven(t, "another verifier", s, another, code)

		unproven(t, "made up", s, r, "abc")
		unproven(t, "empty", s, r, "")
	})

	t.Run("a person is asked again where no age is allowed", func(t *testing.T) {
		s, r := open(t), request("five", 0)
		s.SignIn(t, begin(t, s, request("four", time.Hour)))
		address := begin(t, s, r)
		if q, err := url.Parse(address); err != nil || q.Query().Get("prompt") != "login" || q.Query().Get("max_age") != "0" {
			t.Errorf("%s, %v", address, err)
		}
		before := time.Now().Add(-time.Second)
		got, err := s.Provider.Finish(t.Context(), r, s.SignIn(t, address).Get("code"))
		if err != nil || got.AuthenticatedAt.Before(before) {
			t.Errorf("%+v, %v", got, err)
		}
	})

	t.Run("a caller who gives up is not kept", func(t *testing.T) {
		s, r := open(t), request("six", time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Provider.Finish(ctx, r, "abc"); err == nil || errors.Is(err, ports.ErrIdentityUnproven) {
			t.Errorf("%v", err)
		}
	})
}
