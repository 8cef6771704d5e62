package faults

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"waybill/domain"
)

// Breach is a rule that does not hold.
type Breach struct {
	Rule    string
	Count   int
	Example string // one of the rows
}

func (b Breach) String() string {
	return fmt.Sprintf("%s: %d, for example %s", b.Rule, b.Count, b.Example)
}

// Querier is a *sql.DB, or a *sql.Tx or *sql.Conn.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Dialect is the database whose SQL is spoken.
type Dialect string

// The engines that Check knows.
const (
	SQLite   Dialect = "SQLite"
	Postgres Dialect = "Postgres"
)

// dialect is the SQL that differs between the engines: a column of bytes as JSON,
// the elements of a JSON array with their places from 0 on, and the seconds from
// one event to another.
func (e Dialect) dialect() *strings.Replacer {
	if e == Postgres {
		return strings.NewReplacer(
			"$seconds", "extract(epoch FROM e.occurred_at - b.occurred_at)",
			"$body", "convert_from(k.body, 'UTF8')::jsonb",
			"$result", "convert_from(i.result, 'UTF8')::jsonb",
			"$elements", "jsonb_array_elements", "$of_array", "WITH ORDINALITY AS e(value, nth)", "$place", "e.nth - 1")
	}
	return strings.NewReplacer(
		"$seconds", "round(unixepoch(e.occurred_at, 'subsec') - unixepoch(b.occurred_at, 'subsec'), 3)",
		"$body", "CAST(k.body AS text)",
		"$result", "CAST(i.result AS text)",
		"$elements", "json_each", "$of_array", "AS e", "$place", "e.key")
}

// Check tells every breach in a database of the database. Nothing may write to
// it meanwhile, and no idempotency record may have expired yet: a delivery
// whose record is gone for its age looks like one that was booked twice.
func Check(ctx context.Context, db Querier, dialect Dialect) ([]Breach, error) {
	from := "WITH "
	if dialect == Postgres {
		nodes, err := onNodes(ctx, db)
		if err != nil {
			return nil, err
		}
		from += nodes
	}
	var breaches []Breach
	for _, v := range invariants {
		b := Breach{Rule: v.rule}
		var example sql.NullString
		query := strings.NewReplacer("$young", young()).Replace(
			dialect.dialect().Replace(from + withNames + scripts() +
				"SELECT count(*), min(CAST(culprit AS text)) FROM (" + v.query + ") AS culprits"))
		if err := db.QueryRowContext(ctx, query).Scan(&b.Count, &example); err != nil {
			return nil, fmt.Errorf("faults: check %q: %w", v.rule, err)
		}
		if b.Example = example.String; b.Count > 0 {
			breaches = append(breaches, b)
		}
	}
	return breaches, nil
}

// onNodes lays each table that Citus has on its nodes before the queries, whole and
// under its own name: the rules join them by any column, and Citus by that of the nodes.
func onNodes(ctx context.Context, db Querier) (tables string, err error) {
	citus := false
	if err = db.QueryRowContext(ctx, "SELECT to_regclass('pg_dist_partition') IS NOT NULL").Scan(&citus); err == nil && citus {
		err = db.QueryRowContext(ctx,
			"SELECT coalesce(string_agg(format('%1$s AS MATERIALIZED (SELECT * FROM %1$s), ', p.logicalrelid), ''), '')"+
				" FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid"+
				" WHERE NOT c.relispartition").Scan(&tables)
	}
	if err != nil {
		return "", fmt.Errorf("faults: look for the tables of Citus: %w", err)
	}
	return tables, nil
}

// young is an ID below all that the cleaning has left in the feed.
func young() string {
	return fmt.Sprintf("'%012x%020d'", time.Now().Add(-29*24*time.Hour).UnixMilli(), 0)
}

