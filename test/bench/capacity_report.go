package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"time"
)

// keptDays are the tables that grow with deliveries and do not keep their rows for good,
// with the default settings.
var keptDays = map[string]int{
	"feed_events": 30, "webhook_deliveries": 30, "webhook_attempts": 30, "idempotency_keys": 1, "request_successes": 3,
	"request_failures": 30, "usage_minutes": 400, "usage_hours": 400, "report_figures": 400,
}

// plannedHours are deliveries an hour that the page tells the disk of.
var plannedHours = []int{10, 1000, 100_000}

const yearDays = 365

// plannedShare of the processors is what a plan may count on: the rest is for peaks, backups and
// a machine that has failed.
const plannedShare = 0.5

// printCapacity is the page.
func printCapacity(w io.Writer, c *capacity, all []*lived, empty, full map[string]table) error {
	fmt.Fprintf(w, "What deliveries cost: %d rounds; %d processors for everything, %s; load average at the start %s\n",
		len(all[0].rounds), runtime.NumCPU(), c.about, c.loadAverage)
	fmt.Fprintf(w, "A delivery is booked, read once, moved %d times, and %d webhooks are sent to one endpoint.\n\n",
		len(lifeMoves), lifeEvents)
	fmt.Fprintf(w, "%-20s%12s%12s%12s%12s%12s%28s%22s\n", "deliveries an hour", "serve", "worker", "Postgres", "Redis", "% of a core",
		"ms for each delivery", "MiB: serve, worker")
	var each float64
	for _, l := range all {
		share := func(of func(spent) time.Duration) float64 {
			return median(l.values(func(r lifeRound) float64 { return 100 * float64(of(r.spent)) / float64(r.took) }))
		}
		name, lives := l.name, ""
		if l.rounds[0].lives > 0 {
			took := l.values(func(r lifeRound) float64 { return milliseconds(r.spent.inAll()) / float64(r.lives) })
			each, lives = median(took), fmt.Sprintf("%.1f %s", median(took), spread(took))
		}
		if l == all[len(all)-1] {
			name = amount(int(median(l.values(func(r lifeRound) float64 { return float64(r.lives) / r.took.Hours() }))))
		}
		fmt.Fprintf(w, "%-20s%12.1f%12.1f%12.1f%12.1f%12.1f%28s%22s\n", name, share(func(s spent) time.Duration { return s.serve }),
			share(func(s spent) time.Duration { return s.worker }), share(func(s spent) time.Duration { return s.postgres }),
			share(func(s spent) time.Duration { return s.redis }), share(spent.inAll), lives,
			fmt.Sprintf("%.0f, %.0f", median(l.values(func(r lifeRound) float64 { return float64(r.serve) })),
				median(l.values(func(r lifeRound) float64 { return float64(r.worker) }))))
	}
	inAYear := printTables(w, c.lives, empty, full)
	perCore := plannedShare * time.Hour.Seconds() * 1000 / each
	fmt.Fprintf(w, "\nExtrapolated: with %.0f %% of its processors for deliveries, a node has %s an hour for each core; "+
		"%.1f cores for 100,000 an hour.\n", 100*plannedShare, amount(int(perCore)), 100_000/perCore)
	for _, perHour := range plannedHours {
		fmt.Fprintf(w, "Extrapolated: %s an hour take %.1f GB of disk after a year.\n", amount(perHour), inAYear*float64(perHour)/1e9)
	}
	return nil
}

func (l *lived) values(of func(lifeRound) float64) (values []float64) {
	for _, r := range l.rounds {
		values = append(values, of(r))
	}
	return values
}

// printTables tells of those that grew, and returns how many bytes there are after a year
// of one delivery an hour.
func printTables(w io.Writer, lives int, empty, full map[string]table) (inAYear float64) {
	fmt.Fprintf(w, "\n%-28s%16s%22s   %s\n", amount(lives)+" deliveries", "rows for each", "bytes for each", "kept for")
	grown := func(name string) float64 { return float64(full[name].Bytes-empty[name].Bytes) / float64(lives) }
	names := slices.SortedFunc(maps.Keys(full), func(a, b string) int { return cmp.Compare(grown(b), grown(a)) })
	var sum float64
	for _, name := range names {
		sum += grown(name)
		kept, days := "good", yearDays
		if some := keptDays[name]; some > 0 {
			kept, days = fmt.Sprintf("%d d", some), min(some, yearDays)
		}
		inAYear += grown(name) * 24 * float64(days)
		if grown(name) >= 1 {
			fmt.Fprintf(w, "%-28s%16.2f%22.0f   %s\n", name, float64(full[name].Rows-empty[name].Rows)/float64(lives), grown(name), kept)
		}
	}
	fmt.Fprintf(w, "%-28s%38.0f\n", "all", sum)
	return inAYear
}
