package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"waybill/adapters/batch"
	"waybill/domain"
	"waybill/ports"
)

// On Citus the rows of a business are on one node, which the column business_id decides
// (citus_distribute.go lists the places of all tables). The program queries the coordinator, which
// queries the nodes that a statement needs. A statement that names the business needs one node and
// can be any that Postgres accepts. This dialect differs from that of Postgres:
//
//   - A batch of bookings is of one business, so that a create is a commit on one node. One over
//     several nodes would be prepared on each of them first (two-phase commit).
//   - Statements that find a row by an endpoint alone name the business too, which is looked up
//     once ($node). Statements over all businesses join by it ($with).
//   - An INSERT that meets a row cannot read the clock, so expired rows are deleted first. A
//     statement over several nodes cannot lock the rows that it reads.
//   - No key is an ID alone: an ID that a caller chose is first searched for on all nodes.
//   - There are no triggers. Statements do what the program needs of them.
//   - Lock time-outs are set in each transaction, which carries them to the nodes.
//   - Constraints are recognized by their names on a node, in the text of an error.
//
// Single look-ups are not batched: each is one statement to one node.

// citusDialect returns postgresDialect with the changes for a coordinator of Citus.
func citusDialect() *dialect {
	e := postgresDialect
	e.sharded, e.owners = true, &endpointOwners{of: map[rowID]rowID{}}
	e.open = func(url string, o Options, beside *pools) (*pools, error) {
		o.citus = true
		return openPostgres(url, o, beside)
	}
	e.batchesLookups, e.changesInWith = false, false
	e.recentTables = "" // tables of nodes are small, and analyzed there
	e.newestLease = "(SELECT * FROM webhook_leases WHERE endpoint_id = $1$$own($1))"
	e.insertFeed = "INSERT INTO feed_events (id, business_id, application_id, environment, delivery_id, sequence, type, occurred_at," +
		" payload, position) SELECT ?::uuid, ?::uuid, ?::uuid, ?::text, ?::uuid, ?::integer, ?::text, ?::timestamptz, ?::bytea, " + pgPosition
	e.violated = violatedOnNode
	e.refused = refusedByCitus
	// The coordinator has no code for what a node reports about a COPY.
	e.lacksPartition = func(err error) bool {
		return postgresDialect.lacksPartition(err) || isPg(err, pgInternalError) && strings.Contains(err.Error(), "no partition of relation")
	}
	return &e
}

