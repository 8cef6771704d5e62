package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// heldRow is what another transaction holds of one customer, and what this customer
// sends meanwhile.
type heldRow struct {
	name    string
	hold    string // $business, $application and $delivery are the customer's
	load    func(c *holdup, n int64) (*http.Request, error)
	sandbox bool // the load and the neighbours are there
	short   bool // it is part of the small form
}

var heldRows = []heldRow{
	{name: "business", hold: "SELECT 1 FROM businesses WHERE id = '$business' FOR UPDATE", load: orderOfNewCustomer},
	{name: "application", hold: "SELECT 1 FROM applications WHERE id = '$application' FOR UPDATE", load: orderAgain, short: true},
	{name: "API key", hold: "SELECT 1 FROM api_keys WHERE application_id = '$application' FOR UPDATE", load: orderAgain},
	{name: "recipient", hold: "SELECT 1 FROM recipients WHERE business_id = '$business' FOR UPDATE", load: orderAgain},
	{name: "address", hold: "SELECT 1 FROM recipient_addresses WHERE business_id = '$business' FOR UPDATE", load: orderAgain},
	{name: "webhook endpoint", hold: "SELECT 1 FROM webhook_endpoints WHERE application_id = '$application' FOR UPDATE", load: orderAgain},
	{name: "idempotency keys that have expired", hold: "SELECT 1 FROM idempotency_keys WHERE application_id = '$application' FOR UPDATE",
		load: orderUnderOldKey},
	{name: "delivery", hold: "SELECT 1 FROM deliveries WHERE id = '$delivery' FOR UPDATE", load: cancelOne, short: true},
	{name: "all deliveries", hold: "SELECT 1 FROM deliveries WHERE business_id = '$business' FOR UPDATE", load: cancelAny},
	{name: "pickup location", hold: "SELECT 1 FROM pickup_locations WHERE business_id = '$business' FOR UPDATE", load: changePlace,
		short: true},
	// What an operator's import holds until it is done.
	{name: "import of pickup locations", hold: "SELECT 1 FROM businesses WHERE id = '$business' FOR UPDATE; UPDATE pickup_locations SET " +
		"name = name WHERE business_id = '$business'", load: orderAtPlace},
	// The advisory lock by which a booking that is under way keeps its place.
	{name: "place in the feed", hold: "SELECT pg_advisory_xact_lock_shared(2002937444, ((last_value & 4294967295) - 2147483648)::integer) " +
		"FROM feed_positions", load: orderAgain},
	{name: "count of simulations", hold: "UPDATE simulation_counts SET running = running WHERE application_id = '$application'",
		load: startSimulation, sandbox: true, short: true},
}

// heldOrders is how many orders the customer has whose row is held.
const heldOrders = 40

// holdup is a customer whose row is held.
type holdup struct {
	*sender
	order      m
	deliveries []string
	place      string // a pickup location
}

func (c *holdup) request(key, path string, body any) (*http.Request, error) {
	return c.requestBy(http.MethodPost, key, path, body)
}

func (c *holdup) requestBy(method, key, path string, body any) (*http.Request, error) {
	sent, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(method, c.targets[0]+path, strings.NewReader(string(sent)))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", key)
	}
	return req, err
}

func orderAgain(c *holdup, n int64) (*http.Request, error) {
	return c.request(fmt.Sprintf("held-order-%d", n), singlePath, c.order)
}

func orderOfNewCustomer(c *holdup, n int64) (*http.Request, error) {
	_, order := newClerk(0, 0).delivery()
	order["recipient"].(m)["phone_number"] = fmt.Sprintf("+23320%07d", n)
	return c.request(fmt.Sprintf("held-order-%d", n), singlePath, order)
}

// orderAtPlace is for a new recipient, or changes the place.
func orderAtPlace(c *holdup, n int64) (*http.Request, error) {
	if n%2 == 0 {
		return changePlace(c, n)
	}
	_, order := newClerk(0, 0).delivery()
	order["recipient"].(m)["phone_number"] = fmt.Sprintf("+23320%07d", n)
	delete(order, "pickup")
	order["pickup_location_id"] = c.place
	return c.request(fmt.Sprintf("held-order-%d", n), singlePath, order)
}

func changePlace(c *holdup, n int64) (*http.Request, error) {
	return c.requestBy(http.MethodPatch, fmt.Sprintf("held-place-%d", n), "/pickup-locations/"+c.place,
		m{"name": fmt.Sprintf("Osu kitchen %d", n)})
}

func orderUnderOldKey(c *holdup, n int64) (*http.Request, error) {
	return c.request(fmt.Sprintf("held-key-%d", n%heldOrders), singlePath, c.order)
}

