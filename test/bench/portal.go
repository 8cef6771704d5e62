package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// portalArgument makes this program measure the pages of the portal that show deliveries
// and the request log:
//
//	go run ./test/servers -- go run ./test/bench portal -rows 10000000
//
// The log is filled by SQL, most of it with the requests of one business. Pages are
// asked for one after the other by one browser, in rounds; what counts is the 95th
// percentile of a page.
const portalArgument = "portal"

// What pages may take.
const (
	listWithin   = 50 * time.Millisecond
	detailWithin = 30 * time.Millisecond
	homeWithin   = 100 * time.Millisecond
)

type portalOptions struct {
	rows   int
	booked int
	rounds int
	calls  int
	binary string
}

// portalPage is a page that is measured.
type portalPage struct {
	name   string
	path   func(n int) string
	within time.Duration
	took   []time.Duration
	bytes  int // of the largest
}

func benchPortal(ctx context.Context) (err error) {
	var o portalOptions
	flags := flag.NewFlagSet(portalArgument, flag.ExitOnError)
	flags.IntVar(&o.rows, "rows", 10_000_000, "requests in the log")
	flags.IntVar(&o.booked, "deliveries", 1_000_000, "deliveries of the business")
	flags.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	flags.IntVar(&o.calls, "calls", 40, "how often a page is asked for in a round")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	_ = flags.Parse(os.Args[2:]) // it exits
	b, err := open(ctx, options{binary: o.binary, connections: 1})
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return err
	}
	address, err := b.createDatabase(ctx, "portal")
	if err != nil {
		return err
	}
	if err := command(ctx, b.binary, address, nil, "migrate", "up"); err != nil {
		return err
	}
	l := &loggedBusiness{portalOptions: o}
	if err := l.enroll(ctx, b.binary, address); err != nil {
		return err
	}
	begun := time.Now()
	fmt.Fprintf(os.Stderr, "filling %s deliveries\n", amount(o.booked))
	if err := l.book(ctx, b, address); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "filling the log with %s requests\n", amount(o.rows))
	if err := b.on(ctx, address, func(db *pgx.Conn) error { return l.fill(ctx, db) }); err != nil {
		return err
	}
	filled := time.Since(begun)
	s, err := launch(ctx, b.binary, b.dir, "serve", settings(address))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := l.enter(ctx, s.portal); err != nil {
		return err
	}
	pages := l.pages()
	for round := range o.rounds {
		for i := range pages {
			p := pages[(i+round)%len(pages)]
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, p.name)
			for n := range o.calls {
				if err := l.ask(ctx, p, p.path(round*o.calls+n)); err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
			}
		}
	}
	fmt.Printf("Pages of the portal: %s deliveries, %s requests and %s rows of usage, %d MB, filled in %.0f s; %d calls of a page, one "+
		"after the other; %d processors for everything\n",
		amount(l.booked), amount(l.rows), amount(l.usage), l.bytes/1e6, filled.Seconds(), o.rounds*o.calls, runtime.NumCPU())
	fmt.Printf("%s; load average at the start %s\n\n%-44s%10s%10s%10s%10s%10s\n", b.about, b.loadAverage, "ms", "p50", "p95", "most", "aim",
		"kB")
	for _, p := range pages {
		slices.Sort(p.took)
		at := func(q float64) float64 { return milliseconds(p.took[min(len(p.took)-1, int(q*float64(len(p.took))))]) }
		missed := ""
		if at(.95) > milliseconds(p.within) {
			missed = "  missed"
		}
		fmt.Printf("%-44s%10.1f%10.1f%10.1f%10.0f%10.1f%s\n", p.name, at(.5), at(.95), at(1), milliseconds(p.within), float64(p.bytes)/1000,
			missed)
	}
	return nil
}

// loggedBusiness is a business whose requests are in the log, and the browser of one
// of its people.
type loggedBusiness struct {
	portalOptions
	business, app string
	keys          map[string]string // by environment
	liveKey       string            // itself
	link          string
	browser       *http.Client
	at            string

	requests, deliveries []string // some of them
	cursor               string   // a page deep in the list
	usage                int
	bytes                int64
}

