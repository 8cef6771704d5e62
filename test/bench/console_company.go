package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/application/board"
	"waybill/domain"
)

//go:embed console.sql
var consoleSQL string

// company is the delivery company: a server over many deliveries, and its staff.
type company struct {
	*bench
	consoleOptions
	database string
	made     filling
	serving  *server
	customer customers
	logged   loggedBusiness // whose requests are in the log
	staff    []*http.Client // signed in
	endpoint string
	numbers  atomic.Int64
	filled   time.Duration
	bytes    int64
	idled    [2][]float64 // % of a core: without consoles, with them
}

// filledCustomers is how many customers the filled deliveries are of.
const filledCustomers = 199

// set fills the database, starts the server and lets the staff in.
func (c *company) set(ctx context.Context) error {
	database, err := c.createDatabase(ctx, "console")
	if err != nil {
		return err
	}
	c.database = database
	binary := c.bench.binary
	if err := command(ctx, binary, database, nil, "migrate", "up"); err != nil {
		return err
	}
	if c.customer, err = enroll(ctx, binary, database, domain.Live, paceApplications); err != nil {
		return err
	}
	first, err := launch(ctx, binary, c.dir, "serve", append(settings(database), "WAYBILL_WEBHOOK_ALLOW_PRIVATE=true"))
	if err != nil {
		return err
	}
	p := &post{bench: c.bench, serving: first}
	of := application{key: c.customer.keys[0]}
	c.endpoint, err = p.addEndpoint(ctx, of, "127.0.0.1:9/hooks")
	if err == nil {
		err = p.order(ctx, []application{of}, 1, 1)
	}
	if err := errors.Join(err, first.stop()); err != nil {
		return err
	}
	c.numbers.Store(p.numbers.Load())
	c.logged.portalOptions = portalOptions{rows: c.log}
	if err := c.logged.enroll(ctx, binary, database); err != nil {
		return err
	}
	begun := time.Now()
	if err := c.on(ctx, database, func(db *pgx.Conn) error { return c.fill(ctx, db) }); err != nil {
		return err
	}
	c.filled = time.Since(begun)
	if c.serving, err = launch(ctx, binary, c.dir, "serve", settings(database)); err != nil {
		return err
	}
	for n := range c.consoles {
		if err := c.invite(ctx, database, n); err != nil {
			return fmt.Errorf("let person %d in: %w", n, err)
		}
	}
	return nil
}

// fill makes deliveries of many customers and all over a town, some of them open, and
// what else is read.
func (c *company) fill(ctx context.Context, db *pgx.Conn) error {
	each, kinds := c.rows/c.open, domain.OpenStatuses()
	chance := rand.New(rand.NewPCG(1, 2))
	near := func(degrees float64) func(int) string {
		return func(int) string { return strconv.FormatFloat(degrees+chance.NormFloat64()/20, 'f', 5, 64) }
	}
	c.made = filling{rows: c.rows, begun: time.Now().Add(-time.Duration(c.rows) * apart)}
	c.made.owner = func(recipient int) (business, application string) {
		return c.made.id(businessKind, recipient%filledCustomers), c.made.id(applicationKind, recipient%filledCustomers)
	}
	c.made.deliveries = values{
		"status": func(n int) string {
			switch {
			case n%each == 0:
				return string(kinds[n/each%len(kinds)])
			case n%100 == 1:
				return string(domain.Failed)
			}
			return string(domain.Delivered)
		},
		"pickup_latitude": near(5.6), "pickup_longitude": near(-.2), "dropoff_latitude": near(5.6), "dropoff_longitude": near(-.2),
	}
	id := func(kind int) func(int) string { return func(n int) string { return c.made.id(kind, n) } }
	for _, t := range []struct {
		name string
		rows int
		values
	}{
		{"businesses", filledCustomers, values{"id": id(businessKind), "name": func(n int) string { return fmt.Sprintf("Customer %d", n) }}},
		{"applications", filledCustomers, values{"id": id(applicationKind), "business_id": id(businessKind)}},
		{"audit_log", c.rows / 5, values{"id": id(auditKind), "at": c.made.at,
			"action": func(int) string { return string(domain.ActionDeliveryAdvance) },
			"target": func(n int) string { return string(domain.PrefixDelivery) + c.made.id(deliveryKind, n) }}},
	} {
		if err := multiply(ctx, db, t.name, t.rows, t.values); err != nil {
			return fmt.Errorf("fill %s: %w", t.name, err)
		}
	}
	fmt.Fprintf(os.Stderr, "filling %s deliveries\n", amount(c.rows))
	if err := c.made.fill(ctx, db); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "filling the log with %s requests\n", amount(c.log))
	if err := c.logged.fill(ctx, db); err != nil {
		return err
	}
	if _, err := db.Exec(ctx, consoleSQL); err != nil {
		return fmt.Errorf("fill the reports: %w", err)
	}
	return db.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&c.bytes)
}

