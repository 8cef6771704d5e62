package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"waybill/domain"
)

// neighboursArgument makes this program measure what one key of the sandbox can do
// to the live requests of another business:
//
//	go run ./test/servers -- go run ./test/bench neighbours
//
// The victim creates and reads deliveries at a steady pace, well below what the
// server can do, and a request is late by the time it was due at, not by when it
// was sent. That is measured alone, and then beside each attack in turn.
//
// The limits of requests are the usual ones, which -rate changes. Where an attack is
// refused it waits for a second, as it is told, and goes on.
const neighboursArgument = "neighbours"

// neighbourOptions are the flags behind it.
type neighbourOptions struct {
	rounds    int
	duration  time.Duration
	victims   int
	interval  time.Duration
	locations int
	events    int
	rate      string
	only      string
	binary    string
	plot      string
}

func benchNeighbours(ctx context.Context) (err error) {
	var o neighbourOptions
	flags := flag.NewFlagSet(neighboursArgument, flag.ExitOnError)
	flags.IntVar(&o.rounds, "rounds", 3, "how often everything is measured")
	flags.DurationVar(&o.duration, "duration", 8*time.Second, "length of one measurement")
	flags.IntVar(&o.victims, "victims", 16, "connections of the victim, each with a key of its own; half of them create, half read")
	flags.DurationVar(&o.interval, "interval", 125*time.Millisecond, "time between two requests of such a connection")
	flags.IntVar(&o.locations, "locations", 1200, "pickup locations that are searched")
	flags.IntVar(&o.events, "events", 200_000, "events of the feed that is read")
	flags.StringVar(&o.rate, "rate", "600/60s", "requests that a key may make")
	flags.StringVar(&o.only, "only", "", "only the attacks whose names contain this")
	flags.StringVar(&o.binary, "binary", "", "the program to measure; empty: build it")
	flags.StringVar(&o.plot, "plot", "", "a file into which the goals are drawn, as SVG")
	_ = flags.Parse(os.Args[2:]) // it exits
	b, err := open(ctx, options{binary: o.binary})
	s := &street{bench: b, neighbourOptions: o}
	defer func() { err = errors.Join(err, s.close()) }()
	if err != nil {
		return err
	}
	if err := s.moveIn(ctx); err != nil {
		return err
	}
	nights := append([]*night{{name: alone}}, s.attacks()...)
	nights = slices.DeleteFunc(nights, func(n *night) bool { return n.name != alone && !strings.Contains(n.name, o.only) })
	for round := range o.rounds {
		for _, n := range nights {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, n.name)
			if err := s.pass(ctx, n); err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
		}
	}
	return printNeighbours(os.Stdout, s, nights)
}

// street is a server, its victim, and a business that attacks it.
type street struct {
	*bench
	neighbourOptions
	db       *pgx.Conn
	database string
	serving  *server

	victim   customers
	read     []string // the paths of deliveries, of each application of the victim
	numbers  int      // of the victim's creates so far
	attacked int      // the last number of a bulk
	attacker customers
}

const alone = "alone"

// night is the victim's share while something goes on, or nothing.
type night struct {
	name    string
	attack  func(ctx context.Context, key string) ([]raid, error) // nil: none
	results []nightly
}

// nightly is one of its rounds.
type nightly struct {
	creates, gets measurement
	failed        int // answers of 5xx, or none at all, to the victim
	example       string
	answers       map[int]int // to the attack, by status
}

// moveIn starts the server and makes what is attacked. What it opens is closed with
// the street, also after an error.
func (s *street) moveIn(ctx context.Context) (err error) {
	if s.database, err = s.createDatabase(ctx, "neighbours"); err != nil {
		return err
	}
	if s.db, err = pgx.Connect(ctx, s.database); err != nil {
		return err
	}
	if err := command(ctx, s.bench.binary, s.database, nil, "migrate", "up"); err != nil {
		return err
	}
	if s.victim, err = enroll(ctx, s.bench.binary, s.database, domain.Live, s.victims); err != nil {
		return err
	}
	if s.attacker, err = enroll(ctx, s.bench.binary, s.database, domain.Sandbox, 1); err != nil {
		return err
	}
	env := append(settings(s.database), "WAYBILL_RATE_LIMIT_PER_KEY="+s.rate)
	if s.serving, err = launch(ctx, s.bench.binary, s.dir, "serve", env); err != nil {
		return err
	}
	for _, key := range s.victim.keys {
		id, err := s.book(ctx, s.serving.address, key)
		if err != nil {
			return err
		}
		s.read = append(s.read, "/v1/deliveries/"+id)
	}
	if _, err := s.book(ctx, s.serving.sandbox, s.attacker.keys[0]); err != nil {
		return err
	}
	return errors.Join(s.place(ctx), s.happen(ctx))
}

// book creates a delivery and returns its ID.
func (s *street) book(ctx context.Context, address, key string) (string, error) {
	c, err := dial(ctx, address, key)
	if err != nil {
		return "", err
	}
	defer c.net.Close()
	s.numbers++
	a, err := c.create(s.numbers, s.numbers)
	if err != nil {
		return "", err
	}
	return idIn(a, http.StatusCreated)
}

// idIn is the ID of what was made.
func idIn(a answer, status int) (string, error) {
	var made struct{ Data struct{ ID string } }
	if a.status != status || json.Unmarshal(a.body, &made) != nil || made.Data.ID == "" {
		return "", fmt.Errorf("answered %d: %s", a.status, a.body)
	}
	return made.Data.ID, nil
}

