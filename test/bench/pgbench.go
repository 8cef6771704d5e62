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
	//go:embed statements.sql
	statementsSQL string
)

// What pgbench books for.
const (
	pgbenchBusiness    = "01900000-0000-7000-8000-00000000000b"
	pgbenchApplication = "01900000-0000-7000-8000-00000000000a"
)

// pgbench writes what a create writes, and reads what a get reads, without the
// program.
type pgbench struct {
	path     string
	clients  int
	protocol string
	rate     int    // transactions a second by chance, each timed from when it was to begin; 0: as fast as they end
	answer   []byte // a create's, as the program stores it
	payload  []byte // of its event
	dir      string // for scripts
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

// openPgbench makes a database for F, with what a create of an application stores.
func (p *post) openPgbench(ctx context.Context, a application, with pgbench) error {
	path, err := findTool(ctx, "pgbench")
	if err != nil {
		return err
	}
	c, err := dial(ctx, p.serving.address, a.key)
	if err != nil {
		return err
	}
	defer c.net.Close()
	n := int(p.numbers.Add(1))
	if _, err := c.create(n, n); err != nil {
		return err
	}
	with.path, with.dir, with.answer = path, p.dir, c.body
	p.pgbench = &with
	if err := p.db.QueryRow(ctx, "SELECT payload FROM feed_events LIMIT 1").Scan(&p.pgbench.payload); err != nil {
		return err
	}
	if p.onFunc, err = p.createDatabase(ctx, "function"); err != nil {
		return err
	}
	if err := command(ctx, p.binary, p.onFunc, nil, "migrate", "up"); err != nil {
		return err
	}
	if err := p.pgbench.seed(ctx, p.onFunc); err != nil {
		return err
	}
	_, err = p.book(ctx, *p.pgbench, 0, 2*time.Second)
	return err
}

// book is F at a pace.
func (b *bench) book(ctx context.Context, p pgbench, perSecond float64, duration time.Duration) (measurement, error) {
	p.rate = int(perSecond)
	return p.run(ctx, b.onFunc, []string{functionSQL}, duration, int(b.booked.Add(1)))
}

// seed prepares a migrated database for both scripts.
func (p *pgbench) seed(ctx context.Context, url string) error {
	db, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer db.Close(context.WithoutCancel(ctx))
	sql := strings.NewReplacer("$business", pgbenchBusiness, "$application", pgbenchApplication).Replace(seedSQL)
	_, err = db.Exec(ctx, sql)
	return err
}

var (
	tpsLine       = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)
	processedLine = regexp.MustCompile(`(?m)^number of transactions actually processed: ([0-9]+)`)
	failedLine    = regexp.MustCompile(`(?m)^number of failed transactions: ([0-9]+)`)
)

// run measures scripts, each transaction one of them at random. Each run must
// have a round of its own: identifiers are made from it, in the order of time as
// the program's are.
func (p *pgbench) run(ctx context.Context, url string, scripts []string, duration time.Duration, round int) (measurement, error) {
	var files []string
	for i, script := range scripts {
		file := filepath.Join(p.dir, fmt.Sprintf("script-%d.sql", i))
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			return measurement{}, err
		}
		files = append(files, "--file="+file)
	}
	sampling := "--sampling-rate=0.2"
	if p.rate > 0 {
		sampling = "--rate=" + strconv.Itoa(p.rate)
	}
	cmd := exec.CommandContext(ctx, p.path, append(files,
		"--no-vacuum", "--protocol="+p.protocol, "--client="+strconv.Itoa(p.clients), "--jobs=2",
		"--time="+strconv.Itoa(int(duration.Seconds())),
		"--log", "--log-prefix="+filepath.Join(p.dir, latencyLog), sampling,
		"--define=n=0", fmt.Sprintf("--define=base=%d", int64(round+1)<<40),
		"--define=application="+pgbenchApplication, "--define=business="+pgbenchBusiness,
		`--define=mark=\x`+strings.Repeat("5a", 32), `--define=answer=\x`+hex.EncodeToString(p.answer),
		`--define=payload=\x`+hex.EncodeToString(p.payload),
		"--define=environment=live", "--define=one={0}",
		url)...)
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
	m.client = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
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
