package e2e

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// slowLists makes every list of webhook endpoints of the sandbox take longer than a page
// may. Other statements look there too, by whichever plan, and are as quick as before.
var slowLists = []string{
	"ALTER TABLE webhook_endpoints RENAME TO webhook_endpoints_kept",
	`CREATE VIEW webhook_endpoints AS SELECT * FROM webhook_endpoints_kept
	WHERE environment <> 'sandbox' OR current_query() NOT LIKE 'SELECT%ORDER BY%LIMIT%' OR CAST(pg_sleep(60) AS text) IS NULL`,
}

func TestLongListsOfTheSandboxThatHoldTheirConnectionsHoldUpNothingElse(t *testing.T) {
	t.Parallel()
	// The fewest connections there may be, so that they are soon held.
	s := start(t, postgres, "WAYBILL_DATABASE_POOL_SIZE=8", "WAYBILL_RATE_LIMIT_PER_KEY=1000000/60s",
		"WAYBILL_RATE_LIMIT_PER_BUSINESS=1000000/60s")

	const applications, each = 8, 5 // one more each than may list at a time
	var attackers []*client
	for range applications {
		c := s.caller(t, sandbox)
		c.newEndpoint()
		attackers = append(attackers, c)
	}
	others := []*client{s.loner(t, live), s.loner(t, sandbox)}
	rewrite(t, s, slowLists...)

	var attack sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer attack.Wait()
	defer stop()
	var slow, refused atomic.Int32
	for _, c := range attackers {
		for range each {
			attack.Go(func() {
				for ctx.Err() == nil {
					a, err := c.try(http.MethodGet, "/webhook-endpoints", nil, within(ctx))
					switch {
					case err != nil: // the test is over
					case a.status == http.StatusServiceUnavailable:
						slow.Add(1)
						a.refused(503, "SERVICE_UNAVAILABLE")
						if a.header.Get("Retry-After") == "" {
							t.Error("503 without Retry-After")
						}
					default:
						refused.Add(1)
						a.refused(429, "RATE_LIMIT_EXCEEDED").has("error.details.scope", "concurrency", "error.details.limit", "4")
					}
				}
			})
		}
	}
	eventually(t, "lists are cut off and refused", func() bool { return slow.Load() >= applications && refused.Load() >= applications })

	// Each of these waits in line a few times where connections are shared with
	// the lists, and each time for seconds.
	const rounds, enough = 5, 15 * time.Second
	begun := time.Now()
	for range rounds {
		for _, c := range others {
			id := c.post("/deliveries", anOrder()).is(201).id()
			c.get("/deliveries/" + id).is(200)
			c.get("/deliveries/" + id + "/events").is(200)
		}
	}
	if took := time.Since(begun); took > enough {
		t.Errorf("creates and reads took %v in all, beside lists that hold their connections", took)
	}
	others[0].get("/deliveries").is(200) // lists of live have connections of their own, too
	others[0].get("/events").is(200)
}

// rewrite changes the database of a server as a careless operator would.
func rewrite(t *testing.T, s *server, statements ...string) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), s.Vars["WAYBILL_DATABASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.WithoutCancel(t.Context())) }()
	for _, statement := range statements {
		if _, err := db.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
}