// finish delivers what was booked since the filling, so that as many are open as is said.
func (c *company) finish(ctx context.Context) error {
	return c.on(ctx, c.database, func(db *pgx.Conn) error {
		_, err := db.Exec(ctx, "UPDATE deliveries SET status = 'delivered' WHERE status = 'booked' AND reference NOT LIKE 'filled-%'")
		if err == nil {
			_, err = db.Exec(ctx, "VACUUM ANALYZE deliveries")
		}
		return err
	})
}

func (c *company) close() (err error) {
	if c.serving != nil {
		err = c.serving.stop()
	}
	return errors.Join(err, c.bench.close())
}

// invite signs a person in by a link.
func (c *company) invite(ctx context.Context, database string, n int) error {
	var made struct{ Link string }
	if err := command(ctx, c.bench.binary, database, &made, "staff", "invite", "--email", fmt.Sprintf("p%d@bench.example", n),
		"--name", fmt.Sprintf("Person %d", n), "--role", "admin", "--json"); err != nil {
		return err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := &http.Client{Jar: jar}
	at := c.serving.ops + "/console/enter/" + made.Link[strings.LastIndexByte(made.Link, '/')+1:]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, http.NoBody)
	if err != nil {
		return err
	}
	res, err := browser.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Request.URL.Path, "/console") {
		return fmt.Errorf("the link is answered %d at %s", res.StatusCode, res.Request.URL)
	}
	c.staff = append(c.staff, browser)
	return nil
}

// get reads a page of the console; a table too.
func (c *company) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.serving.ops+"/console"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := c.staff[0].Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode != http.StatusOK || strings.HasSuffix(res.Request.URL.Path, "/signin") ||
		strings.Contains(string(body), "cannot be read")) {
		err = fmt.Errorf("%s is answered %d at %s", path, res.StatusCode, res.Request.URL.Path)
	}
	return body, err
}

