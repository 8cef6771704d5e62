package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"waybill/adapters/batch"
	"waybill/domain"
)

// Lists and searches may be read from streaming replicas of Postgres, and show there what they
// would show on the primary. Before each of them this process asks the primary for the end of its
// log, and reads from a replica that has replayed the log up to there. So no list is older than the
// request for it, whichever process wrote last. A replica that is further behind, or does not
// respond, is left out, and the primary is read.
//
// Rejected were
//
//   - a note, by API key, of the log's end at its last write: each process would need those of all
//     others, and a customer who learns of a delivery from a webhook has written nothing,
//   - a time for which the primary is read after a write: no time is long enough for a replica
//     whose lag has just begun to grow,
//   - the feed: its bound is computed from locks of the primary,
//   - reports: a response of a replica is kept in memory whole, and they may be large.
//
// The end of the log is a number of one timeline. A replica that still follows a former primary,
// beyond the point at which the new one took over, has numbers of another one.

// pgLogEnd returns the end of the primary's log as far as it is on its disk, with the timeline.
// Places in the log are counted in bytes. All that was acknowledged is on the disk, except the
// request log, which is written without a wait for that. It appears on a replica when the primary
// has flushed it, by itself within three times its wal_writer_delay of 200 ms.
const pgLogEnd = "SELECT pg_wal_lsn_diff(flushed, '0/0')::bigint, left(pg_walfile_name(flushed), 8)" +
	" FROM (SELECT pg_current_wal_flush_lsn() AS flushed) AS log"

// pgReplayed returns up to where a replica has replayed the log, and whether it follows the
// timeline $1. For a while after a promotion that is not known, and it returns false.
const pgReplayed = "SELECT pg_is_in_recovery(), COALESCE(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), 0)::bigint," +
	" CAST($1 AS text) IN (SELECT upper(lpad(to_hex(t), 8, '0')) FROM" +
	" (SELECT timeline_id AS t FROM pg_control_checkpoint() UNION ALL SELECT min_recovery_end_timeline FROM pg_control_recovery()) AS known)"

const (
	// endTime limits how long the primary takes to return the end of its log.
	endTime = time.Second
	// brieflyBehind limits how many bytes a healthy replica may lack. The primary's end may be
	// within a record, which no replica can replay until the rest is there.
	brieflyBehind = 64 << 10
	// mostPositions limits the callers that share one statement for the end of the log.
	mostPositions = 1000
	// The pauses between two checks whether a replica has caught up.
	firstReplayPause, longestReplayPause = time.Millisecond, 16 * time.Millisecond
	// replicaGrace is how much later than the database itself this process ends a statement on a
	// replica. So a replica that responds is distinguished from one that does not.
	replicaGrace = 250 * time.Millisecond
)

var (
	errNoReplica = errors.New("it is no replica: it follows no other server")
	errTimeline  = errors.New("it does not follow the timeline of the primary, or not for long")
	errBehind    = errors.New("it has not caught up with the primary in time")
	errUnlooked  = errors.New("it was not looked at yet")
)

// position is a place in the log of the primary.
type position struct {
	at       int64
	timeline string
}

// replicas holds the replicas of a process.
type replicas struct {
	all       []*replica
	bound     time.Duration // of the lag
	log       *slog.Logger
	turn      atomic.Uint64 // of the next list
	onPrimary atomic.Int64  // lists that were read there

	stop    context.CancelFunc
	looking sync.WaitGroup
}

// replica is a server that follows the primary.
type replica struct {
	name  string                // host and port
	out   atomic.Pointer[error] // why no list is read from it; nil: they are
	lists atomic.Int64          // that were read from it

	looks  *sql.DB      // one connection, to check its health
	lag    atomic.Int64 // in nanoseconds, at the last check
	behind atomic.Int64 // bytes of the log that it had yet to replay then
	// unreplayed is the oldest end of the primary's log that it was not seen to have replayed. It
	// was the end at unreplayedAt. Zero: there is none.
	unreplayed   position
	unreplayedAt time.Time

	mu    sync.Mutex
	pools []*sql.DB // of all Stores
}

// replicaReads holds the connections with which one Store reads replicas.
type replicaReads struct {
	*replicas
	pools []replicaPool // in the order of all
	ends  *batch.Batcher[*position]
	looks bool // it runs the health checks
}

type replicaPool struct {
	*replica
	db *sql.DB
}

// choose returns a replica that lists may be read from, in turn. If there is none, some is false.
func (r *replicaReads) choose() (chosen replicaPool, some bool) {
	first := r.turn.Add(1)
	for i := range uint64(len(r.pools)) {
		if p := r.pools[(first+i)%uint64(len(r.pools))]; p.out.Load() == nil {
			return p, true
		}
	}
	return chosen, false
}

