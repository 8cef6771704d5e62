package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed aged.sql
var agedSQL string

//go:embed watch.sql
var watchSQL string

// aged is more than events and webhooks are kept.
const aged = 31 * 24 * time.Hour

// age makes each second as much that is too old as there is created.
func (s *soaking) age(ctx context.Context, until time.Time) error {
	db, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer db.Close(context.WithoutCancel(ctx))
	begun := time.Now()
	for second := 1; time.Now().Before(until); second++ {
		tag, err := db.Exec(ctx, agedSQL, s.perSecond, (second-1)*s.perSecond, aged)
		if err == nil && tag.RowsAffected() != int64(s.perSecond) {
			err = fmt.Errorf("%d rows were made", tag.RowsAffected())
		}
		if err != nil {
			return fmt.Errorf("make what is to be cleaned: %w", err)
		}
		if err := pause(ctx, time.Until(begun.Add(time.Duration(second)*time.Second))); err != nil {
			return err
		}
	}
	return nil
}

// watch is when there was cleaning.
type watch struct {
	spans []span // in order, apart from each other
}

// aftermath of a statement still counts: its commit, and what waited for it.
const aftermath = 100 * time.Millisecond

// begin has Postgres record every DELETE: no request sends one. Sampling was
// rejected: it sees mostly slow statements.
func (w *watch) begin(ctx context.Context, db *pgx.Conn) error {
	_, err := db.Exec(ctx, watchSQL)
	for _, table := range cleaned {
		if err != nil {
			break
		}
		_, err = db.Exec(ctx, "CREATE TRIGGER bench_cleaned AFTER DELETE ON "+table+" FOR EACH STATEMENT EXECUTE FUNCTION bench_cleaned()")
	}
	return err
}

// end reads what was noted.
func (w *watch) end(ctx context.Context, db *pgx.Conn) error {
	rows, _ := db.Query(ctx, "SELECT begun, ended FROM bench_cleaning ORDER BY begun") // its error is that of the rows
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s span, err error) {
		err = row.Scan(&s.begun, &s.ended)
		return s, err
	})
	for _, s := range found {
		w.note(span{s.begun, s.ended.Add(aftermath)})
	}
	return err
}

// note adds what is not before the last one.
func (w *watch) note(s span) {
	if n := len(w.spans); n > 0 && !s.begun.After(w.spans[n-1].ended) {
		if last := &w.spans[n-1]; s.ended.After(last.ended) {
			last.ended = s.ended
		}
		return
	}
	w.spans = append(w.spans, s)
}

// during tells whether there was cleaning at any moment of a span.
func (w *watch) during(s span) bool {
	i, _ := slices.BinarySearchFunc(w.spans, s.begun, func(c span, t time.Time) int { return c.ended.Compare(t) })
	return i < len(w.spans) && !w.spans[i].begun.After(s.ended)
}

// split is the latencies of a stream beside cleaning, and of all others, each in
// order.
func (w *watch) split(spans []span) (beside, others measurement) {
	for _, s := range spans {
		to := &others
		if w.during(s) {
			to = &beside
		}
		to.latencies = append(to.latencies, s.ended.Sub(s.begun))
	}
	slices.Sort(beside.latencies)
	slices.Sort(others.latencies)
	return beside, others
}

// cleaned are the tables from which rows go again.
var cleaned = []string{"idempotency_keys", "webhook_deliveries", "webhook_attempts", "feed_events"}

// moment is what there is at a moment.
type moment struct {
	at                    time.Time
	tables                map[string]tableSize
	serve, worker         int // MiB
	serveGoes, workerGoes int // goroutines
}

// tableSize is of one table, as the statistics of Postgres have it.
type tableSize struct{ heap, indexes, live, dead, deleted int64 }

// each is the bytes of a row that is there.
func (t tableSize) each() float64 { return float64(t.heap+t.indexes) / float64(max(t.live, 1)) }

// samplesEvery is a minute, or less in short runs.
func (s *soaking) samplesEvery() time.Duration {
	return min(time.Minute, time.Duration(s.minutes*float64(time.Minute))/9)
}

func (s *soaking) sampleUntil(ctx context.Context, until time.Time) error {
	db, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer db.Close(context.WithoutCancel(ctx))
	for {
		if err := pause(ctx, s.samplesEvery()); err != nil {
			return err
		}
		one, err := s.take(ctx, db)
		if err != nil {
			return fmt.Errorf("take a sample: %w", err)
		}
		if s.samples = append(s.samples, one); time.Now().Add(s.samplesEvery()).After(until) {
			return nil
		}
	}
}

func (s *soaking) take(ctx context.Context, db *pgx.Conn) (one moment, err error) {
	one = moment{at: time.Now(), serve: resident(s.serving.PID()), worker: resident(s.worker.PID())}
	if one.tables, err = sizesOf(ctx, db); err != nil {
		return one, err
	}
	if one.serveGoes, err = goroutines(ctx, s.serving.ops); err != nil {
		return one, err
	}
	one.workerGoes, err = goroutines(ctx, s.worker.ops)
	return one, err
}

func sizesOf(ctx context.Context, db *pgx.Conn) (map[string]tableSize, error) {
	rows,
		err := db.Query(ctx,
		`SELECT relname::text, pg_table_size(relid), pg_indexes_size(relid), n_live_tup, n_dead_tup, n_tup_del FROM pg_stat_user_tables`)
	if err != nil {
		return nil, err
	}
	tables := map[string]tableSize{}
	var name string
	var t tableSize
	_, err = pgx.ForEachRow(rows, []any{&name, &t.heap, &t.indexes, &t.live, &t.dead, &t.deleted}, func() error {
		tables[name] = t
		return nil
	})
	return tables, err
}

// goroutines of a process, as its metrics tell them.
func goroutines(ctx context.Context, ops string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ops+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return gauge(res.Body, "go_goroutines")
}

// gauge reads a metric without labels.
func gauge(metrics io.Reader, name string) (int, error) {
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.Atoi(value)
		}
	}
	return 0, errors.Join(fmt.Errorf("there is no metric %s", name), lines.Err())
}
