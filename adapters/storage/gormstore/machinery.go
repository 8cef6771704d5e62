package gormstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"waybill/domain"
)

// machinery implements ports.MachineryStore.
type machinery struct{ session }

// standing is the number of the status of an endpoint e, by domain.EndpointStandings. Its parameter
// is the time before which no due webhook may wait.
const standing = `CASE WHEN e.enabled AND e.failing_since IS NOT NULL THEN 0
	WHEN e.enabled AND EXISTS (SELECT 1 FROM webhook_deliveries d
		WHERE d.endpoint_id = e.id$with(d,e) AND d.status = 'pending' AND d.due_at < ?) THEN 1
	WHEN e.enabled THEN 4 WHEN e.disabled_reason <> 'by_caller' THEN 2 ELSE 3 END`

// ofEndpoint selects the counts of an endpoint and its last attempt. It searches for the attempt in
// the newest events and in those whose retry is due last.
const ofEndpoint = `SELECT e.id,
	(SELECT count(*) FROM (SELECT 1 AS one FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.status = 'pending' LIMIT ?) AS few)
		AS waiting,
	(SELECT min(d.due_at) FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.status = 'pending') AS oldest,
	(SELECT a.id FROM webhook_attempts a WHERE a.webhook_delivery_id IN (
		SELECT id FROM (SELECT d.id FROM webhook_deliveries d WHERE d.endpoint_id = e.id ORDER BY d.created_at DESC, d.id DESC LIMIT 20) AS newest
		UNION ALL SELECT id FROM (SELECT d.id FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.status = 'pending'
			ORDER BY d.due_at DESC, d.id DESC LIMIT 20) AS again
	) ORDER BY a.started_at DESC, a.id DESC LIMIT 1) AS last
FROM webhook_endpoints e WHERE e.id IN ?`

type shownRow struct {
	Endpoint        webhookEndpointRow `gorm:"embedded"`
	BusinessName    string
	ApplicationName string
	Standing        int
}

func (s machinery) Endpoints(ctx context.Context, f domain.EndpointFilter, now time.Time, after *domain.EndpointPlace,
	limit int) ([]domain.EndpointShown, error) {
	ctx, done := s.forList(ctx, domain.Tenant{})
	defer done()
	standings := domain.EndpointStandings()
	q := &condition{}
	q.and("e.slot IS NOT NULL AND NOT e.listener")
	for _, by := range []struct {
		column string
		prefix domain.Prefix
		id     domain.ID
	}{{"e.business_id = ?", domain.PrefixBusiness, f.BusinessID}, {"e.application_id = ?", domain.PrefixApplication, f.ApplicationID}} {
		if by.id == "" {
			continue
		}
		key, err := lookup(by.prefix, by.id)
		if err != nil {
			return nil, nil // no such record, so no endpoints
		}
		q.and(by.column, key)
	}
	if f.Environment != "" {
		q.and("e.environment = ?", string(f.Environment))
	}
	if f.Host != "" {
		if !storable(f.Host) {
			return nil, nil
		}
		q.and(`lower(e.url) LIKE ? ESCAPE '\'`, "%"+strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(strings.ToLower(f.Host))+"%")
	}
	place := &condition{}
	if f.Standing != "" {
		place.and("standing = ?", slices.Index(standings, f.Standing))
	}
	if f.Unwell {
		place.and("standing < ?", slices.Index(standings, domain.StandingPaused))
	}
	if after != nil {
		rank := slices.Index(standings, after.Standing)
		place.and("(standing > ? OR standing = ? AND id > ?)", rank, rank, rowIDOf(after.ID))
	}
	values := append([]any{instantOf(now.Add(-domain.BehindAfter))}, q.values...)
	values = append(append(values, place.values...), limit)
	var rows []shownRow
	err := s.with(ctx).Raw("SELECT * FROM (SELECT "+webhookEndpointTable.selectAs("e", "")+
		", b.name AS business_name, a.name AS application_name, "+s.dialect.placed(standing)+
		" AS standing FROM webhook_endpoints e JOIN applications a ON a.id = e.application_id JOIN businesses b ON b.id = e.business_id"+
		q.where()+") AS shown"+place.where()+" ORDER BY standing, id LIMIT ?", values...).Scan(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, s.listFailed(ctx, "list webhook endpoints by their standing", err)
	}
	shown := make([]domain.EndpointShown, len(rows))
	for i := range rows {
		shown[i] = domain.EndpointShown{WebhookEndpoint: rows[i].Endpoint.domain(), Business: rows[i].BusinessName,
			Application: rows[i].ApplicationName, Standing: standings[rows[i].Standing]}
	}
	return shown, s.addWaiting(ctx, shown)
}

