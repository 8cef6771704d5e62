package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/test/backend"
)

var (
	//go:embed seed.sql
	seedSQL string
	//go:embed function.sql
	functionSQL string
)

// What pgbench books for.
const (
	pgbenchBusiness    = "01900000-0000-7000-8000-00000000000b"
	pgbenchApplication = "01900000-0000-7000-8000-00000000000a"
)

// commitSQL is the script of a bare commit; the table of it is made in seed.sql.
const commitSQL = "INSERT INTO bench_commits (payload) VALUES (convert_to(repeat('x', 1400), 'UTF8'));\n"

// pgbench writes what a create writes, without the program.
type pgbench struct {
	path     string
	dir      string // for scripts
	database string // URL
	answer   []byte // a create's, as the program stores it
	payload  []byte // of its event
}

// pgbenchClients is how many connections it has.
const pgbenchClients = 16

// openPgbench makes a database for F, which stores what is stored of a create in db.
func openPgbench(ctx context.Context, b *bench, db *pgx.Conn) (*pgbench, error) {
	p := &pgbench{dir: b.dir}
	var err error
	if p.path, err = findTool(ctx, "pgbench"); err != nil {
		return nil, err
	}
	err = db.QueryRow(ctx, `SELECT k.body, f.payload FROM idempotency_keys k, feed_events f
		WHERE k.key LIKE 'bench-order-%' LIMIT 1`).Scan(&p.answer, &p.payload)
	if err != nil {
		return nil, fmt.Errorf("look for a create: %w", err)
	}
	if p.database, err = b.createDatabase(ctx, "function"); err != nil {
		return nil, err
	}
	if err := b.on(ctx, p.database, func(db *pgx.Conn) error { return prepareBooking(ctx, db) }); err != nil {
		return nil, fmt.Errorf("prepare pgbench: %w", err)
	}
	_, err = p.book(ctx, 0, warmUp, -1)
	return p, err
}

// prepareBooking puts into a migrated database what F needs.
func prepareBooking(ctx context.Context, db *pgx.Conn) error {
	sql := strings.NewReplacer("$business", pgbenchBusiness, "$application", pgbenchApplication).Replace(seedSQL)
	_, err := db.Exec(ctx, sql)
	return err
}

// findTool looks in PATH and beside the server's binaries for one of its clients.
func findTool(ctx context.Context, name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	binaries, err := backend.FindPostgres(ctx)
	if err != nil {
		return "", fmt.Errorf("%s is not in PATH: %w", name, err)
	}
	path := filepath.Join(binaries.Dir, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is neither in PATH nor beside the server: %w; on Debian it is in the package of the server", name, err)
	}
	return path, nil
}

var (
	tpsLine       = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)
	processedLine = regexp.MustCompile(`(?m)^number of transactions actually processed: ([0-9]+)`)
	failedLine    = regexp.MustCompile(`(?m)^number of failed transactions: ([0-9]+)`)
)

// book is F, for so many bookings a second; 0: as fast as they end. Each call must have a
// round of its own: identifiers are made from it, in the order of time as the program's are.
func (p *pgbench) book(ctx context.Context, perSecond int, duration time.Duration, round int) (measurement, error) {
	return p.run(ctx, functionSQL, perSecond, duration,
		"--define=n=0", fmt.Sprintf("--define=base=%d", int64(round+1)<<40),
		"--define=application="+pgbenchApplication, "--define=business="+pgbenchBusiness,
		`--define=mark=\x`+strings.Repeat("5a", 32), `--define=answer=\x`+hex.EncodeToString(p.answer),
		`--define=payload=\x`+hex.EncodeToString(p.payload))
}

// commit stores a row of a payload's size with one commit: the limit of any latency that
// has a commit in it.
func (p *pgbench) commit(ctx context.Context, perSecond int, duration time.Duration) (measurement, error) {
	return p.run(ctx, commitSQL, perSecond, duration)
}

// run measures a script. At a pace transactions begin by chance, and each is timed from when
// it was to begin.
func (p *pgbench) run(ctx context.Context, script string, perSecond int, duration time.Duration, defines ...string) (measurement, error) {
	file := filepath.Join(p.dir, "script.sql")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return measurement{}, err
	}
	sampling := "--sampling-rate=0.2"
	if perSecond > 0 {
		sampling = "--rate=" + strconv.Itoa(perSecond)
	}
	cmd := exec.CommandContext(ctx, p.path, append(defines, "--file="+file,
		"--no-vacuum", "--protocol=prepared", "--client="+strconv.Itoa(pgbenchClients), "--jobs=2",
		"--time="+strconv.Itoa(int(duration.Seconds())),
		"--log", "--log-prefix="+filepath.Join(p.dir, latencyLog), sampling, p.database)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return measurement{}, fmt.Errorf("pgbench: %w\n%s", err, out.Bytes())
	}
	var m measurement
	tps, processed := tpsLine.FindSubmatch(out.Bytes()), processedLine.FindSubmatch(out.Bytes())
	if tps == nil || processed == nil {
		return measurement{}, fmt.Errorf("pgbench printed no figures:\n%s", out.Bytes())
	}
	m.perSecond, _ = strconv.ParseFloat(string(tps[1]), 64) // as the pattern has it
	m.operations, _ = strconv.Atoi(string(processed[1]))
	if f := failedLine.FindSubmatch(out.Bytes()); f != nil && string(f[1]) != "0" {
		return measurement{}, fmt.Errorf("pgbench had failures:\n%s", out.Bytes())
	}
	var err error
	m.latencies, err = p.latencies()
	return m, err
}

// latencyLog is what the files begin with in which pgbench tells how long
// transactions took.
const latencyLog = "latency"

// latencies are those of a run, whose files are gone then.
func (p *pgbench) latencies() (all []time.Duration, err error) {
	files, err := filepath.Glob(filepath.Join(p.dir, latencyLog+".*"))
	for _, file := range files {
		var text []byte
		if text, err = os.ReadFile(file); err != nil {
			break
		}
		for line := range strings.Lines(string(text)) {
			var client, number, microseconds int
			if _, err := fmt.Sscan(line, &client, &number, &microseconds); err != nil {
				return nil, fmt.Errorf("pgbench logged %q: %w", line, err)
			}
			all = append(all, time.Duration(microseconds)*time.Microsecond)
		}
		if err = os.Remove(file); err != nil {
			break
		}
	}
	slices.Sort(all)
	return all, err
}