// reach takes a connection to a replica that has replayed all that was acknowledged before the
// call. The way there takes no longer than the bound of the lag, and the replica has as long to
// catch up.
func (r *replicaReads) reach(ctx context.Context) (*sql.Conn, *replica) {
	p, some := r.choose()
	if !some {
		return nil, nil
	}
	reaching, cancel := context.WithTimeout(ctx, r.bound)
	defer cancel()
	end, err := r.end(reaching)
	if err != nil {
		return nil, nil // the primary's own reads report it
	}
	conn, err := p.db.Conn(reaching)
	if err != nil {
		return nil, nil // all may be in use; health checks find out whether it responds
	}
	within, cancel := context.WithTimeout(ctx, r.bound)
	defer cancel()
	if at, err := end.replayed(within, conn); err != nil {
		_ = conn.Close() // back into the pool, or broken
		if ctx.Err() == nil && !end.brieflyAhead(at, err) {
			r.leaveOut(p.replica, err)
		}
		return nil, nil
	}
	return conn, p.replica
}

// end returns the end of the primary's log, at a moment after the call.
func (r *replicaReads) end(ctx context.Context) (position, error) {
	at := &position{} // left to a batch that may still fill it
	if err := r.ends.Do(ctx, at); err != nil {
		return position{}, err
	}
	return *at, nil
}

// newEnds reads the end of the log, by one statement for all callers that wait for it.
func newEnds(primary *sql.DB) *batch.Batcher[*position] {
	o := batch.Options{Size: mostPositions, Parallel: 2, Slow: 20 * time.Millisecond, Budget: time.Second}
	return batch.New(o, func(ctx context.Context, all []*position) []error {
		var end position
		// A caller may leave earlier. The connection, which is one of those of creates, is kept.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		err := primary.QueryRowContext(ctx, pgLogEnd).Scan(&end.at, &end.timeline)
		for _, at := range all {
			*at = end
		}
		return batch.Same(len(all), err)
	})
}

// replayed waits until a replica has replayed its log up to a position. It returns how far the
// replica is; 0: unknown.
func (p position) replayed(ctx context.Context, conn *sql.Conn) (at int64, err error) {
	for pause := firstReplayPause; ; pause = min(2*pause, longestReplayPause) {
		var follows, sameTimeline bool
		var now int64
		err := conn.QueryRowContext(ctx, pgReplayed, p.timeline).Scan(&follows, &now, &sameTimeline)
		switch {
		case err != nil:
			return at, fmt.Errorf("it did not tell how far it is: %w", endedBy(ctx, err))
		case !follows:
			return 0, errNoReplica
		case !sameTimeline:
			return 0, errTimeline
		case now >= p.at:
			return now, nil
		}
		at = now
		select {
		case <-ctx.Done():
			return at, errBehind
		case <-time.After(pause):
		}
	}
}

// brieflyAhead reports, by the error of replayed, whether the replica lacks next to nothing.
func (p position) brieflyAhead(at int64, err error) bool {
	return errors.Is(err, errBehind) && at > 0 && p.at-at < brieflyBehind
}

// leaveOut stops reading lists from a replica until it is found healthy.
func (r *replicas) leaveOut(from *replica, why error) {
	if was := from.out.Swap(&why); was == nil || errors.Is(*was, errUnlooked) {
		r.log.Warn("a replica of the database is left out: lists are read elsewhere", "replica", from.name, "error", why)
	}
}

// takeIn starts reading lists from a replica again.
func (r *replicas) takeIn(from *replica) {
	if from.out.Swap(nil) != nil {
		r.log.Info("lists are read from a replica of the database", "replica", from.name)
	}
}

// onReplica moves a session of lists to a replica, where one may be read. The returned function
// ends that.
func (s *session) onReplica(ctx context.Context) func() {
	if s.replicas == nil {
		return func() {}
	}
	conn, from := s.replicas.reach(ctx)
	if conn == nil {
		s.replicas.onPrimary.Add(1)
		return func() {}
	}
	page := &replicaPage{ConnPool: s.lists.ConnPool, replicas: s.replicas.replicas, from: from, conn: conn, dialect: s.dialect}
	s.db = s.lists.Session(&gorm.Session{NewDB: true, Context: ctx}) // without the context it would share its Statement with s.lists
	s.db.Statement.ConnPool = page
	return page.end
}

// replicaPage sends the statements of a page to a replica. If one fails there, this one and all
// others go to the primary.
type replicaPage struct {
	gorm.ConnPool // of the primary
	*replicas
	from    *replica
	conn    *sql.Conn
	failed  bool
	dialect *dialect
}

