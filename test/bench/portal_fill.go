package main

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A route and a code of which there are few.
const (
	rareRoute = "POST /v1/webhook-endpoints"
	rareCode  = "PICKUP_LOCATION_INCOMPLETE"
)

// portalSQL fills the log. Of ten requests seven are of the business; a tenth failed.
//
//go:embed portal.sql
var portalSQL string

// fill puts requests of 3 days and failures of 30 into the log, with their usage.
func (l *loggedBusiness) fill(ctx context.Context, db *pgx.Conn) error {
	hex := func(id string) string { return id[strings.IndexByte(id, '_')+1:] }
	statements := strings.NewReplacer("$business", hex(l.business), "$app", hex(l.app), "$live", hex(l.keys["live"]), "$sandbox",
		hex(l.keys["sandbox"]),
		"$rows", fmt.Sprint(l.rows), "$rare_route", rareRoute, "$rare_code", rareCode).Replace(portalSQL)
	for statement := range strings.SplitSeq(statements, ";\n\n") {
		if _, err := db.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%.60s: %w", strings.TrimSpace(statement), err)
		}
	}
	const known = "SELECT array_agg(id), array_agg(delivery_id) FROM (SELECT 'req_' || replace(id::text, '-', '') AS id, 'dlv_' || " +
		"replace(delivery_id::text, '-', '') AS delivery_id" +
		" FROM request_log WHERE business_id = $1::text::uuid AND delivery_id IS NOT NULL ORDER BY id DESC OFFSET 1000 LIMIT 200) AS few"
	if err := db.QueryRow(ctx, known, hex(l.business)).Scan(&l.requests, &l.deliveries); err != nil {
		return err
	}
	if err := db.QueryRow(ctx, "SELECT 'req_' || replace(id::text, '-', '') FROM request_log WHERE business_id = $1::text::uuid ORDER BY id "+
		"DESC OFFSET 20000 LIMIT 1", hex(l.business)).Scan(&l.cursor); err != nil {
		return err
	}
	return db.QueryRow(ctx, "SELECT (SELECT count(*) FROM usage_minutes), pg_database_size(current_database())").Scan(&l.usage, &l.bytes)
}
