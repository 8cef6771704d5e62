package gormstore

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// A batch on Citus is of one business. Its statements are those of Postgres in other forms. Rows
// are sent as values, not as arrays. The coordinator would unfold arrays, copy them to the node as
// a file and insert from there, four times as slow. Rows found by their IDs also name
// the business. One round trip before takes positions in the feed from the coordinator and asks the
// node whether the business has endpoints at all. A statement that looks for the endpoints of an
// event is planned for all nodes.

// onCitus turns the steps of a batch into those for the node of its business.
func (b *pgBatch) onCitus(ctx context.Context, conn *pgx.Conn, steps []step) ([]step, error) {
	business := uuidOf(b.entries[0].row.BusinessID)
	positions, endpoints, err := b.ahead(ctx, conn)
	if err != nil {
		return nil, err
	}
	for i := range steps {
		s := &steps[i]
		switch s.statement {
		case fillNames:
			s.statement, s.values = fillNamesOnNode, append(s.values, business)
		case countAddresses:
			s.statement, s.values = countAddressesOnNode, append(s.values, business)
		case fanOutAll:
			s.statement, s.values = fanOutOnNode, append(s.values, business)
		case countSimulations:
			countOnNode(s)
		case storeKeys:
			asRows(s, cutAt(storeKeys, "SELECT"), "now() + make_interval(secs => $)", storeKeys[strings.Index(storeKeys, " ON CONFLICT"):])
		case storeInFeed:
			s.values = append(s.values, positions)
			asRows(s, cutAt(storeInFeed, "SELECT"), "$", "")
		default:
			if insert, _, columnar := strings.Cut(s.statement, "SELECT * FROM unnest("); columnar {
				asRows(s, insert, "$", s.statement[strings.LastIndex(s.statement, "[])")+len("[])"):])
			}
		}
	}
	if !endpoints {
		steps = slices.DeleteFunc(steps, func(s step) bool { return s.statement == fanOutOnNode })
	}
	return steps, nil
}

// countOnNode counts the simulations of each application in the program. The values are columns of
// businesses and applications, and then the limit.
func countOnNode(s *step) {
	business, counts := s.values[0].([]pgtype.UUID)[0], map[pgtype.UUID]int32{}
	var businesses, applications []pgtype.UUID
	for _, application := range s.values[1].([]pgtype.UUID) {
		if counts[application]++; counts[application] == 1 {
			businesses, applications = append(businesses, business), append(applications, application)
		}
	}
	running := make([]int32, len(applications))
	for i, application := range applications {
		running[i] = counts[application]
	}
	limit := s.values[2]
	s.values = []any{businesses, applications, running}
	_, conflicts, _ := strings.Cut(countSimulations, "ON CONFLICT")
	asRows(s, cutAt(countSimulations, "SELECT"), "$", " ON CONFLICT"+conflicts)
	s.values = append(s.values, limit)
	s.statement = strings.Replace(s.statement, "<= $3 RETURNING", "<= $"+strconv.Itoa(len(s.values))+" RETURNING", 1)
}

func cutAt(statement, word string) string {
	before, _, _ := strings.Cut(statement, word)
	return before
}

var (
	fillNamesOnNode = strings.NewReplacer("ON r.id = u.id", "ON r.id = u.id AND r.business_id = $5", "WHERE r.id = u.id",
		"WHERE r.id = u.id AND r.business_id = $5").Replace(fillNames)
	countAddressesOnNode = strings.NewReplacer("WHERE id = ANY ($1::uuid[])", "WHERE id = ANY ($1::uuid[]) AND business_id = $3",
		"WHERE r.id = u.id", "WHERE r.id = u.id AND r.business_id = $3").Replace(countAddresses)
	fanOutOnNode = strings.Replace(fanOutAll, "w.business_id = u.business_id", "w.business_id = $10", 1)
)

// ahead takes a position in the feed for each booking, and reports whether the business has
// endpoints.
func (b *pgBatch) ahead(ctx context.Context, conn *pgx.Conn) (positions []int64, endpoints bool, err error) {
	ask := &pgx.Batch{}
	ask.Queue(pgPositions, len(b.entries))
	ask.Queue("SELECT EXISTS (SELECT 1 FROM webhook_endpoints WHERE business_id = $1 AND slot IS NOT NULL)",
		uuidOf(b.entries[0].row.BusinessID))
	answers := conn.SendBatch(ctx, ask)
	rows, _ := answers.Query() // rows.Err returns its error, too
	positions, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	if err == nil {
		err = answers.QueryRow().Scan(&endpoints)
	}
	if closed := answers.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, false, fmt.Errorf("take positions in the feed: %w", err)
	}
	return positions, endpoints, nil
}

// pgPositions takes as many positions as its parameter says; pgPosition takes one.
const pgPositions = "SELECT nextval('feed_positions') FROM (SELECT pg_advisory_xact_lock_shared(" + pgFeedLock +
	", ((last_value & 4294967295) - 2147483648)::integer), set_config('idle_in_transaction_session_timeout', '" + pgFeedIdle + "', true)" +
	" FROM feed_positions OFFSET 0) AS held, generate_series(1, $1::integer)"

// asRows rewrites a statement that inserts columns, slices of the same length, into one that
// inserts values row by row. last is the expression of the last column, where $ stands for its
// value.
func asRows(s *step, insert, last, conflicts string) {
	columns := make([]reflect.Value, len(s.values))
	for i, v := range s.values {
		columns[i] = reflect.ValueOf(v)
	}
	var text strings.Builder
	text.WriteString(insert)
	text.WriteString("VALUES ")
	var values []any
	for row := range columns[0].Len() {
		for i, column := range columns {
			values = append(values, column.Index(row).Interface())
			one := "$" + strconv.Itoa(len(values))
			switch i {
			case 0:
				text.WriteString(map[bool]string{true: "(", false: ", ("}[row == 0] + one)
			case len(columns) - 1:
				text.WriteString(", " + strings.Replace(last, "$", one, 1) + ")")
			default:
				text.WriteString(", " + one)
			}
		}
	}
	text.WriteString(conflicts)
	s.statement, s.values = text.String(), values
}