func (l *loggedBusiness) enroll(ctx context.Context, binary, database string) error {
	var made struct{ ID, Link, Key string }
	if err := command(ctx, binary, database, &made, "business", "create", "--name", "Bench", "--json"); err != nil {
		return err
	}
	l.business = made.ID
	if err := command(ctx, binary, database, &made, "app", "create", "--business", l.business, "--name", "Bench", "--json"); err != nil {
		return err
	}
	l.app, l.keys = made.ID, map[string]string{}
	for _, e := range []string{"live", "sandbox"} {
		if err := command(ctx, binary, database, &made, "key", "create", "--app", l.app, "--env", e, "--scopes", "all", "--json"); err != nil {
			return err
		}
		l.keys[e] = made.ID
		if e == "live" {
			l.liveKey = made.Key
		}
	}
	err := command(ctx, binary, database, &made, "person", "invite", "--business", l.business, "--email", "ama@bench.example", "--name", "Ama",
		"--role", "owner", "--json")
	l.link = made.Link[strings.LastIndexByte(made.Link, '/')+1:]
	return err
}

// enter signs in by the link.
func (l *loggedBusiness) enter(ctx context.Context, portal string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	l.at, l.browser = portal, &http.Client{Jar: jar}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, portal+"/enter/"+l.link, http.NoBody)
	if err != nil {
		return err
	}
	res, err := l.browser.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Request.URL.Path != "/" {
		return fmt.Errorf("the link is answered %d at %s", res.StatusCode, res.Request.URL)
	}
	return nil
}

// ask gets a page once.
func (l *loggedBusiness) ask(ctx context.Context, p *portalPage, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.at+path, http.NoBody)
	if err != nil {
		return err
	}
	begun := time.Now()
	res, err := l.browser.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	p.took = append(p.took, time.Since(begun))
	p.bytes = max(p.bytes, len(body))
	if res.StatusCode != http.StatusOK || res.Request.URL.Path == "/signin" || strings.Contains(string(body), "cannot be read") {
		return fmt.Errorf("%s is answered %d at %s", path, res.StatusCode, res.Request.URL.Path)
	}
	return nil
}

// pages are what every round measures.
func (l *loggedBusiness) pages() []*portalPage {
	same := func(path string) func(int) string { return func(int) string { return path } }
	list := func(name string, query ...string) *portalPage {
		values := url.Values{}
		for i := 0; i < len(query); i += 2 {
			values.Set(query[i], query[i+1])
		}
		return &portalPage{name: name, path: same("/requests?" + values.Encode()), within: listWithin}
	}
	keys := "/apps/" + l.app + "/live/keys"
	return append(l.bookedPages(), []*portalPage{
		list("/requests"), list("/requests, deep page", "cursor", l.cursor),
		list("/requests, failed", "failed", "true"), list("/requests, sandbox", "environment", "sandbox"),
		list("/requests, application", "application", l.app),
		list("/requests, a route", "route", "GET /v1/deliveries"), list("/requests, a rare route", "route", rareRoute),
		list("/requests, a code", "code", "VALIDATION_ERROR"), list("/requests, a rare code", "code", rareCode),
		list("/requests, a rare status", "status", "503"),
		list("/requests, a key", "key", l.keys["sandbox"]), list("/requests, none such", "q", "order-4711"),
		{name: "/requests, a delivery", within: listWithin, path: func(n int) string {
			return "/requests?delivery=" + l.deliveries[n%len(l.deliveries)]
		}},
		{name: "/requests, an ID", within: listWithin, path: func(n int) string { return "/requests?q=" + l.requests[n%len(l.requests)] }},
		{name: "/requests/{id}", within: detailWithin, path: func(n int) string { return "/requests/" + l.requests[n%len(l.requests)] }},
		{name: "/errors, 24 hours", within: listWithin, path: same("/errors")}, {name: "/errors, 30 days", within: listWithin,
			path: same("/errors?period=30d")},
		{name: "/usage, 24 hours", within: listWithin, path: same("/usage")}, {name: "/usage, 30 days", within: listWithin,
			path: same("/usage?period=30d")},
		{name: "keys", within: listWithin, path: same(keys)},
		{name: "revoke", within: detailWithin, path: same(keys + "/" + l.keys["live"] + "/revoke")},
		{name: "home", within: homeWithin, path: same("/")},
	}...)
}
