package main

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"waybill/adapters/storage/gormstore"
	"waybill/domain"
)

// tap stands before a Postgres and takes down the statements that it gets.
type tap struct {
	url string // through it

	mu         sync.Mutex
	statements []string
}

func newTap(t *testing.T, database string) *tap {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	server := u.Host
	u.Host = l.Addr().String()
	p := &tap{url: u.String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.pass(c, server)
		}
	}()
	return p
}

// pass passes everything on, and looks at what the client sends.
func (p *tap) pass(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(client, server); client.Close() }()
	seen, copied := io.Pipe()
	go p.read(seen)
	_, err = io.Copy(server, io.TeeReader(client, copied))
	copied.CloseWithError(errors.Join(err, io.EOF))
}

func (p *tap) read(from *io.PipeReader) {
	defer func() { _, _ = io.Copy(io.Discard, from) }()
	b := pgproto3.NewBackend(from, io.Discard)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	for {
		m, err := b.Receive()
		if err != nil {
			return
		}
		if m, ok := m.(*pgproto3.Parse); ok {
			p.mu.Lock()
			p.statements = append(p.statements, m.Query)
			p.mu.Unlock()
		}
	}
}

func (p *tap) got() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.statements)
}

func TestPgbenchReadsWithTheStatementOfTheProgram(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := newTap(t, s.db.Config().ConnString())
	store, err := gormstore.Open(t.Context(), p.url, gormstore.Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })

	var id, business, application, environment string
	if err := s.db.QueryRow(t.Context(), "SELECT id::text, business_id::text, application_id::text, environment FROM deliveries").Scan(&id,
		&business, &application, &environment); err != nil {
		t.Fatal(err)
	}
	hex := func(uuid string) string { return strings.ReplaceAll(uuid, "-", "") }
	tenant := domain.Tenant{
		BusinessID: domain.ID("biz_" + hex(business)), ApplicationID: domain.ID("app_" + hex(application)),
		Environment: domain.Environment(environment),
	}
	if _, err := store.Read().Deliveries.Get(t.Context(), tenant, domain.ID("dlv_"+hex(id))); err != nil {
		t.Fatal(err)
	}
	want := probed("$1::integer[]", "$2::uuid[]", "$3::uuid[]", "$4::text[]", "$5::uuid[]")
	if !slices.Contains(p.got(), want) {
		t.Errorf("Postgres got\n%s\nand not\n%s", strings.Join(p.got(), "\n"), want)
	}

	// Both scripts find the row.
	for _, ask := range []func(business, application, environment, id string) string{askForOne, askTogether} {
		statement := strings.ReplaceAll(ask("'"+business+"'::uuid", "'"+application+"'::uuid", "'"+environment+"'", "'"+id+"'::uuid"),
			oneParameter+":", "'{0}':")
		tag, err := s.db.Exec(t.Context(), statement)
		if err != nil || tag.RowsAffected() != 1 {
			t.Errorf("%d rows, %v, by %s", tag.RowsAffected(), err, statement)
		}
	}
}

func TestWhatIsOnTheShelfIsFoundByItsNumber(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var business, application, environment string
	if err := s.db.QueryRow(t.Context(), "SELECT business_id::text, application_id::text, environment FROM deliveries").Scan(&business,
		&application, &environment); err != nil {
		t.Fatal(err)
	}
	const n = 12
	if tag, err := s.db.Exec(t.Context(), shelfSQL, []string{application}, n); err != nil || tag.RowsAffected() != n {
		t.Fatalf("%d were put there, %v", tag.RowsAffected(), err)
	}
	if strings.Contains(strings.ReplaceAll(shelfID, "-", ""), placeholder) {
		t.Error("a number is looked for in the wrong place")
	}
	for _, id := range []string{shelfID + "0000000", shelfID + "0000011"} {
		var found int
		err := s.db.QueryRow(t.Context(), "SELECT count(*) FROM ("+askForOne("$1", "$2", "$3", "$4")+") AS f", business, application,
			environment, id).Scan(&found)
		if err != nil || found != 1 {
			t.Errorf("%s: %d, %v", id, found, err)
		}
	}
	b := &bench{shelved: n, postgres: &server{customers: customers{business: business, applications: []string{application}}}}
	script := b.readScript(0, askForOne)
	if !strings.HasPrefix(script, "\\set n 111110000000 + random(0, 11) * 1 + 0\nSELECT id, ") ||
		!strings.Contains(script, "'"+shelfID[:24]+"' || :n::text") {
		t.Errorf("the script is %s", script)
	}
}
