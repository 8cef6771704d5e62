package gormstore

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// outcome is an element of the JSON array with which one statement records a batch.
type outcome struct {
	ID       rowID   `json:"id"` // of the webhook delivery
	Status   string  `json:"status"`
	Attempts int     `json:"attempts"`
	Used     int     `json:"used"`
	DueAt    *string `json:"due_at"`
	Attempt  rowID   `json:"attempt"`
	Number   int     `json:"number"`
	Trigger  string  `json:"trigger"` // of the attempt that was made
	Code     int     `json:"code"`
	Error    string  `json:"error"`
	Took     int64   `json:"took"`
	Excerpt  string  `json:"excerpt"`
	Started  string  `json:"started"`
	Next     *string `json:"next"`
}

// storableExcerpt replaces NUL, which Postgres does not store. encoding/json replaces invalid
// UTF-8.
var storableExcerpt = strings.NewReplacer("\x00", "\uFFFD")

func newOutcome(w ports.WebhookOutcome) outcome {
	d, a := w.Delivery, w.Attempt
	return outcome{
		ID: rowIDOf(d.ID), Status: string(d.Status), Attempts: d.Attempts, Used: d.Used, DueAt: optionalText(d.DueAt),
		Attempt: rowIDOf(a.ID), Number: a.Number, Trigger: string(a.Trigger), Code: a.Result.StatusCode, Error: string(a.Result.Error),
		Took: a.Result.Duration.Milliseconds(), Excerpt: storableExcerpt.Replace(a.Result.Excerpt),
		Started: domain.FormatTime(a.Result.StartedAt), Next: optionalText(a.NextAt),
	}
}

func optionalText(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return new(domain.FormatTime(*t))
}

// The LIMIT of both statements leaves nothing out. It shows Postgres how many outcomes there are.
// It expects a hundred of any JSON, for which it would read all of a table of a few thousand rows.

// settle counts an attempt that is not counted yet, so a repeat changes nothing. A webhook that was
// held or resent since the attempt began stays as it is, unless the attempt succeeded.
var settle = strings.ReplaceAll(`UPDATE webhook_deliveries SET attempts = o.attempts,
	status = CASE WHEN $counts THEN o.status ELSE webhook_deliveries.status END,
	due_at = CASE WHEN $counts THEN o.due_at ELSE webhook_deliveries.due_at END,
	used = CASE WHEN $counts THEN o.used ELSE webhook_deliveries.used END,
	trigger = CASE WHEN $counts THEN 'schedule' ELSE webhook_deliveries.trigger END,
	back = CASE WHEN $counts THEN '' ELSE webhook_deliveries.back END
FROM ($outcomes LIMIT ?) AS o
WHERE webhook_deliveries.id = o.id AND webhook_deliveries.business_id = ? AND webhook_deliveries.attempts < o.number`, "$counts",
	`(o.status = 'succeeded'
		OR webhook_deliveries.status = 'pending'
			AND webhook_deliveries.trigger = CASE WHEN o.trigger = 'probe' THEN 'schedule' ELSE o.trigger END)`)

const logAttempts = `INSERT INTO webhook_attempts
	(id, business_id, webhook_delivery_id, number, trigger, status_code, error_class, duration_ms, excerpt, started_at, next_at)
SELECT o.attempt, d.business_id, o.id, o.number, o.trigger, o.code, o.error, o.took, o.excerpt, o.started, o.next
FROM ($outcomes LIMIT ?) AS o, webhook_deliveries d WHERE d.id = o.id AND d.business_id = ?
ON CONFLICT DO NOTHING`

// recordAtOnce does what Record does where the health of the endpoint stays the same, as it mostly
// does. It changes nothing if the health changes, or another process has the lease. It sees what
// changed while it waited for the endpoint. Its LIMIT is a subquery, so that Postgres keeps a plan:
// with a value it plans each record anew.
var recordAtOnce = "WITH owned AS (SELECT e.business_id " + ownedEndpoint + " AND e.failures = ? AND e.opened = ?" +
	" AND e.failing_since IS NOT DISTINCT FROM ? AND e.open_until IS NOT DISTINCT FROM ? AND e.slow_until IS NOT DISTINCT FROM ?" +
	" FOR UPDATE), outcomes AS ($outcomes LIMIT (SELECT CAST(? AS bigint))), settled AS (" + ofOwned.Replace(settle) + ") " +
	ofOwned.Replace(logAttempts)

// ofOwned turns a statement about outcomes into a part of recordAtOnce.
var ofOwned = strings.NewReplacer("($outcomes LIMIT ?) AS o", "outcomes AS o, owned", "business_id = ?", "business_id = owned.business_id")

// recordAtOnce reports whether it recorded the outcomes. If not, an earlier call may have.
func (o outbox) recordAtOnce(ctx context.Context, endpoint domain.ID, token, batch string, outcomes int, health domain.WebhookHealth) (bool,
	error) {
	sn, key := o.write(), rowIDOf(endpoint)
	if !sn.dialect.changesInWith || outcomes == 0 {
		return false, nil
	}
	var row webhookEndpointRow
	row.setHealth(health)
	logged := sn.with(ctx).Exec(sn.dialect.webhooks(sn.dialect.leases(recordAtOnce)), key, rowID(token), key, row.Failures, row.Opened,
		row.FailingSince, row.OpenUntil, row.SlowUntil, batch, outcomes)
	o.store.noteDiskSpace(logged.Error)
	return logged.RowsAffected > 0, sn.dialect.failed("record attempts", logged.Error)
}

func (o outbox) Record(ctx context.Context, endpoint domain.ID, token string, of []ports.WebhookOutcome,
	health domain.WebhookHealth) error {
	outcomes := make([]outcome, len(of))
	for i, w := range of {
		outcomes[i] = newOutcome(w)
	}
	batch, err := json.Marshal(outcomes)
	if err != nil {
		return fmt.Errorf("write outcomes: %w", err)
	}
	if recorded, err := o.recordAtOnce(ctx, endpoint, token, string(batch), len(outcomes), health); err != nil || recorded {
		return err
	}
	return o.store.transact(ctx, func(sn session) error {
		row, err := sn.owned(ctx, endpoint, token)
		if err != nil {
			return err
		}
		for _, statement := range []string{settle, logAttempts} {
			if err := sn.with(ctx).Exec(sn.dialect.webhooks(statement), string(batch), len(outcomes), row.BusinessID).Error; err != nil {
				return sn.dialect.failed("record attempts", err)
			}
		}
		// Most attempts do not change the health, and each update leaves a dead row version behind.
		before := row.domain()
		if reflect.DeepEqual(before.Health, health) {
			return nil
		}
		row.setHealth(health)
		err = sn.dialect.changed("record the health of a webhook endpoint", sn.with(ctx).Model(&webhookEndpointRow{}).Where(
			"id = ? AND business_id = ?", row.ID, row.BusinessID).Updates(row.health()))
		if n, told := domain.RecoveredNotice(before, health, recordedAt(of)); told && err == nil {
			err = (mails{sn}).Tell(ctx, n)
		}
		return err
	})
}

// recordedAt returns when the last of the attempts ended, or the zero time for none.
func recordedAt(of []ports.WebhookOutcome) time.Time {
	if len(of) == 0 {
		return time.Time{}
	}
	last := of[len(of)-1].Attempt.Result
	return last.StartedAt.Add(last.Duration)
}
