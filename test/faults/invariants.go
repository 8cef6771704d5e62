package faults

import (
	"context"
	"database/sql"
	"fmt"
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

// Rules names what Check looks at.
func Rules() []string {
	names := make([]string, len(invariants))
	for i, v := range invariants {
		names[i] = v.rule
	}
	return names
}

// Querier is a *sql.DB, or a *sql.Tx or *sql.Conn.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Check tells every breach in a database of either engine. Nothing may write
// to it meanwhile, and no idempotency record may have expired yet: a delivery
// whose record is gone for its age looks like one that was booked twice.
func Check(ctx context.Context, db Querier) ([]Breach, error) {
	var breaches []Breach
	for _, v := range invariants {
		b := Breach{Rule: v.rule}
		var example sql.NullString
		query := withNames + "SELECT count(*), min(CAST(culprit AS text)) FROM (" + v.query + ") AS culprits"
		if err := db.QueryRowContext(ctx, query).Scan(&b.Count, &example); err != nil {
			return nil, fmt.Errorf("faults: check %q: %w", v.rule, err)
		}
		if b.Example = example.String; b.Count > 0 {
			breaches = append(breaches, b)
		}
	}
	return breaches, nil
}

// withNames lays the public ID of every delivery, without its prefix, beside
// the one that an idempotency record tells in its Location.
const withNames = `
WITH booked AS MATERIALIZED (
	SELECT replace(CAST(id AS text), '-', '') AS hex, application_id, environment FROM deliveries
), answered AS MATERIALIZED (
	SELECT substr(location, length(location) - 31) AS hex, application_id, environment, key
	FROM idempotency_keys WHERE status = 201 AND location LIKE '%/deliveries/dlv%'
), timelines AS MATERIALIZED (
	SELECT delivery_id, count(*) AS events, min(sequence) AS first, max(sequence) AS last
	FROM delivery_events GROUP BY delivery_id
)
`

// invariants are queries that name, as culprit, whatever breaks the rule.
var invariants = []struct{ rule, query string }{
	{"a key that was answered names a delivery that exists", `
		SELECT a.key AS culprit FROM answered a
		LEFT JOIN booked b ON b.hex = a.hex AND b.application_id = a.application_id AND b.environment = a.environment
		WHERE b.hex IS NULL`},
	{"a delivery has one key", `
		SELECT b.hex AS culprit FROM booked b
		LEFT JOIN answered a ON a.hex = b.hex AND a.application_id = b.application_id AND a.environment = b.environment
		GROUP BY b.hex HAVING count(a.key) <> 1`},
	{"a key that is recorded has its answer", `
		SELECT key AS culprit FROM idempotency_keys WHERE status = 0 OR body IS NULL`},
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
