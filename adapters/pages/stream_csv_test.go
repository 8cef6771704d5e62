package pages_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"waybill/adapters/pages"
	"waybill/application/people"
	"waybill/domain"
	"waybill/test/stage"
)

// tables is a site with a table of numbers, each of which waits to be let go.
type tables struct {
	*stage.Stage
	directory *people.Directory
	access    *people.Access
	url       string
	entered   people.Entered // to whom tables are sent
	let       chan struct{}
	begun     chan struct{}
}

const rowsOfTable = 5

func newTables(t *testing.T) *tables {
	t.Helper()
	s := &tables{Stage: stage.New(t), let: make(chan struct{}), begun: make(chan struct{}, 100)}
	s.directory = people.NewDirectory(s.Store, s.Clock, s.IDs, false)
	s.access = people.NewAccess(s.Store, stage.PlainHashes{}, stage.Unlimited{}, s.Clock, s.IDs)
	s.enter(t, "kofi@waybill.example")
	var p *pages.Site
	p = pages.New(pages.Options{Site: domain.Console, BaseURL: "http://localhost", Pages: &fstest.MapFS{}, Access: s.access,
		Directory: s.directory,
		Words:     pages.Words{Name: "test", To: "the test"}, Log: slog.New(slog.DiscardHandler), Clock: s.Clock, Identifiers: s.IDs,
		Frame:  func(*pages.Call) (pages.Page, error) { return pages.Page{}, nil },
		People: pages.People{Path: "/staff", Act: domain.ActManageStaff},
		Routes: []pages.Route{{Method: http.MethodGet, Path: "/table.csv", Act: pages.Always(domain.ActReadEverything),
			Handle: func(c *pages.Call) error {
				n := 0
				return p.StreamCSV(c, "table.csv", func(ctx context.Context, write func(...string) error) (bool, error) {
					if n++; n > 1 {
						select {
						case <-s.let:
						case <-ctx.Done():
							return false, ctx.Err()
						}
					}
					s.begun <- struct{}{}
					return n < rowsOfTable, write(fmt.Sprint("row ", n))
				})
			}}},
	})
	server := httptest.NewServer(p.Handler())
	t.Cleanup(server.Close)
	s.url = server.URL + "/table.csv"
	return s
}

// enter makes a person to whom tables are sent from now on.
func (s *tables) enter(t *testing.T, email string) {
	t.Helper()
	issued, err := s.directory.Invite(t.Context(), domain.AuditActor{Name: "command:test"}, people.Invitation{Email: email, Name: "Kofi",
		Role: "dispatcher"})
	if err != nil {
		t.Fatal(err)
	}
	if s.entered, err = s.access.Enter(t.Context(), people.Browser{}, issued.Secret); err != nil {
		t.Fatal(err)
	}
}

// fetched is a table as far as it came.
type fetched struct {
	status int
	body   string
	err    error // the connection was cut
}

func (s *tables) fetch(ctx context.Context) fetched {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, http.NoBody)
	if err != nil {
		return fetched{err: err}
	}
	req.AddCookie(&http.Cookie{Name: "waybill_console", Value: s.entered.Secret})
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fetched{err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return fetched{res.StatusCode, string(body), err}
}

// going is a table that is being sent.
func (s *tables) going(t *testing.T) chan fetched {
	t.Helper()
	came := make(chan fetched, 1)
	go func() { came <- s.fetch(t.Context()) }()
	s.wait(t)
	return came
}

// wait waits for a part to be read.
func (s *tables) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.begun:
	case <-time.After(time.Minute):
		t.Fatal("no part of the table was read")
	}
}

func TestATableEndsWithItsSessionAndSaysSo(t *testing.T) {
	t.Parallel()
	operator := domain.AuditActor{Name: "command:test"}
	for name, c := range map[string]struct {
		change func(t *testing.T, s *tables)
		whole  bool
	}{
		"nothing changes": {func(*testing.T, *tables) {}, true},
		"a session that was ended": {func(t *testing.T, s *tables) {
			if _, err := s.directory.EndSessions(t.Context(), operator, s.entered.Person.ID); err != nil {
				t.Fatal(err)
			}
		}, false},
		"another role": {func(t *testing.T, s *tables) {
			if _, err := s.directory.SetRole(t.Context(), operator, "", s.entered.Person.ID, "viewer"); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTables(t)
			came := s.going(t)
			s.let <- struct{}{}
			s.wait(t)
			c.change(t, s)
			s.Clock.GoOn(4 * time.Second)
			for n := 2; n < rowsOfTable; n++ {
				select {
				case s.let <- struct{}{}:
				case got := <-came:
					came <- got
				}
			}
			got := <-came
			whole := got.err == nil && strings.HasSuffix(got.body, fmt.Sprint("row ", rowsOfTable, "\n"))
			if whole != c.whole || strings.Contains(got.body, "cut off: this file is not whole") == c.whole {
				t.Errorf("%q, %v", got.body, got.err)
			}
		})
	}
}

func TestAReaderOfTheHeadHasNoTableRead(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	close(s.let)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, s.url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(&http.Cookie{Name: "waybill_console", Value: s.entered.Secret})
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/csv; charset=utf-8" || len(s.begun) != 1 {
		t.Errorf("%d, %s, %d parts were read, want 1", res.StatusCode, kind, len(s.begun))
	}
}

func TestFewTablesAreSentAtOnceAndTheNextIsToldToWait(t *testing.T) {
	t.Parallel()
	s := newTables(t)
	var all []chan fetched
	for _, next := range []string{"a third one of a person", "a fifth one"} {
		all = append(all, s.going(t), s.going(t))
		if next == "a fifth one" {
			s.enter(t, "esi@waybill.example")
		}
		got := s.fetch(t.Context())
		if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "Try again in a minute") {
			t.Errorf("%s: %d %q, %v", next, got.status, got.body, got.err)
		}
		s.enter(t, "adjoa@waybill.example")
	}
	close(s.let)
	for _, came := range all {
		if got := <-came; got.err != nil || got.status != http.StatusOK {
			t.Errorf("one of the first: %+v", got)
		}
	}
	if got := s.fetch(t.Context()); got.status != http.StatusOK {
		t.Errorf("after they have ended: %d", got.status)
	}
}
