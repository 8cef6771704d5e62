package people_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/application/audit"
	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

const password = "correct horse battery staple"

// hasher is enough of one, and counts.
type hasher struct {
	made    string // what hashes begin with; another beginning is outdated
	verdict error
	work    atomic.Int64
	caller  atomic.Value // the last one
}

func (h *hasher) Hash(_ context.Context, c ports.Caller, password string) (string, error) {
	h.work.Add(1)
	h.caller.Store(c)
	return h.made + password, h.verdict
}

func (h *hasher) Verify(_ context.Context, c ports.Caller, hash, password string) (matches, outdated bool, err error) {
	h.work.Add(1)
	h.caller.Store(c)
	return hash != "" && hash[1:] == password, hash != "" && hash[:1] != h.made, h.verdict
}

// counter is a limiter whose windows never end.
type counter struct {
	mu    sync.Mutex
	taken map[string]int
}

func (c *counter) change(by int, buckets []ports.Bucket) ports.Allowance {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range buckets {
		if by > 0 && c.taken[b.Scope+b.Name] >= b.Limit.Limit {
			return ports.Allowance{Scope: b.Scope, RetryAfter: 17 * time.Second}
		}
	}
	for _, b := range buckets {
		c.taken[b.Scope+b.Name] += by
	}
	return ports.Allowance{Admitted: true}
}

func (c *counter) Take(_ context.Context, b ...ports.Bucket) (ports.Allowance, error) {
	return c.change(1, b), nil
}

func (c *counter) Peek(_ context.Context, b ...ports.Bucket) (ports.Allowance, error) {
	allowance := c.change(1, b)
	if allowance.Admitted {
		c.change(-1, b)
	}
	return allowance, nil
}

func (c *counter) GiveBack(_ context.Context, b ...ports.Bucket) error { c.change(-1, b); return nil }

// scene is a business beside another one, and the use cases of two processes.
type scene struct {
	*people.Directory
	*people.Access
	second      *people.Access
	stage       *stage.Stage
	hasher      *hasher
	mine, other domain.ID
}

func newScene(t *testing.T) *scene {
	t.Helper()
	st := stage.New(t)
	s := &scene{stage: st, hasher: &hasher{made: "1"}, mine: st.NewTenant(t).BusinessID, other: st.NewTenant(t).BusinessID}
	s.Directory = people.NewDirectory(st.Store, st.Clock, st.IDs, false)
	s.Access = s.process()
	s.second = s.process()
	return s
}

func (s *scene) process() *people.Access {
	return people.NewAccess(s.stage.Store, s.hasher, &counter{taken: map[string]int{}}, s.stage.Clock, s.stage.IDs)
}

func (s *scene) invite(t *testing.T, by domain.AuditActor, business domain.ID, email string, role domain.Role) people.Issued {
	t.Helper()
	issued, err := s.Invite(t.Context(), by, people.Invitation{BusinessID: business, Email: email, Name: "Ama Mensah", Role: string(role)})
	if err != nil {
		t.Fatal(err)
	}
	return issued
}

// enter invites a person and lets them in.
func (s *scene) enter(t *testing.T, business domain.ID, email string, role domain.Role) people.Entered {
	t.Helper()
	entered, err := s.Enter(t.Context(), browser, s.invite(t, command, business, email, role).Secret)
	if err != nil {
		t.Fatal(err)
	}
	return entered
}

func (s *scene) setPassword(t *testing.T, p domain.Principal) {
	t.Helper()
	if err := s.SetPassword(t.Context(), p, "req_2", password); err != nil {
		t.Fatal(err)
	}
}

// out fails unless the session is over in both processes.
func (s *scene) out(t *testing.T, what string, e people.Entered) {
	t.Helper()
	for i, process := range []*people.Access{s.Access, s.second} {
		if _, err := process.Identify(t.Context(), e.Site(), e.Secret); !domain.HasCode(err, domain.CodeSessionEnded) {
			t.Errorf("%s: in process %d the session goes on: %v", what, i+1, err)
		}
	}
}

func (s *scene) in(t *testing.T, what string, e people.Entered) domain.Principal {
	t.Helper()
	var p domain.Principal
	for i, process := range []*people.Access{s.Access, s.second} {
		var err error
		if p, err = process.Identify(t.Context(), e.Site(), e.Secret); err != nil {
			t.Errorf("%s: process %d: %v", what, i+1, err)
		}
	}
	return p
}

func (s *scene) entries(t *testing.T, business domain.ID) []domain.AuditEntry {
	t.Helper()
	found, err := audit.New(s.stage.Store, s.stage.Clock, s.stage.IDs).EntriesOfBusiness(t.Context(), business, domain.AuditFilter{},
		domain.PageRequest{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if code == "" && err != nil || code != "" && !domain.HasCode(err, code) {
		t.Errorf("%s: %v, want %q", what, err, code)
	}
}

func (s *scene) link(t *testing.T, person domain.ID) string {
	t.Helper()
	issued, err := s.Directory.Link(t.Context(), command, person, domain.Portal)
	if err != nil || issued.ExpiresAt.Sub(issued.CreatedAt) != 10*time.Minute {
		t.Fatalf("%+v, %v", issued, err)
	}
	return issued.Secret
}