// place gives the attacker pickup locations whose text is one letter over and over
// once it is folded: the ligature stands for two of it.
func (s *street) place(ctx context.Context) error {
	var business string
	err := s.db.QueryRow(ctx, "SELECT business_id FROM applications WHERE id = $1", s.attacker.applications[0]).Scan(&business)
	if err != nil {
		return err
	}
	var table strings.Builder
	table.WriteString("name,address\n")
	for i := range s.locations {
		fmt.Fprintf(&table, "%s %d,%s\n", strings.Repeat("ﬀ", 90), i, strings.Repeat("ﬀ", 190))
	}
	file := filepath.Join(s.dir, "locations.csv")
	if err := os.WriteFile(file, []byte(table.String()), 0o600); err != nil {
		return err
	}
	return command(ctx, s.bench.binary, s.database, nil, "pickup-location", "import", "--business", "biz_"+strings.ReplaceAll(business, "-",
		""), "--env", "sandbox", file)
}

// happen copies the event of the attacker's delivery until there are enough.
func (s *street) happen(ctx context.Context) error {
	_, err := s.db.Exec(ctx, `INSERT INTO feed_events SELECT copy.*
		FROM (SELECT * FROM feed_events WHERE application_id = $1 LIMIT 1) AS event, generate_series(1, $2::integer) AS n,
			jsonb_populate_record(NULL::feed_events, to_jsonb(event) || jsonb_build_object(
				'id', '01911111-1111-7111-8111-' || (111110000000 + n)::text, 'payload', event.payload)) AS copy`, s.attacker.applications[0], s.events)
	if err != nil {
		return fmt.Errorf("make events: %w", err)
	}
	return clean(ctx, s.db)
}

func (s *street) close() error {
	var err error
	if s.serving != nil {
		err = s.serving.stop()
	}
	if s.db != nil {
		err = errors.Join(err, s.db.Close(context.Background()))
	}
	return errors.Join(err, s.bench.close())
}

// pass measures the victim beside the attack, which has begun a moment before.
func (s *street) pass(ctx context.Context, n *night) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var tallies tally
	var attacking sync.WaitGroup
	defer attacking.Wait()
	defer cancel()
	if n.attack != nil {
		var key struct{ Key string } // a new one, whose minute is not used up
		if err := command(ctx, s.bench.binary, s.database, &key, "key", "create", "--app", "app_"+s.attacker.applications[0], "--env",
			string(domain.Sandbox), "--scopes", "all", "--json"); err != nil {
			return err
		}
		raids, err := n.attack(ctx, key.Key)
		if err != nil {
			return err
		}
		for _, r := range raids {
			attacking.Go(func() { r.strike(ctx, s.serving.sandbox, &tallies) })
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	result, err := s.live(ctx)
	if err != nil {
		return err
	}
	cancel()
	attacking.Wait()
	result.answers = tallies.counts
	for status := range result.answers {
		if status >= http.StatusBadRequest && status < http.StatusInternalServerError && status != http.StatusConflict &&
			status != http.StatusTooManyRequests {
			return fmt.Errorf("the attack was answered %d: it is none", status)
		}
	}
	n.results = append(n.results, result)
	return s.awaitQuiet(context.WithoutCancel(ctx))
}

// awaitQuiet waits until bulks have ended whose clients have gone, and for a moment
// more.
func (s *street) awaitQuiet(ctx context.Context) error {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		var bulks int
		err := s.db.QueryRow(ctx, "SELECT count(*) FROM idempotency_keys WHERE status = 0 AND leased_until > now()").Scan(&bulks)
		if err != nil || bulks == 0 {
			return err
		}
	}
	return errors.New("bulks of the attack still go on a minute after it")
}

// live is the victim's share of the time.
func (s *street) live(ctx context.Context) (n nightly, err error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	begun := time.Now()
	for i, key := range s.victim.keys {
		creates := i%2 == 0
		request := createRequest(s.serving.address, key)
		if !creates {
			request = getRequest(s.serving.address, key, s.read[i])
		}
		steps := int(s.duration / s.interval)
		first := s.numbers + 1
		s.numbers += steps
		group.Go(func() {
			var m measurement
			failed, example := 0, ""
			var c *conn
			for step := range steps {
				// The connections take turns.
				due := begun.Add(time.Duration(step)*s.interval + s.interval*time.Duration(i)/time.Duration(len(s.victim.keys)))
				time.Sleep(time.Until(due))
				var a answer
				var err error
				if c == nil {
					c, err = dialWith(ctx, s.serving.address, request)
				}
				if err == nil {
					a, err = c.create(first+step, first+step)
				}
				m.latencies = append(m.latencies, time.Since(due))
				if want := map[bool]int{true: http.StatusCreated, false: http.StatusOK}[creates]; err != nil || a.status != want {
					failed, example = failed+1, fmt.Sprintf("%d %s %v", a.status, a.body, err)
				}
				if err != nil && c != nil {
					_ = c.net.Close()
					c = nil
				}
			}
			if c != nil {
				_ = c.net.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			into := &n.gets
			if creates {
				into = &n.creates
			}
			into.latencies = append(into.latencies, m.latencies...)
			if n.failed += failed; example != "" {
				n.example = example
			}
		})
	}
	group.Wait()
	slices.Sort(n.creates.latencies)
	slices.Sort(n.gets.latencies)
	return n, ctx.Err()
}