func (s machinery) Endpoint(ctx context.Context, id domain.ID) (domain.WebhookEndpoint, error) {
	return webhooks(s).takeEndpoint(s.with(ctx).Where("slot IS NOT NULL AND NOT listener"), id)
}

func (s machinery) addWaiting(ctx context.Context, shown []domain.EndpointShown) error {
	ids := make([]rowID, len(shown))
	for i := range shown {
		ids[i] = rowIDOf(shown[i].ID)
	}
	var rows []struct {
		ID      rowID
		Waiting int
		Oldest  *instant
		Last    *rowID
	}
	query := s.with(ctx).Raw(ofEndpoint, domain.MaxWaitingCounted, padded(ids))
	if s.dialect.sharded {
		query = s.ofEndpointsOnCitus(ctx, shown)
	}
	if err := query.Scan(&rows).Error; err != nil {
		return s.listFailed(ctx, "count what waits for webhook endpoints", err)
	}
	var lasts []rowID
	of := map[rowID]int{}
	for i, r := range rows {
		if of[r.ID] = i; r.Last != nil {
			lasts = append(lasts, *r.Last)
		}
	}
	attempts := map[rowID]domain.WebhookAttempt{}
	if len(lasts) > 0 {
		var found []webhookAttemptRow
		if err := s.with(ctx).Where("id IN ?", padded(lasts)).Find(&found).Error; err != nil {
			return s.listFailed(ctx, "read the last attempts", err)
		}
		for _, a := range found {
			attempts[a.ID] = a.domain()
		}
	}
	for i := range shown {
		at, known := of[rowIDOf(shown[i].ID)]
		if !known {
			continue // deleted just now
		}
		r := rows[at]
		shown[i].Waiting, shown[i].Oldest = r.Waiting, optionalTime(r.Oldest)
		if r.Last != nil {
			if a, there := attempts[*r.Last]; there {
				shown[i].Last = &a
			}
		}
	}
	return nil
}

// webhookWork counts for each endpoint, so that it reads no more of each than it counts.
const webhookWork = `SELECT environment, COALESCE(sum(waiting), 0) AS waiting, COALESCE(sum(due), 0) AS due, min(oldest) AS oldest,
	COALESCE(sum(given_up), 0) AS given_up FROM (
	SELECT e.environment,
		(SELECT count(*) FROM (SELECT 1 AS one FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.status = 'pending' LIMIT ?) AS few)
			AS waiting,
		(SELECT count(*) FROM (SELECT 1 AS one FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.due_at <= ?
			LIMIT ?) AS few) AS due,
		(SELECT min(d.due_at) FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.due_at <= ?) AS oldest,
		(SELECT count(*) FROM (SELECT d.status FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.status IN ('failed', 'held')
			ORDER BY d.created_at DESC, d.id DESC LIMIT ?) AS few WHERE status = 'failed') AS given_up
	FROM webhook_endpoints e WHERE e.slot IS NOT NULL AND NOT e.listener
) AS of_endpoints GROUP BY environment`

const mailWork = `SELECT (SELECT count(*) FROM mails WHERE state = 'waiting') AS waiting,
	(SELECT count(*) FROM mails WHERE state = 'waiting' AND due_at <= ?) AS due,
	(SELECT min(due_at) FROM mails WHERE state = 'waiting' AND due_at <= ?) AS oldest,
	(SELECT count(*) FROM mails WHERE settled_at IS NOT NULL AND state = 'given_up') AS given_up`