func startSimulation(c *holdup, n int64) (*http.Request, error) {
	order := maps.Clone(c.order)
	order["sandbox"] = m{"scenario": "delivered", "step_seconds": 300}
	return c.request(fmt.Sprintf("held-simulation-%d", n), singlePath, order)
}

func cancelOne(c *holdup, n int64) (*http.Request, error) { return c.cancel(n, 0) }
func cancelAny(c *holdup, n int64) (*http.Request, error) { return c.cancel(n, n%heldOrders) }

func (c *holdup) cancel(n, of int64) (*http.Request, error) {
	return c.request(fmt.Sprintf("held-cancel-%d", n), singlePath+"/"+c.deliveries[of]+"/cancel", m{})
}

// TestARowThatIsHeldHoldsUpOnlyRequestsThatNeedIt has another transaction hold a row of one
// customer. 16 clients of that customer send requests that need the row; the test
// measures the creates of a neighbour with 12 clients, and whether the server is ready.
//
// One server with the default of 24 connections, Postgres and clients on 2 cores, each
// phase for 5 s (`WAYBILL_STORM=full go run ./test/servers -- go test ./test/faults -run
// TestARowThatIsHeld -v`, alone on the machine); p50 and p95 of the neighbour in ms,
// before (phases of 3 s beside other work, - where it was not measured so) and after
// transactions queued for held rows:
//
//	row held               alone       held, before    held, after   free again
//	business               4.3   9.0   -               4.0    7.9     7.9  14.6
//	application            6.5  15.0   2117   2234     5.3   15.6     7.8  13.4
//	API key                4.4   8.4     11     23     7.3   12.8     7.2  13.9
//	recipient              4.9   9.6   2104   4001     5.9   14.7     6.8  13.3
//	address                4.1   8.1   2109   2122     4.9   13.3     7.6  12.9
//	webhook endpoint       4.3   7.7   -               7.2   14.1     7.2  11.7
//	expired keys           4.3   8.2   2002   2004     5.4   11.4     9.6  23.3
//	delivery               4.1   7.6   2017   4026     4.2    7.7    17.7  34.2
//	all deliveries         4.8   8.5   2010   2013     5.7   13.4    16.2  35.9
//	count of simulations   7.5  15.4   -               6.8   16.7    10.6  23.3
//
// Three were added later, and measured beside much other work (a load of 27); with the
// row held p95 is 0.77 to 1.41 of that alone:
//
//	pickup location       26.1  93.6   -              17.9   71.9    31.4  77.6
//	import                10.4  41.9   -              20.2   59.2    64.5 137.4
//	place in the feed     25.4  56.9   -              30.0   68.8    16.5  50.2
//
// In the middle of all creates the neighbour saw nothing; its slowest took 243 ms, when
// the row was met first. The requests that needed the row got 503 or 409 after 2.1 to
// 4.2 s (4.0 to 6.0 before). Requests that need an API key's or an endpoint's row do
// not wait, so there the customer's orders weigh as they do when nothing is held.
func TestARowThatIsHeldHoldsUpOnlyRequestsThatNeedIt(t *testing.T) {
	alongside(t)
	url := freshDatabase(t, Postgres)
	shop := serve(t, url, 1, "WAYBILL_WEBHOOK_ALLOW_PRIVATE=true")
	db := openDatabase(t, url)
	h := &heldRowTest{shop: shop, url: url, lasts: 2 * time.Second}
	if full() {
		h.lasts = 5 * time.Second
	}
	h.neighbours = map[bool]*sender{false: shop.sender, true: h.inSandbox(t, shop.sender.customer)}
	for _, row := range heldRows {
		if !row.short && !full() {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			c := h.enrolled(t, row)
			if _, err := db.ExecContext(t.Context(), "UPDATE idempotency_keys SET expires_at = now() - interval '1 hour' WHERE application_id = $1",
				hexOf(c.customer.AppID)); err != nil {
				t.Fatal(err)
			}
			h.measure(t, row, nil) // warming up
			alone := h.measure(t, row, nil)
			release := h.hold(t, row, c)
			held := h.measure(t, row, c)
			release()
			free := h.measure(t, row, c)
			t.Logf("%s: alone %s; held %s; free again %s", row.name, alone, held, free)

			usual := max(alone.quantile(950), free.quantile(950))
			most := 3*usual + 100*time.Millisecond // beside other tests
			if full() {
				most = usual * 3 / 2
			}
			if p95 := held.quantile(950); p95 > most {
				t.Errorf("95 of 100 creates of a neighbour took %s, want %s", p95, most)
			}
			if free.answers["201"]+free.answers["200"] == 0 {
				t.Errorf("with the row free again the customer was answered %v", free.answers)
			}
		})
	}
}

