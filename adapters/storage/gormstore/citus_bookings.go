package gormstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"waybill/adapters/storage/gormstore/pgfast"
)

// A batch on Citus is of one business. Its statements are those of Postgres in other forms:
// rows as values in place of arrays, which the coordinator would unfold, copy to the
// node as a file and insert from there, four times as slow; and the business by name where rows are
// found by their IDs. Positions in the feed come from the coordinator, and whether the business has
// endpoints at all from its node, by one round trip before: a statement that looks for the
// endpoints of an event is planned for all nodes.

// onCitus turns the steps of a batch into those for the node of its business.
func (b *pgBatch) onCitus(ctx context.Context, conn *pgx.Conn, steps []pgfast.Step) ([]pgfast.Step, error) {
	business := pgUUID.One(b.entries[0].row.BusinessID)
	positions, endpoints, err := b.ahead(ctx, conn)
	if err != nil {
		return nil, err
	}
	for i := range steps {
		s := &steps[i]
		switch s.Statement {
		case fillNames:
			s.Statement, s.Values = fillNamesOnNode, append(s.Values, business)
		case countAddresses:
			s.Statement, s.Values = countAddressesOnNode, append(s.Values, business)
		case fanOutAll:
			s.Statement, s.Values = fanOutOnNode, append(s.Values, business)
		case countSimulations:
			countOnNode(s)
		case storeKeys.checked:
			asRows(s, cutAt(storeKeys.plain, "SELECT"), "now() + make_interval(secs => $)", strings.TrimPrefix(storeKeys.checked, storeKeys.plain))
		case storeInFeed:
			s.Values = append(s.Values, positions)
			asRows(s, cutAt(storeInFeed, "SELECT"), "$", "")
		default:
			if insert, _, columnar := strings.Cut(s.Statement, "SELECT * FROM unnest("); columnar {
				asRows(s, insert, "$", s.Statement[strings.LastIndex(s.Statement, "[])")+len("[])"):])
			}
		}
	}
	if !endpoints {
		steps = slices.DeleteFunc(steps, func(s pgfast.Step) bool { return s.Statement == fanOutOnNode })
	}
	return steps, nil
}

// countOnNode counts the simulations of each application here: the columns are businesses
// and applications, and the last value is the limit.
func countOnNode(s *pgfast.Step) {
	businesses, counts := elements(s.Values[0]), map[string]int{}
	var applications []string
	for _, application := range elements(s.Values[1]) {
		id := string(application.Data)
		if counts[id]++; counts[id] == 1 {
			applications = append(applications, id)
		}
	}
	limit := s.Values[2]
	s.Values = []pgfast.Value{
		pgfast.Bytes.Many(len(applications), func(int) []byte { return businesses[0].Data }),
		pgfast.Bytes.Many(len(applications), func(i int) []byte { return []byte(applications[i]) }),
		pgfast.Integer.Many(len(applications), func(i int) int { return counts[applications[i]] }),
	}
	_, conflicts, _ := strings.Cut(countSimulations, "ON CONFLICT")
	asRows(s, cutAt(countSimulations, "SELECT"), "$", " ON CONFLICT"+conflicts)
	for i := range s.Values {
		if i%3 != 2 {
			s.Values[i].OID = businesses[0].OID
		}
	}
	s.Values = append(s.Values, limit)
	s.Statement = strings.Replace(s.Statement, "<= $3 RETURNING", "<= $"+strconv.Itoa(len(s.Values))+" RETURNING", 1)
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

// ahead takes a position in the feed for each booking, and tells whether there are endpoints
// that an event may be for.
func (b *pgBatch) ahead(ctx context.Context, conn *pgx.Conn) (positions pgfast.Value, endpoints bool, err error) {
	ask := &pgx.Batch{}
	ask.Queue(pgPositions, len(b.entries))
	ask.Queue("SELECT EXISTS (SELECT 1 FROM webhook_endpoints WHERE business_id = $1 AND slot IS NOT NULL)",
		uuidOf(b.entries[0].row.BusinessID))
	answers := conn.SendBatch(ctx, ask)
	rows, _ := answers.Query() // its error is that of rows, too
	taken, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err == nil {
		err = answers.QueryRow().Scan(&endpoints)
	}
	if closed := answers.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return positions, false, fmt.Errorf("take positions in the feed: %w", err)
	}
	return pgfast.Bigint.Many(len(taken), func(i int) int64 { return taken[i] }), endpoints, nil
}

// pgPositions takes as many as its parameter says, as pgPosition takes one.
const pgPositions = "SELECT nextval('feed_positions') FROM (SELECT pg_advisory_xact_lock_shared(" + pgFeedLock +
	", ((last_value & 4294967295) - 2147483648)::integer), set_config('idle_in_transaction_session_timeout', '" + pgFeedIdle + "', true)" +
	" FROM feed_positions OFFSET 0) AS held, generate_series(1, $1::integer)"

// asRows gives a statement that inserts columns, which are arrays of the same length, their values row by
// row; last is what becomes of the last column, where $ stands for its value.
func asRows(s *pgfast.Step, insert, last, conflicts string) {
	columns := make([][]pgfast.Value, len(s.Values))
	for i, v := range s.Values {
		columns[i] = elements(v)
	}
	var text strings.Builder
	text.WriteString(insert)
	text.WriteString("VALUES ")
	var values []pgfast.Value
	for row := range columns[0] {
		for i, column := range columns {
			values = append(values, column[row])
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
	s.Statement, s.Values = text.String(), values
}

// elements are those of an array as pgfast makes it: a header with their type and number, and
// each with its length before it, which is negative of NULL.
func elements(array pgfast.Value) []pgfast.Value {
	const header = 5 * 4
	oid, n, rest := binary.BigEndian.Uint32(array.Data[8:]), binary.BigEndian.Uint32(array.Data[12:]), array.Data[header:]
	all := make([]pgfast.Value, n)
	for i := range all {
		size := int32(binary.BigEndian.Uint32(rest)) //nolint:gosec // -1 stands for NULL
		rest = rest[4:]
		all[i].OID = oid
		if size >= 0 {
			all[i].Data, rest = rest[:size:size], rest[size:]
		}
	}
	return all
}
