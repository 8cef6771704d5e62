package faults

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Steps of the migrations, and what is around them.
const (
	beforeMigrating = "before"
	betweenRuns     = "between two runs"
	afterMigrating  = "after"
	filling         = "0032 fill and check"
)

// steps are told by what their statements begin with. Of an index the name comes last.
var steps = []struct{ begins, name string }{
	{"'SELECT business_id FROM deliveries WHERE id = NEW.delivery_id'", "0032 columns, triggers"},
	{"CALL fill_business(which)", filling},
	{"WHERE NOT x.indisvalid AND", "0034 broken indexes"},
	{"CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS ", "0034 index "},
	{"'webhook_leases_endpoint_fkey'", "0034 foreign keys"},
	{"kind IN SELECT c.relname, x.indrelid", "0034 keys"},
	{"CREATE STATISTICS IF NOT EXISTS", "0034 statistics"},
	{"ANALYZE ", "0034 ANALYZE"},
}

func stepOf(statement string) string {
	for _, s := range steps {
		if _, rest, is := strings.Cut(statement, s.begins); is {
			if strings.HasSuffix(s.name, " ") {
				rest, _, _ = strings.Cut(strings.TrimSuffix(rest, "_of_business"), " ")
				return s.name + strings.TrimSuffix(rest, "_of_business")
			}
			return s.name
		}
	}
	return ""
}

// locksEvery is the pause between two looks at the locks of a migration.
const locksEvery = 5 * time.Millisecond

// lockWatch looks at what a migration does, and at its locks that keep writers or readers out.
type lockWatch struct {
	db  *pgx.Conn
	log string // of the server

	mu    sync.Mutex
	begun []stepBegun
	pids  map[string]bool // of the migrations
	held  map[string]*heldLock
	gap   time.Duration // the longest between two looks
	err   error         // that ended the looking
}

type stepBegun struct {
	at   time.Time
	name string
}

// heldLock is what one transaction had of a table, or waited for while others queued behind it.
type heldLock struct {
	step, table, mode string
	from, to          time.Time // looks that found it
}

func (h *heldLock) lasted() time.Duration { return h.to.Sub(h.from) }

func newLockWatch(t *testing.T, url, serverDir string) *lockWatch {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	w := &lockWatch{db: conn, log: filepath.Join(serverDir, "server.log"), pids: map[string]bool{}, held: map[string]*heldLock{}}
	w.step(beforeMigrating)
	return w
}

// step notes what is being done from now on.
func (w *lockWatch) step(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.begun); n == 0 || w.begun[n-1].name != name {
		w.begun = append(w.begun, stepBegun{time.Now(), name})
	}
}

// now is the step that is being done.
func (w *lockWatch) now() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun[len(w.begun)-1].name
}

// at is the step that was being done.
func (w *lockWatch) at(moment time.Time) string {
	n, _ := slices.BinarySearchFunc(w.begun, moment, func(s stepBegun, at time.Time) int { return s.at.Compare(at) })
	return w.begun[max(n-1, 0)].name
}

// look goes on until ctx ends.
func (w *lockWatch) look(ctx context.Context) {
	const locks = `SELECT a.pid::text, COALESCE(a.state = 'active', false), a.query, clock_timestamp(), COALESCE(a.xact_start::text, ''),
		COALESCE(c.relname, ''), COALESCE(l.mode, '')
		FROM pg_stat_activity a
		LEFT JOIN pg_locks l ON l.pid = a.pid AND l.locktype = 'relation'
			AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
		LEFT JOIN pg_class c ON c.oid = l.relation
		WHERE a.application_name = 'waybill-migrate' AND a.datname = current_database()`
	last := time.Now()
	for ctx.Err() == nil {
		rows, err := w.db.Query(ctx, locks)
		if err != nil {
			w.err = err
			return
		}
		var pid, statement, transaction, table, mode string
		var active bool
		var at time.Time
		if _, err = pgx.ForEachRow(rows, []any{&pid, &active, &statement, &at, &transaction, &table, &mode}, func() error {
			if name := stepOf(statement); active && name != "" {
				w.step(name)
			}
			w.seen(pid, transaction, table, mode, at)
			return nil
		}); err != nil {
			w.err = err
			return
		}
		w.mu.Lock()
		w.gap = max(w.gap, time.Since(last)-locksEvery)
		w.mu.Unlock()
		last = time.Now()
		time.Sleep(locksEvery)
	}
}