const stepWork = `SELECT count(*) AS waiting, COALESCE(sum(CASE WHEN simulation_next_at <= ? THEN 1 ELSE 0 END), 0) AS due,
	min(CASE WHEN simulation_next_at <= ? THEN simulation_next_at END) AS oldest FROM deliveries WHERE ` + running

func (s machinery) Work(ctx context.Context, now time.Time) ([]domain.Work, error) {
	ctx, done := s.forList(ctx, domain.Tenant{})
	defer done()
	type row struct {
		Environment  string
		Waiting, Due int
		Oldest       *instant
		GivenUp      int
	}
	work := func(r row, k domain.WorkKind, e domain.Environment) domain.Work {
		most := func(n int) int { return min(n, domain.MaxWaitingCounted) }
		return domain.Work{Kind: k, Environment: e, Waiting: most(r.Waiting), Due: most(r.Due), Oldest: optionalTime(r.Oldest),
			GivenUp: most(r.GivenUp)}
	}
	at, most := instantOf(now), domain.MaxWaitingCounted
	var hooks []row
	query := s.with(ctx).Raw(webhookWork, most, at, most, at, most)
	if s.dialect.sharded {
		query = s.with(ctx).Raw(webhookWorkOnCitus, at, at)
	}
	if err := query.Scan(&hooks).Error; err != nil {
		return nil, s.listFailed(ctx, "count webhooks that wait", err)
	}
	var all []domain.Work
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		of := row{}
		for _, r := range hooks {
			if r.Environment == string(e) {
				of = r
			}
		}
		all = append(all, work(of, domain.WorkWebhooks, e))
	}
	var mail, steps row
	if err := s.with(ctx).Raw(mailWork, at, at).Scan(&mail).Error; err != nil {
		return nil, s.listFailed(ctx, "count mails that wait", err)
	}
	if err := s.with(ctx).Raw(stepWork, at, at).Scan(&steps).Error; err != nil {
		return nil, s.listFailed(ctx, "count steps that are due", err)
	}
	return append(all, work(mail, domain.WorkMails, ""), work(steps, domain.WorkSteps, domain.Sandbox)), nil
}

func (s machinery) GivenUpMails(ctx context.Context, limit int) ([]domain.Mail, error) {
	ctx, done := s.forList(ctx, domain.Tenant{})
	defer done()
	var rows []mailRow
	err := s.with(ctx).Where("settled_at IS NOT NULL AND state = ?", string(domain.MailGivenUp)).Order("settled_at DESC, id").Limit(limit).
		Find(&rows).Error
	if err != nil {
		return nil, s.listFailed(ctx, "list mails that were given up", err)
	}
	mails := make([]domain.Mail, len(rows))
	for i := range rows {
		if mails[i], err = rows[i].domain(); err != nil {
			return nil, err
		}
	}
	return mails, nil
}

func (s machinery) RetryMail(ctx context.Context, id domain.ID, now time.Time) (domain.Mail, error) {
	m, err := s.settledMail(ctx, id)
	if err != nil {
		return m, err
	}
	m.State, m.DueAt, m.SettledAt, m.ExpiresAt = domain.MailWaiting, now, nil, now.Add(m.Kind.Lifetime())
	return m, s.dialect.changed("send a mail again", s.with(ctx).Exec("UPDATE mails SET state = 'waiting', due_at = ?, settled_at = NULL,"+
		" expires_at = ? WHERE id = ? AND state = 'given_up' AND person_id IS NOT NULL", instantOf(now), instantOf(m.ExpiresAt), rowIDOf(id)))
}

func (s machinery) DropMail(ctx context.Context, id domain.ID) (domain.Mail, error) {
	m, err := s.settledMail(ctx, id)
	if err != nil {
		return m, err
	}
	m.State = domain.MailDropped
	return m, s.dialect.changed("drop a mail", s.with(ctx).Exec("UPDATE mails SET state = 'dropped' WHERE id = ? AND state = 'given_up'",
		rowIDOf(id)))
}