// pages are what every round measures.
func (c *company) pages() (all []*portalPage) {
	one := func(n int) int { return n * 7919 % c.rows }
	business := string(domain.PrefixBusiness) + c.made.id(businessKind, 7)
	app := string(domain.PrefixApplication) + c.made.id(applicationKind, 7)
	old := domain.Age{From: slices.Max(domain.AgeEdges())}.String()
	day := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	short := strings.NewReplacer(business, "ID", app, "ID", c.endpoint, "{id}", c.logged.business, "ID", c.longest(), "the longest period")
	from, list := "&business="+business, "/deliveries?"
	for _, path := range []string{"/board", "/board?business=" + business, "/",
		"/map", "/map?show=pickups&status=booked", "/map/points",
		"/queues", "/webhooks", "/webhooks/" + c.endpoint,
		"/businesses", "/businesses/" + business, "/businesses?q=customer+17",
		list, list + "environment=any", list + "environment=sandbox", list + "q=nobody-has-this",
		list + "status=open", list + "status=open&order=oldest", list + "status=open&age=" + old, list + "status=open&created_after=" + day,
		list + "status=booked", list + "status=outsourced&order=oldest",
		list + "status=failed", list + "status=failed&order=oldest",
		list + "status=delivered&order=oldest", list + "status=cancelled",
		list + "age=" + old, list + "created_before=" + day + "&environment=any",
		list + from, list + "order=oldest" + from, list + "status=open" + from, list + "status=failed" + from,
		list + "application=" + app, list + "status=failed&application=" + app,
		"/reports", "/reports?each=customer", "/reports?each=municipality&vehicle=car", "/reports?" + c.longest(),
		"/reports?each=customer&" + c.longest(), "/reports.csv?" + c.longest(), "/reports.csv?each=customer&" + c.longest(),
		"/requests", "/requests?failed=true", "/requests?environment=sandbox", "/requests?business=" + c.logged.business,
		"/requests?route=" + url.QueryEscape(rareRoute), "/requests?code=" + rareCode, "/requests?status=503", "/requests?q=order-4711",
		"/errors", "/errors?period=30d",
		"/audit", "/audit?action=" + string(domain.ActionKeyCreate), "/audit?business=" + business, "/staff",
	} {
		page := &portalPage{name: short.Replace(path), within: consolePageWithin, path: func(int) string { return path }}
		if strings.HasPrefix(path, "/reports.csv") {
			page.within = consoleTableWithin
		}
		all = append(all, page)
	}
	of := func(name, path string, value func(n int) string) {
		all = append(all, &portalPage{name: name, within: consolePageWithin, path: func(n int) string { return path + value(n) }})
	}
	id := func(n int) string { return string(domain.PrefixDelivery) + c.made.id(deliveryKind, one(n)) }
	of("/deliveries/{id}", "/deliveries/", id)
	of("/deliveries?q=external_id", "/deliveries?q=", func(n int) string { return fmt.Sprintf("filled-%d", one(n)) })
	of("/deliveries?q=phone", "/deliveries?q=", func(n int) string { return fmt.Sprintf("%%2B23327%07d", one(n)%c.made.recipients()) })
	of("/deliveries?after=ID", "/deliveries?after=", id)
	of("/deliveries?status=open&after=ID", "/deliveries?status=open&after=", id)
	of("/requests/{id}", "/requests/", func(n int) string { return c.logged.requests[n%len(c.logged.requests)] })
	of("/requests?delivery=ID", "/requests?delivery=", func(n int) string { return c.logged.deliveries[n%len(c.logged.deliveries)] })
	of("/audit?target=ID", "/audit?target=", id)
	return all
}

// longest is the longest period that a report may be about.
func (c *company) longest() string {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	return "from=" + today.Add(24*time.Hour-domain.ReportKept).Format(time.DateOnly) + "&to=" + today.Format(time.DateOnly)
}

// sharedFor is for how long all consoles are shown the same counts and points.
const sharedFor = board.RefreshAtLeast + 100*time.Millisecond

// anewPages are read when no console has asked for so long that they have to be counted
// anew.
func anewPages() (all []*portalPage) {
	for _, path := range []string{"/board", "/", "/map"} {
		all = append(all, &portalPage{name: path + ", after 10 s", within: consolePageWithin, path: func(int) string { return path }})
	}
	return all
}

// look reads a page so many times, one after the other.
func (c *company) look(ctx context.Context, p *portalPage, round, calls int) error {
	for n := range calls {
		begun := time.Now()
		body, err := c.get(ctx, p.path(round*calls+n))
		if err != nil {
			return err
		}
		p.took = append(p.took, time.Since(begun))
		p.bytes = max(p.bytes, len(body))
	}
	return nil
}

// lookAnew reads pages that have not been read for a while, the one first in turns.
func (c *company) lookAnew(ctx context.Context, pages []*portalPage, round int) error {
	for n := range c.anew {
		if err := pause(ctx, sharedFor); err != nil {
			return err
		}
		for i := range pages {
			if err := c.look(ctx, pages[(i+n+round)%len(pages)], round, 1); err != nil {
				return err
			}
		}
	}
	return nil
}