// onCitus returns the store itself, or one with the dialect of Citus if its database is
// distributed.
func (s *Store) onCitus(ctx context.Context, url string, o Options) (*Store, error) {
	state, err := citusOf(ctx, s.pools.write)
	if err == nil && state.begun && !state.distributed {
		err = errors.New("the distribution of this database was cut off: run waybill migrate distribute again")
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !state.distributed {
		return s, nil
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return openBeside(ctx, citusDialect(), url, o, nil)
}

// onCitusNodes makes the coordinator carry settings of a transaction to the nodes. It returns the
// default lock time-out there. A session has sessions at the nodes, which cost too much to throw
// away with each caller that cancels.
func onCitusNodes(config *pgx.ConnConfig) (lockTimeout string) {
	withoutCancels(config)
	config.RuntimeParams["citus.propagate_set_commands"] = "local"
	return config.RuntimeParams["lock_timeout"]
}

// beginCarrying begins a transaction in one round trip. It sends each statement separately: the
// coordinator would carry all of a text with several statements, BEGIN included.
func (c *pgConn) beginCarrying(ctx context.Context) (driver.Tx, error) {
	wait := c.lockTimeout
	if c.lockWait > 0 {
		wait = milliseconds(c.lockWait)
	}
	begin := &pgx.Batch{}
	begin.Queue(pgBegin)
	begin.Queue("SET LOCAL lock_timeout = " + quoted(wait))
	if err := c.pgx().SendBatch(ctx, begin).Close(); err != nil {
		if c.pgx().PgConn().TxStatus() != idleStatus {
			_ = c.pgx().Close(ctx) // whatever state it is in
		}
		return nil, err
	}
	return carriedTx{ctx: ctx, conn: c.pgx()}, nil
}

// carriedTx ends a transaction that beginCarrying began.
type carriedTx struct {
	ctx  context.Context //nolint:containedctx // driver.Tx is not given one when it ends
	conn *pgx.Conn
}

// idleStatus marks a connection without a transaction.
const idleStatus = 'I'

func (t carriedTx) begun() bool { return t.conn.PgConn().TxStatus() != idleStatus }

func (t carriedTx) Commit() error {
	if !t.begun() {
		return pgx.ErrTxClosed
	}
	done, err := t.conn.Exec(t.ctx, "commit")
	switch {
	case err != nil && t.begun():
		_ = t.conn.Close(t.ctx) // whatever state it is in
	case err == nil && done.String() == "ROLLBACK":
		return pgx.ErrTxCommitRollback
	}
	return err
}

func (t carriedTx) Rollback() error {
	if !t.begun() {
		return nil
	}
	_, err := t.conn.Exec(t.ctx, "rollback")
	if err != nil {
		_ = t.conn.Close(t.ctx)
	}
	return err
}

var _ driver.Tx = carriedTx{}

// placed fills in what shows Citus the node of rows. On other databases it removes the
// placeholders:
//
//	$node, $node(d)  the business of an endpoint, as a parameter from placeOf
//	$with(d,e)       that rows of d have the business of those of e
func (e *dialect) placed(statement string) string {
	if !strings.Contains(statement, "$") {
		return statement
	}
	node, with := "", ""
	if e.sharded {
		node, with = " AND ${1}business_id = ?", " AND ${1}.business_id = ${2}.business_id"
		statement = ownLease.ReplaceAllStringFunc(statement, func(of string) string {
			switch endpoint := of[len("$own(") : len(of)-1]; endpoint {
			case "?":
				return " AND business_id = ?"
			default:
				return " AND webhook_leases.business_id = " + strings.TrimSuffix(endpoint, "id") + "business_id"
			}
		})
	}
	statement = nodeOf.ReplaceAllString(nodeOfAlias.ReplaceAllString(statement, strings.ReplaceAll(node, "${1}", "${1}.")),
		strings.ReplaceAll(node, "${1}", ""))
	return sameNode.ReplaceAllString(statement, with)
}

var (
	nodeOfAlias = regexp.MustCompile(`\$node\((\w+)\)`)
	nodeOf      = regexp.MustCompile(`\$node`)
	sameNode    = regexp.MustCompile(`\$with\((\w+),(\w+)\)`)
	ownLease    = regexp.MustCompile(`\$own\([^)]*\)`)
)

// endpointOwners caches the businesses of endpoints, which never change.
type endpointOwners struct {
	mu sync.Mutex
	of map[rowID]rowID
}

// mostOwners limits how many endpoints it caches.
const mostOwners = 100_000

// placeOf returns the values for endpoint_id = ?$node, and for the parameter of $lease(?).
func (s session) placeOf(ctx context.Context, endpoint rowID) ([]any, error) {
	if !s.dialect.sharded {
		return []any{endpoint}, nil
	}
	o := s.dialect.owners
	o.mu.Lock()
	business, known := o.of[endpoint]
	o.mu.Unlock()
	if known {
		return []any{endpoint, business}, nil
	}
	var found []rowID
	if err := s.with(ctx).Raw("SELECT business_id FROM webhook_endpoints WHERE id = ?", endpoint).Scan(&found).Error; err != nil {
		return nil, s.dialect.failed("look for the business of a webhook endpoint", err)
	}
	if len(found) == 0 {
		return []any{endpoint, noRow}, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.of) >= mostOwners {
		clear(o.of)
	}
	o.of[endpoint] = found[0]
	return []any{endpoint, found[0]}, nil
}

// at limits a query to the node of an endpoint.
func (s session) at(ctx context.Context, query *gorm.DB, endpoint rowID) *gorm.DB {
	if !s.dialect.sharded {
		return query
	}
	key, err := s.placeOf(ctx, endpoint)
	if err != nil {
		query = query.Session(&gorm.Session{})
		_ = query.AddError(err) // the query returns it
		return query
	}
	return query.Where("business_id = ?", key[1])
}

// unused returns ErrIDTaken if another business has an ID that a caller chose.
func (s session) unused(ctx context.Context, table string, id rowID) error {
	if !s.dialect.sharded {
		return nil
	}
	var taken bool
	if err := s.with(ctx).Raw("SELECT EXISTS (SELECT 1 FROM "+table+" WHERE id = ?)", id).Scan(&taken).Error; err != nil {
		return s.dialect.failed("look for an ID in "+table, err)
	}
	if taken {
		return fmt.Errorf("insert into %s: %w", table, ports.ErrIDTaken)
	}
	return nil
}

// addLease inserts the lease that a trigger inserts on other databases.
func (s session) addLease(ctx context.Context, e webhookEndpointRow) error {
	if !s.dialect.sharded {
		return nil
	}
	return s.dialect.failed("insert the lease of a webhook endpoint", s.with(ctx).Exec("INSERT INTO webhook_leases"+
		" (endpoint_id, number, due_since, business_id) VALUES (?, 1, '1970-01-01T00:00:00Z', ?)", e.ID, e.BusinessID).Error)
}

// batchByBusiness makes batches of one business each. As many run as there are businesses, up to a
// limit: each is small, and their commits are on several nodes. A booking waits longer before it
// counts as late: each statement goes on to a node.
func batchByBusiness(b *batch.Batcher[*entry]) {
	b.Parallel, b.Slow = bookingsAtOnce, 0
	b.MaxWait, b.Budget = 2*mostWaited, batchBudget-mostWaited
	claimable := b.Admit
	b.Admit = func(most int) func(*entry) bool {
		var business rowID
		claimed := claimable(most)
		return func(e *entry) bool {
			if business == "" {
				business = e.row.BusinessID
			}
			return e.row.BusinessID == business && claimed(e)
		}
	}
}

// bookingsAtOnce limits how many batches run at a time.
const bookingsAtOnce = 8

// sumUsage sums up the hours of the minutes that a process wrote, as triggers do on other
// databases. No other process changes these rows.
func (s session) sumUsage(ctx context.Context, rows []usageRow) error {
	if !s.dialect.sharded || len(rows) == 0 {
		return nil
	}
	first, last := rows[0].Minute.time, rows[0].Minute.time
	var of []rowID
	for _, r := range rows {
		first, last, of = earlier(first, r.Minute.time), later(last, r.Minute.time), append(of, r.BusinessID)
	}
	slices.Sort(of)
	return s.dialect.failed("sum up usage by the hour", s.with(ctx).Exec("INSERT INTO usage_hours (hour, writer, environment, business_id,"+
		" application_id, key_id, route, status, code, calls, replayed, took_us, last)"+
		" SELECT date_trunc('hour', minute, 'UTC'), writer, environment, business_id, application_id, key_id, route, status, code,"+
		" sum(calls), sum(replayed), sum(took_us), max(minute) FROM usage_minutes"+
		" WHERE business_id IN ? AND writer = ? AND minute >= ? AND minute < ?"+
		" GROUP BY date_trunc('hour', minute, 'UTC'), writer, environment, business_id, application_id, key_id, route, status, code"+
		" ON CONFLICT (business_id, hour, key_id, route, status, code, writer) DO UPDATE SET calls = excluded.calls,"+
		" replayed = excluded.replayed, took_us = excluded.took_us, last = excluded.last",
		padded(slices.Compact(of)), rows[0].Writer, boundary(first.Truncate(time.Hour)), boundary(last.Truncate(time.Hour).Add(time.Hour))).Error)
}

// reportPastOnCitus selects what reportPast does, from each node's newest events. A join with those
// of all nodes would be sent to each of them.
const reportPastOnCitus = `SELECT e.id, CASE WHEN f.id IS NULL THEN 0 ELSE 1 END AS position, ` + reportEventColumns + `
	FROM delivery_events e
	JOIN deliveries d ON d.id = e.delivery_id AND d.business_id = e.business_id
	LEFT JOIN feed_events f ON f.id = e.id AND f.business_id = e.business_id AND f.position > ?
	WHERE e.id < ? AND e.id >= ? ORDER BY e.id DESC LIMIT ?`

// insertOnCitus looks up the business first: there an INSERT of values cannot contain queries.
func (s readiness) insertOnCitus(ctx context.Context, r domain.Readied) error {
	var business []rowID
	err := s.with(ctx).Raw("SELECT business_id FROM applications WHERE id = ?", rowIDOf(r.ApplicationID)).Scan(&business).Error
	if err == nil && len(business) == 0 {
		return domain.ErrNotFound
	}
	if err == nil {
		err = s.with(ctx).Exec("INSERT INTO readiness (business_id, application_id, step, at, source) VALUES (?, ?, ?, ?, ?)"+
			" ON CONFLICT DO NOTHING", business[0], rowIDOf(r.ApplicationID), string(r.Step), instantOf(r.At), string(r.Source)).Error
	}
	return s.dialect.failed("keep what a program has shown", err)
}

// webhookWorkOnCitus counts all rows that webhookWork counts up to a limit: a statement over all
// nodes has no LIMIT for each endpoint.
const webhookWorkOnCitus = `SELECT e.environment, count(*) FILTER (WHERE d.status = 'pending') AS waiting,
	count(*) FILTER (WHERE d.status = 'pending' AND d.due_at <= ?) AS due,
	min(d.due_at) FILTER (WHERE d.status = 'pending' AND d.due_at <= ?) AS oldest, count(*) FILTER (WHERE d.status = 'failed') AS given_up
FROM webhook_endpoints e JOIN webhook_deliveries d ON d.endpoint_id = e.id AND d.business_id = e.business_id
	AND d.status IN ('pending', 'failed')
WHERE e.slot IS NOT NULL AND NOT e.listener GROUP BY e.environment`

// ofEndpointsOnCitus runs ofEndpoint as one subquery for each, at the node of its business.
func (s machinery) ofEndpointsOnCitus(ctx context.Context, shown []domain.EndpointShown) *gorm.DB {
	var each []string
	var values []any
	for _, e := range shown {
		of := []any{rowIDOf(e.ID), rowIDOf(e.Tenant.BusinessID)}
		each = append(each, "("+ofEndpointOnCitus+")")
		values = slices.Concat(values, of, []any{domain.MaxWaitingCounted}, of, of, of, of[1:], of)
	}
	return s.with(ctx).Raw(strings.Join(each, " UNION ALL "), values...)
}

var ofEndpointOnCitus = strings.NewReplacer("d.endpoint_id = e.id", "d.endpoint_id = ? AND d.business_id = ?",
	") ORDER BY a.started_at", ") AND a.business_id = ? ORDER BY a.started_at", "e.id IN ?", "e.id = ? AND e.business_id = ?").
	Replace(ofEndpoint)

// skipLocked makes a cleaning skip rows that another transaction holds: it uses them, or cleans
// too. On Citus, which has no such lock, two cleanings wait for each other, and a row used
// meanwhile is checked again.
func (e *dialect) skipLocked() []clause.Expression {
	if e.sharded {
		return nil
	}
	return []clause.Expression{clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}}
}

// conflicting adapts an INSERT whose conflicts depend on the clock to the dialect. On Citus expired
// rows are deleted by then (forgetExpired), so an existing row stays.
func (e *dialect) conflicting(statement string) string {
	if !e.sharded {
		return e.keyed(statement)
	}
	before, after, _ := strings.Cut(statement, "ON CONFLICT")
	returning := ""
	if _, columns, found := strings.Cut(after, "RETURNING"); found {
		returning = " RETURNING" + columns
	}
	return before + "ON CONFLICT DO NOTHING" + returning
}

// forgetExpired deletes an expired record of a key, unless a bulk still works under it.
func (s idempotency) forgetExpired(ctx context.Context, t domain.Tenant, key string) error {
	err := s.ofApplication(ctx, t).Where("key = ? AND "+s.dialect.clocked("expires_at <= $now"+
		" AND (leased_until IS NULL OR leased_until NOT BETWEEN $now AND $far)"), key).Delete(&keyRow{}).Error
	return s.dialect.claimed(1, err)
}

// resume takes over the lease of a bulk that this request began and left, or this very claim. It
// returns an empty ID where there is none.
func (s bulks) resume(ctx context.Context, t domain.Tenant, r domain.KeyRecord, token string, lease time.Duration) (rowID, error) {
	var claims []rowID
	result := s.with(ctx).Raw(s.dialect.clocked("UPDATE idempotency_keys SET lease_token = ?, leased_until = $later"+
		" WHERE business_id = ? AND application_id = ? AND environment = ? AND key = ? AND status = 0 AND fingerprint = ? AND expires_at > $now"+
		" AND (leased_until NOT BETWEEN $now AND $far OR lease_token = ?) RETURNING claim_id"),
		rowID(token), s.dialect.laterBy(lease), rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID), string(t.Environment), r.Key, r.Fingerprint[:],
		rowID(token)).Scan(&claims)
	if result.Error != nil || len(claims) == 0 {
		return "", s.dialect.claimed(1, result.Error)
	}
	return claims[0], nil
}

var nodeConstraint = regexp.MustCompile(`"([a-z_]+)_\d+"`)

// violatedOnNode reads the constraint from the text: the coordinator passes on nothing else.
func violatedOnNode(err error) string {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || e.Code != pgUniqueViolation {
		return ""
	}
	if found := nodeConstraint.FindStringSubmatch(e.Message); found != nil {
		return found[1]
	}
	return e.ConstraintName
}

// refusedByCitus trusts no failure of a COMMIT that the coordinator met at a node. The node may
// have committed, and its response may be lost.
func refusedByCitus(ctx context.Context, conn *sql.Conn, err error) bool {
	return !isPg(err, pgInternalError) && refusedByPostgres(ctx, conn, err)
}
