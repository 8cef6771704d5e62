package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// manyEndpoints are what an idle service may have without being less idle.
const manyEndpoints = 1000

// quiet is how long the queue still asks often after it got something; nothing
// tells when that is over.
const quiet = 2 * time.Second

// idling is the time of all processes when nothing happens.
var idling = share("all", spent.inAll)

var idleFigures = []figure{
	share("serve", func(s spent) time.Duration { return s.serve }),
	share("worker", func(s spent) time.Duration { return s.worker }),
	share("Postgres", func(s spent) time.Duration { return s.postgres }),
	share("Redis", func(s spent) time.Duration { return s.redis }),
	idling,
}

// share is in percent of one core.
func share(name string, of func(spent) time.Duration) figure {
	return figure{"% of a core: " + name, func(o outcome) float64 { return 100 * float64(of(o.spent)) / float64(o.took) }, 1, 0, -1}
}

// The endpoints of all other trials are set aside, so that there are just as many
// as is said.
const (
	setAsideSQL = `CREATE TEMP TABLE aside AS TABLE webhook_endpoints; DELETE FROM webhook_endpoints`
	putBackSQL  = `DELETE FROM webhook_endpoints; INSERT INTO webhook_endpoints TABLE aside; DROP TABLE aside`
	// idleSQL makes endpoints of a real one, some for each application there is.
	idleSQL = `INSERT INTO webhook_endpoints SELECT (jsonb_populate_record(t.real, jsonb_build_object('id', gen_random_uuid(),
		'application_id', a.id, 'business_id', a.business_id, 'environment', e.environment, 'slot', s.slot))).*
	FROM (SELECT one AS real FROM aside AS one WHERE slot IS NOT NULL AND enabled ORDER BY id LIMIT 1) AS t, applications a,
		(VALUES ('live'), ('sandbox')) AS e (environment), generate_series(0, 15) AS s (slot)
	ORDER BY s.slot, a.id LIMIT $1`
)

// onlyIdle makes so many endpoints be all there are, until the others are put back.
func onlyIdle(ctx context.Context, db *pgx.Conn, endpoints int) (putBack func() error, err error) {
	if _, err := db.Exec(ctx, setAsideSQL); err != nil {
		return nil, err
	}
	putBack = func() error {
		_, err := db.Exec(context.WithoutCancel(ctx), putBackSQL)
		return err
	}
	tag, err := db.Exec(ctx, idleSQL, endpoints)
	if err == nil && tag.RowsAffected() != int64(endpoints) {
		err = fmt.Errorf("the applications may have %d endpoints, not %d", tag.RowsAffected(), endpoints)
	}
	if err != nil {
		return nil, errors.Join(err, putBack())
	}
	return putBack, nil
}

// idle is nothing at all, with so many endpoints.
func (p *post) idle(ctx context.Context, endpoints int, duration time.Duration) (o outcome, err error) {
	putBack, err := onlyIdle(ctx, p.db, endpoints)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, putBack()) }()
	if err := clean(ctx, p.db); err != nil {
		return o, err
	}
	if err := pause(ctx, quiet); err != nil {
		return o, err
	}
	before := p.spent()
	o.begun = time.Now()
	err = pause(ctx, duration)
	o.took, o.spent = time.Since(o.begun), p.spent().since(before)
	return o, err
}