// QueryContext fails only as the primary does. It leaves out a replica that takes too long, like
// one that is gone. The primary may be faster, and has the rest of the time.
func (p *replicaPage) QueryContext(ctx context.Context, query string, values ...any) (*sql.Rows, error) {
	if !p.failed {
		rows, err := p.conn.QueryContext(ctx, query, values...)
		if err == nil || ctx.Err() != nil {
			return rows, err
		}
		if p.failed = true; p.dialect.gone(err) || p.dialect.tookTooLong(err) || errors.Is(err, context.DeadlineExceeded) {
			p.leaveOut(p.from, err)
		}
	}
	return p.ConnPool.QueryContext(ctx, query, values...)
}

func (p *replicaPage) end() {
	_ = p.conn.Close() // back into the pool, or broken
	if p.failed {
		p.onPrimary.Add(1)
	} else {
		p.from.lists.Add(1)
	}
}

// Replicas returns the state of each replica, and how many lists were read from the primary.
func (s *Store) Replicas() (all []domain.ReplicaState, others int64) {
	if s.pools.replicas == nil {
		return nil, 0
	}
	for _, r := range s.pools.replicas.all {
		state := domain.ReplicaState{Name: r.name, Lag: time.Duration(r.lag.Load()), Behind: r.behind.Load(), Lists: r.lists.Load()}
		if why := r.out.Load(); why != nil {
			state.LeftOut = (*why).Error()
		}
		all = append(all, state)
	}
	return all, s.pools.replicas.onPrimary.Load()
}

// openReplicas opens the connections of a Store to the replicas of its options. The pools beside
// it, if any, use the same replicas.
func openReplicas(o Options, p, beside *pools) (*replicaReads, error) {
	if len(o.ReplicaURLs) == 0 {
		return nil, nil
	}
	reads := &replicaReads{ends: newEnds(p.read)}
	if beside != nil && beside.replicas != nil {
		reads.replicas = beside.replicas.replicas
	} else {
		reads.looks = true
		reads.replicas = &replicas{bound: o.ReplicaLag, log: o.Logger}
		for _, url := range o.ReplicaURLs {
			r, err := newReplica(url, o)
			if err != nil {
				return nil, err
			}
			if p.named["replica "+r.name] != nil {
				return nil, errors.Join(fmt.Errorf("two replicas are at %s: name each server once", r.name), r.looks.Close())
			}
			reads.all, p.named["replica "+r.name] = append(reads.all, r), r.looks
		}
	}
	for i, r := range reads.all {
		db, err := replicaConnections(o.ReplicaURLs[i], o, max(1, o.ListPoolSize))
		if err != nil {
			return nil, err
		}
		p.named[o.Name+"_lists "+r.name] = db
		reads.pools = append(reads.pools, replicaPool{replica: r, db: db})
		r.mu.Lock()
		r.pools = append(r.pools, db)
		r.mu.Unlock()
	}
	return reads, nil
}

func newReplica(url string, o Options) (*replica, error) {
	config, err := parsePostgresURL(url)
	if err != nil {
		return nil, fmt.Errorf("a replica: %w", err)
	}
	if len(eachHost(config)) > 1 {
		return nil, errors.New("the URL of a replica names several servers: give each of them its own")
	}
	r := &replica{name: fmt.Sprintf("%s:%d", config.Host, config.Port)}
	r.out.Store(&errUnlooked)
	r.looks, err = replicaConnections(url, o, 1)
	return r, err
}

// standsBy refuses a server that follows no other, such as a promoted one.
func standsBy(ctx context.Context, c *pgconn.PgConn) error {
	answer := c.ExecParams(ctx, "SELECT pg_is_in_recovery()", nil, nil, nil, nil).Read()
	switch {
	case answer.Err != nil:
		return answer.Err
	case string(answer.Rows[0][0]) != "t":
		return errNoReplica
	}
	return nil
}

// replicaConnections opens a pool to a replica.
func replicaConnections(url string, o Options, size int) (*sql.DB, error) {
	o.CurrentURL = nil // is of the primary
	connector, err := newPgConnector(url, o, o.ListTimeout, standsBy)
	if err != nil {
		return nil, err
	}
	connector.whole = o.ListTimeout + replicaGrace
	return poolOf(connector, size), nil
}

// close ends the health checks if this Store runs them, and removes its pools from the replicas.
func (r *replicaReads) close() {
	if r == nil {
		return
	}
	if r.looks && r.stop != nil {
		r.stop()
		r.looking.Wait()
	}
	for _, p := range r.pools {
		p.mu.Lock()
		p.replica.pools = slices.DeleteFunc(p.replica.pools, func(db *sql.DB) bool { return db == p.db })
		p.mu.Unlock()
	}
}
