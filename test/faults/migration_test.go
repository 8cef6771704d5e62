package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// beforeTenants is the last version whose rows did not all name their business, nor their
	// keys. Its servers and workers go on while `migrate up` of the program changes both.
	beforeTenants = "4cf9ee95adb873322a27aac53182601512fb713b"
	// lockedFor is how long a statement of a migration may keep others out of a table, or let
	// them wait for a row. In small the machine has other tests to run.
	lockedFor        = 100 * time.Millisecond
	lockedForInSmall = 5 * lockedFor
)

// upgrade is a post of the version before whose database is migrated under load.
type upgrade struct {
	*post
	owner *sender  // of the rows that were there before; gets nothing else
	some  []string // deliveries of the owner
	watch *lockWatch
	laps  *lapTimes
}

// TestLargeTablesAreMigratedBesideTraffic gives every row and key its business while clients
// order, move and read deliveries and webhooks are sent, and kills the migration in each of
// its steps. The long form has 10 million rows in the largest table.
func TestLargeTablesAreMigratedBesideTraffic(t *testing.T) {
	alongside(t)
	rows, clients, some, deaths := 100_000, 2, 200, 3
	if full() {
		rows, clients, some, deaths = 10_000_000, 4, 5000, 12
	}
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	u := newUpgrade(t, rows)
	loaded := make(chan struct{})
	over := func() bool {
		select {
		case <-loaded:
			return true
		default:
			return false
		}
	}
	load := u.write(t.Context(), clients, 100*time.Millisecond, over)
	var readers sync.WaitGroup
	readers.Go(func() { u.read(t.Context(), over) })
	ctx, ended := context.WithCancel(t.Context())
	defer ended()
	var watching sync.WaitGroup
	watching.Go(func() { u.watch.look(ctx) })
	more := func() { // what the same load takes without a migration
		n := len(u.laps.all())
		until(t, "clients are served", 5*time.Minute, func() bool { return len(u.laps.all()) >= n+some })
	}
	more()
	begun := time.Now()
	killed := u.migrate(t, binary)
	u.watch.step(afterMigrating)
	t.Logf("%d rows in the largest table were migrated in %s by a program that was killed %d times", rows,
		time.Since(begun).Round(time.Second), killed)
	more()
	close(loaded)
	load.Wait()
	readers.Wait()
	ended()
	watching.Wait()
	u.drain(t, time.Minute)
	t.Log(u.sizes(t))
	u.tell(t, killed, deaths)
}

// newUpgrade starts the version before on a server of its own, which logs all that waits for
// a lock, and fills its tables.
func newUpgrade(t *testing.T, rows int) *upgrade {
	t.Helper()
	server := ownPostgres(t, "log_lock_waits=on", "deadlock_timeout=10ms", "log_line_prefix=%m %p %a ", "max_wal_size=4GB")
	before := programOf(t, beforeTenants)
	if _, err := openDatabase(t, server.URL).ExecContext(t.Context(), "CREATE DATABASE grown"); err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(server.URL, "/postgres?", "/grown?", 1)
	if err := command(t.Context(), before, settings(url), nil, "migrate", "up"); err != nil {
		t.Fatal(err)
	}
	p := newPost(t, setting{dialect: Postgres, url: url, binary: before, servers: 1, workers: 1, apps: 2})
	u := &upgrade{post: p, laps: &lapTimes{transport: p.client.Transport}, watch: newLockWatch(t, url, server.Dir)}
	p.client.Transport = u.laps
	for _, app := range p.apps {
		u.receive(t, app, takes)
	}
	u.owner = newSender(enroll(t, before, settings(url), noLimit), p.servers)
	u.owner.client, u.owner.targets = p.client, []string{p.servers[0].url()}
	u.fill(t, rows)
	return u
}