func (w *lockWatch) seen(pid, transaction, table, mode string, at time.Time) {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pids[pid] = true
	if table == "" {
		return
	}
	key := strings.Join([]string{pid, transaction, table, mode}, " ")
	if w.held[key] == nil {
		w.held[key] = &heldLock{step: now, table: table, mode: mode, from: at}
	}
	w.held[key].to = at
}

// lockWait is what waited for a lock of a migration.
type lockWait struct {
	step, said string
	lasted     time.Duration
}

var (
	waitsFor = regexp.MustCompile(`^\S+ \S+ \S+ (\d+) \S* DETAIL:  Process(?:es)? holding the lock: ([\d, ]+)\. Wait queue: ([\d, ]*)`)
	// A file that grows has a lock too, which is no statement's: two writers wait for each other
	// at it, a migration or not.
	waitEnded = regexp.MustCompile(`^(\S+ \S+ \S+) (\d+) (\S*) LOG:  process \d+ ` +
		`(acquired \S+ on (?:relation|tuple|transaction) .*) after ([\d.]+) ms`)
)

// waits are read from the server's log, which has all that took longer than deadlock_timeout.
func (w *lockWatch) waits(t *testing.T) (all []lockWait) {
	t.Helper()
	file, err := os.Open(w.log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	blocked := map[string]bool{} // by the pid of what waits
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if found := waitsFor.FindStringSubmatch(line); found != nil {
			// Ahead in the queue is as much in the way as what has the lock.
			ahead, _, _ := strings.Cut(found[3], found[1])
			blocked[found[1]] = slices.ContainsFunc(strings.FieldsFunc(found[2]+","+ahead, func(r rune) bool { return r == ',' || r == ' ' }),
				func(pid string) bool { return w.pids[pid] })
		}
		found := waitEnded.FindStringSubmatch(line)
		if found == nil || w.pids[found[2]] || !blocked[found[2]] {
			continue
		}
		blocked[found[2]] = false
		took, err := strconv.ParseFloat(found[5], 64)
		at, failed := time.Parse("2006-01-02 15:04:05.000 MST", found[1])
		if err := cmp.Or(err, failed); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lasted := time.Duration(took * float64(time.Millisecond))
		all = append(all, lockWait{step: w.at(at.Add(-lasted)), said: found[4], lasted: lasted})
	}
	return all
}

// table tells of each step how long it took in all, what creates and other requests took
// meanwhile, and the longest lock and the longest wait for one.
func (w *lockWatch) table(laps []lap, waits []lockWait) string {
	type row struct {
		lasted, held, waited time.Duration
		waits                int
		creates, others      []time.Duration
	}
	rows, order := map[string]*row{}, []string(nil)
	of := func(name string) *row {
		if rows[name] == nil {
			rows[name], order = &row{}, append(order, name)
		}
		return rows[name]
	}
	for i, s := range w.begun {
		r, until := of(s.name), time.Now()
		if i+1 < len(w.begun) {
			until = w.begun[i+1].at
		}
		r.lasted += until.Sub(s.at)
	}
	for _, l := range laps {
		if l.begun.Before(w.begun[0].at) {
			continue
		}
		if r := of(w.at(l.begun)); l.create {
			r.creates = append(r.creates, l.took)
		} else {
			r.others = append(r.others, l.took)
		}
	}
	for _, h := range w.held {
		r := of(h.step)
		r.held = max(r.held, h.lasted())
	}
	for _, l := range waits {
		r := of(l.step)
		r.waits, r.waited = r.waits+1, max(r.waited, l.lasted)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the longest time between two looks at locks was %.0f ms\n%-40s %8s %28s %28s %9s %16s\n", ms(w.gap), "step", "seconds",
		"creates: p50, p99, most", "other requests", "held, ms", "waits, most ms")
	for _, name := range order {
		r := rows[name]
		three := func(of []time.Duration) string {
			slices.Sort(of)
			return fmt.Sprintf("%6d: %5.0f %6.0f %6.0f", len(of), ms(quantileOf(of, 500)), ms(quantileOf(of, 990)), ms(quantileOf(of, 1000)))
		}
		fmt.Fprintf(&b, "%-40s %8.1f %28s %28s %9.0f %9d %6.0f\n", name, r.lasted.Seconds(), three(r.creates), three(r.others), ms(r.held),
			r.waits, ms(r.waited))
	}
	return b.String()
}