// withNames lays the public ID of every delivery, without its prefix, beside
// those that idempotency records tell: of a single create in its Location, of a
// bulk in the entries of its answer, and of one under way in its items.
const withNames = `
booked AS MATERIALIZED (
	SELECT replace(CAST(id AS text), '-', '') AS hex, application_id, environment, created_at FROM deliveries
), answered AS MATERIALIZED (
	SELECT substr(location, length(location) - 31) AS hex, application_id, environment, key
	FROM idempotency_keys WHERE status = 201 AND location LIKE '%/deliveries/dlv%'
), entries AS MATERIALIZED (
	SELECT substr(e.value -> 'delivery' ->> 'id', 5) AS hex, k.application_id, k.environment, k.key, k.status,
		$place AS place, CAST(e.value ->> 'index' AS integer) AS item,
		e.value ->> 'status' AS became, e.value -> 'error' ->> 'code' AS refusal,
		CAST($body -> 'data' ->> 'created' AS integer) AS created, CAST($body -> 'data' ->> 'failed' AS integer) AS failed
	FROM idempotency_keys k, $elements($body -> 'data' -> 'results') $of_array
	WHERE k.status IN (201, 207) AND k.location = ''
), recorded AS MATERIALIZED (
	SELECT substr($result -> 'delivery' ->> 'id', 5) AS hex, k.application_id, k.environment, k.key, i.claim_id, i.item_index AS item
	FROM bulk_items i LEFT JOIN idempotency_keys k ON k.claim_id = i.claim_id AND k.status = 0
), ordered AS MATERIALIZED (
	SELECT hex, application_id, environment, key, item FROM entries WHERE hex IS NOT NULL
	UNION ALL SELECT hex, application_id, environment, key, item FROM recorded WHERE hex IS NOT NULL
), timelines AS MATERIALIZED (
	SELECT delivery_id, count(*) AS events, min(sequence) AS first, max(sequence) AS last
	FROM delivery_events GROUP BY delivery_id
)`

// scripts lays the steps of all scenarios beside that: what each makes of a
// delivery, and after how many waits.
func scripts() string {
	var lines, totals []string
	for _, s := range domain.Scenarios() {
		for i, step := range s.Steps() {
			lines = append(lines, fmt.Sprintf("('%s', %d, '%s', '%s', %d)", s, i+1, step.To, step.Reason, step.Wait))
		}
		totals = append(totals, fmt.Sprintf("('%s', %d)", s, len(s.Steps())))
	}
	return ", script_steps(scenario, step, status, reason, wait) AS (VALUES " + strings.Join(lines, ", ") + ")" +
		", script_totals(scenario, steps) AS (VALUES " + strings.Join(totals, ", ") + ")\n"
}