// settledMail returns an email that was given up.
func (s machinery) settledMail(ctx context.Context, id domain.ID) (domain.Mail, error) {
	key, err := lookup(domain.PrefixMail, id)
	if err != nil {
		return domain.Mail{}, err
	}
	var row mailRow
	if err := s.with(ctx).Where("id = ? AND state = ?", key, string(domain.MailGivenUp)).Take(&row).Error; err != nil {
		return domain.Mail{}, s.dialect.failed("read a mail that was given up", err)
	}
	return row.domain()
}

func (s machinery) Processes(ctx context.Context, since time.Time) ([]domain.Process, error) {
	ctx, done := s.forList(ctx, domain.Tenant{})
	defer done()
	var rows []struct {
		ID                rowID
		Facts             string
		StartedAt, SeenAt instant
	}
	err := s.with(ctx).Raw("SELECT id, facts, started_at, seen_at FROM processes WHERE seen_at >= ? ORDER BY started_at, id LIMIT 1000",
		instantOf(since)).Scan(&rows).Error
	if err != nil {
		return nil, s.listFailed(ctx, "list processes", err)
	}
	processes := make([]domain.Process, len(rows))
	for i, r := range rows {
		processes[i] = domain.Process{ID: r.ID.as(domain.PrefixProcess), StartedAt: r.StartedAt.time, SeenAt: r.SeenAt.time}
		if err := json.Unmarshal([]byte(r.Facts), &processes[i].ProcessFacts); err != nil {
			return nil, fmt.Errorf("a process told of itself what cannot be read: %w", err)
		}
	}
	return processes, nil
}

// KeepProcess stores the facts that a process reports.
func (s *Store) KeepProcess(ctx context.Context, p domain.Process) error {
	facts, err := json.Marshal(p.ProcessFacts)
	if err != nil {
		return fmt.Errorf("write what a process tells of itself: %w", err)
	}
	db := s.write.WithContext(ctx)
	err = db.Exec("INSERT INTO processes (id, facts, started_at, seen_at) VALUES (?, ?, ?, ?)"+
		" ON CONFLICT (id) DO UPDATE SET facts = excluded.facts, seen_at = excluded.seen_at",
		rowIDOf(p.ID), string(facts), instantOf(p.StartedAt), instantOf(p.SeenAt)).Error
	if err == nil {
		err = db.Exec("DELETE FROM processes WHERE seen_at < ?", instantOf(p.SeenAt.Add(-domain.ProcessKept))).Error
	}
	return s.dialect.failed("keep what a process tells of itself", err)
}

// serverState reads the state of the sessions that the user of the database may see.
const serverState = `SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on', current_setting('max_connections')::int,
	(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
	COALESCE((SELECT extract(epoch FROM clock_timestamp() - min(xact_start)) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()), 0)::float8,
	COALESCE((SELECT application_name FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
		AND xact_start IS NOT NULL ORDER BY xact_start LIMIT 1), '')`

// State returns the state that the database reports.
func (s *Store) State(ctx context.Context) (d domain.DatabaseState, err error) {
	begun := time.Now()
	if d.Product, d.Version, _, err = s.Server(ctx); err != nil {
		return d, s.dialect.failed("ask the database for its state", err)
	}
	if s.dialect.dialect == goose.DialectPostgres {
		var oldest float64
		err = s.pools.read.QueryRowContext(ctx, serverState).Scan(&d.Replica, &d.ReadOnly, &d.Most, &d.Sessions, &oldest, &d.OldestOf)
		d.Oldest = time.Duration(oldest * float64(time.Second)).Round(time.Millisecond)
	} else {
		err = s.pools.read.QueryRowContext(ctx, s.dialect.readOnly).Scan(&d.ReadOnly)
	}
	if err != nil {
		return d, s.dialect.failed("ask the database for its state", err)
	}
	d.Applied, d.Known, err = s.SchemaVersions(ctx)
	d.Took = time.Since(begun)
	return d, err
}