// TestAServerThatIsFrozenHoldsUpOnlyRequestsThatNeedItsRows freezes another server in the
// middle of its transactions for one customer, and measures as above. Postgres ends
// them by itself after 2 s, or 10 s where they have no place in the feed.
//
// On 2 cores, beside other tests, phases of 2 s (`go run ./test/servers -- go test
// ./test/faults -run TestAServerThatIsFrozen -v`), p50 and p95 of the neighbour in ms:
// alone 9.9 and 32.1, beside the frozen server 9.8 and 23.2, afterwards 12.7 and 37.5.
// Requests that needed the row waited for 2.0 s at the most and were answered 201.
func TestAServerThatIsFrozenHoldsUpOnlyRequestsThatNeedItsRows(t *testing.T) {
	alongside(t)
	row := heldRow{name: "frozen server", load: startSimulation, sandbox: true}
	url := freshDatabase(t, Postgres)
	shop := serve(t, url, 1, "WAYBILL_WEBHOOK_ALLOW_PRIVATE=true")
	h := &heldRowTest{shop: shop, url: url, lasts: 2 * time.Second}
	if full() {
		h.lasts = 5 * time.Second
	}
	h.neighbours = map[bool]*sender{true: h.inSandbox(t, shop.sender.customer)}
	other := newVictim(t, shop.binary, shop.env)
	frozen := other.start(t)
	c := h.enrolled(t, row)
	h.measure(t, row, nil) // warming up
	alone := h.measure(t, row, nil)

	beside := newSender(c.customer, nil)
	beside.targets = []string{other.sandboxURL()}
	thaw := h.freeze(t, frozen, &holdup{sender: beside, order: c.order})
	held := h.measure(t, row, c)
	thaw()
	free := h.measure(t, row, c)
	t.Logf("alone %s; beside a frozen server %s; afterwards %s", alone, held, free)
	usual := max(alone.quantile(950), free.quantile(950))
	most := 3*usual + 100*time.Millisecond // beside other tests
	if full() {
		most = usual * 3 / 2
	}
	if p95 := held.quantile(950); p95 > most {
		t.Errorf("95 of 100 creates of a neighbour took %s, want %s", p95, most)
	}
	if free.answers["201"]+free.answers["429 SIMULATION_LIMIT"] == 0 {
		t.Errorf("afterwards the customer was answered %v", free.answers)
	}
}