// invariants are queries that name, as culprit, whatever breaks the rule.
var invariants = []struct{ rule, query string }{
	{"a key that was answered names a delivery that exists", `
		SELECT a.key AS culprit FROM answered a
		LEFT JOIN booked b ON b.hex = a.hex AND b.application_id = a.application_id AND b.environment = a.environment
		WHERE b.hex IS NULL`},
	{"a delivery has one key, or one place in one bulk", `
		SELECT b.hex AS culprit FROM booked b
		LEFT JOIN (SELECT hex, application_id, environment, key FROM answered
			UNION ALL SELECT hex, application_id, environment, key FROM ordered) a
			ON a.hex = b.hex AND a.application_id = b.application_id AND a.environment = b.environment
		GROUP BY b.hex HAVING count(a.key) <> 1`},
	{"a key without an answer is of a bulk under a lease", `
		SELECT key AS culprit FROM idempotency_keys
		WHERE status = 0 AND (body IS NOT NULL OR lease_token IS NULL OR leased_until IS NULL)`},
	{"a key with an answer has its bytes and no lease", `
		SELECT key AS culprit FROM idempotency_keys
		WHERE status <> 0 AND (body IS NULL OR lease_token IS NOT NULL OR leased_until IS NOT NULL)`},

	{"the answer of a bulk names deliveries that exist", `
		SELECT e.key AS culprit FROM entries e
		LEFT JOIN booked b ON b.hex = e.hex AND b.application_id = e.application_id AND b.environment = e.environment
		WHERE e.hex IS NOT NULL AND b.hex IS NULL`},
	{"an entry of a bulk is a delivery or a refusal", `
		SELECT key AS culprit FROM entries
		WHERE NOT (coalesce(became, '') = 'created' AND hex IS NOT NULL AND refusal IS NULL
			OR coalesce(became, '') = 'failed' AND hex IS NULL AND refusal IS NOT NULL)`},
	{"the entries of a bulk stand in the order of its items", `
		SELECT key AS culprit FROM entries WHERE coalesce(item, -1) <> place`},
	{"the answer of a bulk counts its entries", `
		SELECT key AS culprit FROM entries GROUP BY application_id, environment, key
		HAVING coalesce(min(created), -1) <> count(hex) OR coalesce(min(failed), -1) <> count(*) - count(hex)
			OR min(status) <> CASE WHEN count(hex) = count(*) THEN 201 ELSE 207 END`},
	{"the deliveries of a bulk were created in the order of its items", `
		SELECT key AS culprit FROM (
			SELECT o.key, b.created_at, b.hex,
				lag(b.created_at) OVER of_bulk AS earlier_at, lag(b.hex) OVER of_bulk AS earlier_hex
			FROM ordered o JOIN booked b ON b.hex = o.hex
			WINDOW of_bulk AS (PARTITION BY o.application_id, o.environment, o.key ORDER BY o.item)
		) AS pairs WHERE (created_at, hex) <= (earlier_at, earlier_hex)`},
	{"a recorded item is of a bulk that is not finished", `
		SELECT claim_id AS culprit FROM recorded WHERE key IS NULL`},
	{"a recorded item that was created is a delivery that exists", `
		SELECT r.key AS culprit FROM recorded r
		LEFT JOIN booked b ON b.hex = r.hex AND b.application_id = r.application_id AND b.environment = r.environment
		WHERE r.hex IS NOT NULL AND b.hex IS NULL`},
	{"the recorded items of a bulk have no gap", `
		SELECT claim_id AS culprit FROM recorded GROUP BY claim_id HAVING min(item) <> 0 OR max(item) <> count(*) - 1`},

	{"a key is of an application that exists", `
		SELECT k.key AS culprit FROM idempotency_keys k
		LEFT JOIN applications a ON a.id = k.application_id WHERE a.id IS NULL`},

	{"a delivery begins with delivery.created", `
		SELECT d.id AS culprit FROM deliveries d
		LEFT JOIN delivery_events e ON e.delivery_id = d.id AND e.sequence = 1
			AND e.type = 'delivery.created' AND e.status = 'booked' AND e.previous_status = ''
		WHERE e.id IS NULL`},
	{"the events of a delivery have no gap and no double", `
		SELECT delivery_id AS culprit FROM timelines WHERE first <> 1 OR last <> events`},
	{"a delivery counts its events", `
		SELECT d.id AS culprit FROM deliveries d
		LEFT JOIN timelines t ON t.delivery_id = d.id WHERE d.last_sequence <> coalesce(t.events, 0)`},
	{"a delivery is in the state of its last event", `
		SELECT d.id AS culprit FROM deliveries d
		JOIN delivery_events e ON e.delivery_id = d.id AND e.sequence = d.last_sequence WHERE e.status <> d.status`},

	{"a simulation is of a sandbox delivery", `
		SELECT id AS culprit FROM deliveries WHERE environment <> 'sandbox' AND simulation_status IS NOT NULL`},
	{"a simulation has a scenario that exists, and has done some of its steps", `
		SELECT d.id AS culprit FROM deliveries d
		LEFT JOIN script_totals s ON s.scenario = d.simulation_scenario AND d.simulation_step BETWEEN 0 AND s.steps
		WHERE d.simulation_status IS NOT NULL AND s.scenario IS NULL`},
	{"a simulation is completed when all its steps are done", `
		SELECT d.id AS culprit FROM deliveries d JOIN script_totals s ON s.scenario = d.simulation_scenario
		WHERE d.simulation_status <> CASE WHEN s.steps = 0 THEN 'idle' WHEN d.simulation_step = s.steps THEN 'completed'
			WHEN d.simulation_status = 'stopped' THEN 'stopped' ELSE 'running' END`},
	{"a simulation has a next step while it runs, and no longer", `
		SELECT id AS culprit FROM deliveries
		WHERE (coalesce(simulation_status, '') = 'running') <> (simulation_next_at IS NOT NULL)
			OR (simulation_next_at IS NULL) <> (simulation_ends_at IS NULL) OR simulation_ends_at < simulation_next_at`},
	{"a simulation that runs moves a delivery that can move", `
		SELECT id AS culprit FROM deliveries
		WHERE simulation_status = 'running' AND status IN ('delivered', 'cancelled')`},
	{"the events of a delivery are the steps that its simulation has done", `
		SELECT d.id AS culprit FROM deliveries d JOIN script_steps s ON s.scenario = d.simulation_scenario AND s.step <= d.simulation_step
		LEFT JOIN delivery_events e ON e.delivery_id = d.id AND e.sequence = s.step + 1
			AND e.type = 'delivery.' || s.status AND e.status = s.status AND e.reason_code = s.reason
		WHERE e.id IS NULL`},
	{"while a simulation runs nothing else moves its delivery", `
		SELECT id AS culprit FROM deliveries
		WHERE simulation_status = 'running' AND last_sequence <> simulation_step + 1`},
	{"a step of a simulation is not early", `
		SELECT e.id AS culprit FROM deliveries d JOIN script_steps s ON s.scenario = d.simulation_scenario AND s.step <= d.simulation_step
		JOIN delivery_events b ON b.delivery_id = d.id AND b.sequence = s.step
		JOIN delivery_events e ON e.delivery_id = d.id AND e.sequence = s.step + 1
		WHERE $seconds < s.wait * d.simulation_step_seconds`},
	{"an application counts its running simulations", `
		SELECT a.id AS culprit FROM (
			SELECT application_id AS id FROM simulation_counts
			UNION SELECT application_id FROM deliveries WHERE simulation_status = 'running'
		) AS a LEFT JOIN simulation_counts c ON c.application_id = a.id
		WHERE coalesce(c.running, 0) <>
			(SELECT count(*) FROM deliveries d WHERE d.application_id = a.id AND d.simulation_status = 'running')`},
	{"an application runs no more simulations than it may", fmt.Sprintf(`
		SELECT application_id AS culprit FROM deliveries WHERE simulation_status = 'running'
		GROUP BY application_id HAVING count(*) > %d`, domain.MaxRunningSimulations)},

	{"an event of a delivery is in the feed once", `
		SELECT e.id AS culprit FROM delivery_events e
		LEFT JOIN feed_events f ON f.id = e.id AND f.delivery_id = e.delivery_id AND f.sequence = e.sequence AND f.type = e.type
		WHERE e.id > $young GROUP BY e.id HAVING count(f.id) <> 1`},
	{"an event in the feed is one of a delivery of its application", `
		SELECT f.id AS culprit FROM feed_events f LEFT JOIN delivery_events e ON e.id = f.id
		LEFT JOIN deliveries d ON d.id = e.delivery_id AND d.application_id = f.application_id AND d.environment = f.environment
		WHERE f.delivery_id IS NOT NULL AND d.id IS NULL`},
	{"the events of a delivery stand in the feed in their order", `
		SELECT id AS culprit FROM (
			SELECT id, position, lag(position) OVER (PARTITION BY delivery_id ORDER BY sequence) AS earlier
			FROM feed_events WHERE delivery_id IS NOT NULL
		) AS pairs WHERE position < earlier`},
	{"a webhook endpoint has a slot of its own", fmt.Sprintf(`
		SELECT min(CAST(id AS text)) AS culprit FROM webhook_endpoints WHERE slot IS NOT NULL
		GROUP BY application_id, environment, slot HAVING count(*) > 1 OR slot NOT BETWEEN 0 AND %d`, domain.MaxWebhookEndpoints-1)},
	// The lowest bits of the mask are *, and delivery.*.
	{"a webhook endpoint gets every event since it was made", `
		SELECT e.id AS culprit FROM feed_events e
		JOIN (SELECT id, application_id, environment, created_at AS occurred_at FROM webhook_endpoints
			WHERE slot IS NOT NULL AND created_at = updated_at AND event_mask & 3 <> 0) b
			ON b.application_id = e.application_id AND b.environment = e.environment
		LEFT JOIN webhook_deliveries d ON d.endpoint_id = b.id AND d.event_id = e.id
		WHERE e.delivery_id IS NOT NULL AND e.id > $young AND $seconds > 5 AND d.id IS NULL`},
	{"a webhook endpoint gets an event once", `
		SELECT min(CAST(id AS text)) AS culprit FROM webhook_deliveries GROUP BY endpoint_id, event_id HAVING count(*) > 1`},
	{"a webhook delivery has its event, and the ID of that but for the slot", `
		SELECT d.id AS culprit FROM webhook_deliveries d LEFT JOIN feed_events f ON f.id = d.event_id AND f.type = d.event_type
			AND substr(CAST(f.id AS text), 1, length(CAST(f.id AS text)) - 1) = substr(CAST(d.id AS text), 1, length(CAST(d.id AS text)) - 1)
		WHERE f.id IS NULL`},
	{"a webhook delivery is of an endpoint of its event's application", `
		SELECT d.id AS culprit FROM webhook_deliveries d JOIN feed_events f ON f.id = d.event_id
		JOIN webhook_endpoints e ON e.id = d.endpoint_id
		WHERE e.application_id <> f.application_id OR e.environment <> f.environment`},
	{"a webhook delivery is due while it is pending, and no longer", `
		SELECT id AS culprit FROM webhook_deliveries
		WHERE (status = 'pending') <> (due_at IS NOT NULL) OR status NOT IN ('pending', 'succeeded', 'failed', 'held')`},
	{"nothing is pending for a webhook endpoint that is disabled", `
		SELECT d.id AS culprit FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
		WHERE d.status = 'pending' AND NOT e.enabled AND e.slot IS NOT NULL`},
	{"a webhook delivery counts its attempts, and they have no gap", `
		SELECT d.id AS culprit FROM webhook_deliveries d LEFT JOIN webhook_attempts a ON a.webhook_delivery_id = d.id
		GROUP BY d.id, d.attempts HAVING count(a.id) <> d.attempts OR coalesce(max(a.number), 0) <> d.attempts
			OR count(DISTINCT a.number) <> d.attempts`},
	{"an attempt is of a webhook delivery that exists", `
		SELECT a.id AS culprit FROM webhook_attempts a
		LEFT JOIN webhook_deliveries d ON d.id = a.webhook_delivery_id WHERE d.id IS NULL`},
	{"a row is of the business of what it belongs to", `
		SELECT e.id AS culprit FROM delivery_events e JOIN deliveries d ON d.id = e.delivery_id WHERE e.business_id <> d.business_id
		UNION ALL SELECT k.claim_id FROM idempotency_keys k JOIN applications a ON a.id = k.application_id WHERE k.business_id <> a.business_id
		UNION ALL SELECT i.claim_id FROM bulk_items i JOIN idempotency_keys k ON k.claim_id = i.claim_id WHERE i.business_id <> k.business_id
		UNION ALL SELECT f.id FROM feed_events f JOIN applications a ON a.id = f.application_id WHERE f.business_id <> a.business_id
		UNION ALL SELECT c.application_id FROM simulation_counts c JOIN applications a ON a.id = c.application_id
			WHERE c.business_id <> a.business_id
		UNION ALL SELECT l.endpoint_id FROM webhook_leases l JOIN webhook_endpoints e ON e.id = l.endpoint_id WHERE l.business_id <> e.business_id
		UNION ALL SELECT d.id FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id WHERE d.business_id <> e.business_id
		UNION ALL SELECT a.id FROM webhook_attempts a JOIN webhook_deliveries d ON d.id = a.webhook_delivery_id
			WHERE a.business_id <> d.business_id`},

	{"an application uses an external_id once", `
		SELECT external_id AS culprit FROM deliveries WHERE external_id IS NOT NULL
		GROUP BY application_id, environment, external_id HAVING count(*) > 1`},
	{"a reference is given once", `
		SELECT reference AS culprit FROM deliveries GROUP BY reference HAVING count(*) > 1`},
	{"a business has a phone number once", `
		SELECT phone_number AS culprit FROM recipients
		GROUP BY business_id, environment, phone_number HAVING count(*) > 1`},
	{"a recipient has an address once", `
		SELECT recipient_id AS culprit FROM recipient_addresses
		GROUP BY recipient_id, match_hash HAVING count(*) > 1`},
	{"a recipient counts its addresses", `
		SELECT r.id AS culprit FROM recipients r WHERE r.address_count <>
			(SELECT count(*) FROM recipient_addresses a WHERE a.recipient_id = r.id)`},

	{"an event is of a delivery that exists", `
		SELECT e.id AS culprit FROM delivery_events e
		LEFT JOIN deliveries d ON d.id = e.delivery_id WHERE d.id IS NULL`},
	{"an address is of a recipient of the same business", `
		SELECT a.id AS culprit FROM recipient_addresses a
		LEFT JOIN recipients r ON r.id = a.recipient_id AND r.business_id = a.business_id AND r.environment = a.environment
		WHERE r.id IS NULL`},
	{"a delivery goes to a recipient of the same business", `
		SELECT d.id AS culprit FROM deliveries d
		LEFT JOIN recipients r ON r.id = d.recipient_id AND r.business_id = d.business_id AND r.environment = d.environment
		WHERE r.id IS NULL`},
	{"a delivery goes to an address of its recipient", `
		SELECT d.id AS culprit FROM deliveries d
		LEFT JOIN recipient_addresses a ON a.id = d.dropoff_id AND a.recipient_id = d.recipient_id
		WHERE a.id IS NULL`},
	{"a delivery is of an application of its business", `
		SELECT d.id AS culprit FROM deliveries d
		LEFT JOIN applications a ON a.id = d.application_id AND a.business_id = d.business_id
		WHERE a.id IS NULL`},
	{"a recipient is of a business that exists", `
		SELECT r.id AS culprit FROM recipients r
		LEFT JOIN businesses b ON b.id = r.business_id WHERE b.id IS NULL`},
}