// read asks for what was there before, old and new, until it is over. The feed is left out:
// the version before reads it by SELECT f.*, which fails once where a column is added.
func (u *upgrade) read(ctx context.Context, over func() bool) {
	for n := 0; !over() && ctx.Err() == nil; n++ {
		one := "/deliveries/dlv_" + u.some[n%len(u.some)]
		path := []string{"/deliveries?limit=20", one, one + "/events"}[n%3]
		r, err := u.owner.ask(ctx, http.MethodGet, path, "", nil)
		if err != nil {
			u.owner.note("connection errors")
		} else {
			u.owner.expects(r, http.StatusOK)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// migrate runs `migrate up` until it is done. The program is killed in each step, after a
// moment, and a few times more in the longest one.
func (u *upgrade) migrate(t *testing.T, binary string) (killed int) {
	t.Helper()
	deaths := map[string]int{}
	for {
		cmd := exec.CommandContext(t.Context(), binary, "migrate", "up")
		cmd.Env = environment(settings(u.url)...)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		in, due := "", time.Time{}
		for dead := false; !dead; {
			select {
			case err := <-ended:
				if err != nil {
					t.Fatalf("migrate up: %v\n%s", err, said.String())
				}
				return killed
			case <-time.After(2 * time.Millisecond):
			}
			step := u.watch.now()
			if step != in {
				in, due = step, time.Now().Add(rand.N(patienceIn(step)))
			}
			if deaths[step] < deathsIn(step) && time.Now().After(due) {
				_ = cmd.Process.Kill() // it fails only where the process is gone
				if err := <-ended; err == nil {
					return killed
				}
				deaths[step]++
				killed, dead = killed+1, true
				u.watch.step(betweenRuns)
			}
		}
	}
}

// deathsIn is how often the migration is killed in a step, and patienceIn within what time.
func deathsIn(step string) int {
	switch step {
	case filling:
		return 3
	case "", betweenRuns, beforeMigrating:
		return 0
	}
	return 1
}

func patienceIn(step string) time.Duration {
	switch {
	case !full():
		return 30 * time.Millisecond
	case step == filling:
		return time.Minute
	}
	return 2 * time.Second
}

// sizes are those of the tables that were changed.
func (u *upgrade) sizes(t *testing.T) (all string) {
	t.Helper()
	err := u.db.QueryRowContext(t.Context(), `SELECT pg_size_pretty(pg_database_size(current_database())) || ': ' ||
		string_agg(format('%s %s rows, %s', relname, reltuples::bigint, pg_size_pretty(pg_total_relation_size(oid))), '; '
			ORDER BY reltuples DESC)
		FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples > 1000`).Scan(&all)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// tell holds what clients saw, and what the database did, against what was promised.
func (u *upgrade) tell(t *testing.T, killed, deaths int) {
	t.Helper()
	if err := u.watch.err; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the looking at locks ended: %v", err)
	}
	waits := u.watch.waits(t)
	t.Log(u.watch.table(u.laps.all(), waits))
	if killed < deaths {
		t.Errorf("the migration was killed %d times, want %d at least", killed, deaths)
	}
	most := lockedForInSmall
	if full() {
		most = lockedFor
	}
	for _, h := range u.watch.held {
		if h.lasted() > most {
			t.Errorf("in step %q a transaction had %s of %s, or asked for it, for %s; want at most %s", h.step, h.mode, h.table, h.lasted(), most)
		}
	}
	for _, w := range waits {
		if w.lasted > most {
			t.Errorf("in step %q something waited for the migration's lock for %s, want at most %s: %s", w.step, w.lasted, most, w.said)
		}
	}
	l := u.tally(t)
	l.breaches = u.ofBusiness(t)
	t.Log(l)
	u.apps = append(u.apps, u.owner)
	t.Log("answers: " + u.answered(t))
	for _, app := range u.apps {
		if n := app.count("500 INTERNAL_SERVER_ERROR"); n > 0 {
			t.Errorf("%d answers were 500: a statement of the version before does not bear the change", n)
		}
	}
	if t.Failed() {
		t.Logf("the log of the server ends with:\n%s", u.servers[0].tail())
	}
	if !l.sound() {
		t.Error("want every webhook once, all that was acknowledged, and every row of the business of what it belongs to")
	}
}

// ofBusiness holds the rule that the migrations are about, and no other: copies of a row
// have no sense besides.
func (u *upgrade) ofBusiness(t *testing.T) (breaches []Breach) {
	t.Helper()
	const rule = "a row is of the business of what it belongs to"
	for _, v := range invariants {
		if v.rule != rule {
			continue
		}
		b := Breach{Rule: rule}
		if err := u.db.QueryRowContext(t.Context(), "SELECT count(*), COALESCE(min(CAST(culprit AS text)), '') FROM ("+v.query+") AS culprits").
			Scan(&b.Count, &b.Example); err != nil {
			t.Fatal(err)
		}
		if b.Count > 0 {
			breaches = append(breaches, b)
		}
		return breaches
	}
	t.Fatalf("there is no rule %q", rule)
	return nil
}

// lapTimes knows how long requests took, and when.
type lapTimes struct {
	transport http.RoundTripper

	mu   sync.Mutex
	runs []lap
}

// lap is one request.
type lap struct {
	begun  time.Time
	took   time.Duration
	create bool
}

func (l *lapTimes) RoundTrip(r *http.Request) (*http.Response, error) {
	begun := time.Now()
	res, err := l.transport.RoundTrip(r)
	one := lap{begun: begun, took: time.Since(begun), create: r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, singlePath)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = append(l.runs, one)
	return res, err
}

func (l *lapTimes) all() []lap {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs
}