// freeze stops a process while it has the count of the customer's simulations.
func (h *heldRowTest) freeze(t *testing.T, of *life, c *holdup) (thaw func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for ctx.Err() == nil {
				if req, err := startSimulation(c, h.sent.Add(1)); err == nil {
					_, _ = c.do(req.WithContext(ctx)) // most of it is never answered
				}
			}
		})
	}
	thaw = sync.OnceFunc(func() {
		cancel()
		if err := of.resume(); err != nil {
			t.Error(err)
		}
		clients.Wait()
	})
	t.Cleanup(thaw)
	db := openDatabase(t, h.url)
	for range 200 {
		time.Sleep(20 * time.Millisecond) // something is under way
		if err := of.stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // whatever is not its own goes on
		var begun int
		err := db.QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity a JOIN pg_locks l USING (pid)
			WHERE a.datname = current_database() AND a.state = 'idle in transaction' AND now() - a.state_change > interval '40 ms'
				AND l.relation = 'simulation_counts'::regclass AND l.mode = 'RowExclusiveLock'`).Scan(&begun)
		if err != nil {
			t.Fatal(err)
		}
		if begun > 0 {
			return thaw
		}
		if err := of.resume(); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the server was never stopped while it had the row")
	return nil
}

type heldRowTest struct {
	shop       *shop
	url        string
	lasts      time.Duration
	neighbours map[bool]*sender // by whether they are in the sandbox
	sent       atomic.Int64
}

// inSandbox is a customer's way into the sandbox.
func (h *heldRowTest) inSandbox(t *testing.T, c customer) *sender {
	t.Helper()
	var key struct{ Key string }
	if err := command(t.Context(), h.shop.binary, h.shop.env, &key, "key", "create", "--app", c.AppID, "--env", "sandbox", "--scopes", "all",
		"--json"); err != nil {
		t.Fatal(err)
	}
	c.Key = key.Key
	s := newSender(c, nil)
	s.targets = []string{h.shop.servers[0].sandboxURL()}
	return s
}

// enrolled is a customer with orders to one recipient and a webhook endpoint.
func (h *heldRowTest) enrolled(t *testing.T, row heldRow) *holdup {
	t.Helper()
	c := &holdup{sender: newSender(enroll(t, h.shop.binary, h.shop.env, noLimit), h.shop.servers)}
	if row.sandbox {
		c.sender = h.inSandbox(t, c.customer)
	}
	_, c.order = newClerk(0, 0).delivery()
	delete(c.order, "external_id")
	must := func(req *http.Request, err error) (id string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.do(req)
		if err != nil || r.status != http.StatusCreated {
			t.Fatalf("%s %s (error %v)", r, r.body, err)
		}
		var made struct{ Data struct{ ID string } }
		if err := json.Unmarshal(r.body, &made); err != nil {
			t.Fatal(err)
		}
		return made.Data.ID
	}
	must(c.request("held-endpoint", "/webhook-endpoints", m{"url": "http://127.0.0.1:9/hooks"}))
	c.place = must(c.request("held-place", "/pickup-locations", c.order["pickup"]))
	for n := range heldOrders {
		c.deliveries = append(c.deliveries, must(c.request(fmt.Sprintf("held-key-%d", n), singlePath, c.order)))
	}
	if row.sandbox {
		must(startSimulation(c, 0)) // so that there is a count
	}
	return c
}

// hold begins the transaction that holds the row.
func (h *heldRowTest) hold(t *testing.T, row heldRow, c *holdup) (release func()) {
	t.Helper()
	holder, err := pgx.Connect(t.Context(), h.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Close(context.Background()) })
	statement := strings.NewReplacer("$business", hexOf(c.customer.BusinessID), "$application", hexOf(c.customer.AppID), "$delivery",
		hexOf(c.deliveries[0])).Replace(row.hold)
	if _, err := holder.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if tag, err := holder.Exec(t.Context(), statement); err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("nothing is held: %v (error %v)", tag, err)
	}
	return func() {
		if _, err := holder.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

// laps is what was measured in a while.
type laps struct {
	took    []time.Duration // creates of the neighbour, in order
	slowest time.Duration   // answer to the customer whose row is held
	answers map[string]int  // to that one
}

func (l laps) quantile(perMille int) time.Duration { return quantileOf(l.took, perMille) }

func (l laps) String() string {
	told := fmt.Sprintf("p50 %.1f, p95 %.1f, slowest %.0f ms of %d", ms(l.quantile(500)), ms(l.quantile(950)), ms(l.quantile(1000)),
		len(l.took))
	if len(l.answers) > 0 {
		told += fmt.Sprintf(" (the other %v within %s)", l.answers, l.slowest.Round(time.Millisecond))
	}
	return told
}

// measure has the neighbour create for a while, beside a customer, if any.
func (h *heldRowTest) measure(t *testing.T, row heldRow, c *holdup) laps {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), h.lasts)
	defer cancel()
	l := laps{answers: map[string]int{}}
	var mu sync.Mutex
	var clients sync.WaitGroup
	neighbour := h.neighbours[row.sandbox]
	for range 12 {
		clients.Go(func() {
			for clerk := newClerk(0, 0); ctx.Err() == nil; time.Sleep(singlePause) {
				begun := time.Now()
				r, err := neighbour.post(t.Context(), clerk.single(), neighbour.targets[0])
				mu.Lock()
				l.took = append(l.took, time.Since(begun))
				mu.Unlock()
				if err != nil || r.status != http.StatusCreated {
					t.Errorf("a neighbour was answered %s (error %v)", r, err)
				}
			}
		})
	}
	if c != nil {
		for range 16 {
			clients.Go(func() {
				for ; ctx.Err() == nil; time.Sleep(singlePause) {
					begun := time.Now()
					req, err := row.load(c, h.sent.Add(1))
					var r reply
					if err == nil {
						r, err = c.do(req)
					}
					mu.Lock()
					l.answers[r.String()]++
					l.slowest = max(l.slowest, time.Since(begun))
					mu.Unlock()
					if err != nil || r.status >= http.StatusInternalServerError && r.String() != away || r.status >= http.StatusBadRequest &&
						r.retryAfter < 1 {
						t.Errorf("who needs the row was answered %s, Retry-After %d (error %v)", r, r.retryAfter, err)
					}
				}
			})
		}
	}
	clients.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			if status := h.shop.operators(t, "/readyz"); status != http.StatusOK {
				t.Errorf("/readyz answers %d", status)
			}
		}
	})
	clients.Wait()
	slices.Sort(l.took)
	if l.slowest > silentWithin {
		t.Errorf("who needs the row was answered after %s", l.slowest)
	}
	return l
}
