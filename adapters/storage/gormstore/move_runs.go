package gormstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm/clause"

	"waybill/domain"
	"waybill/ports"
)

var moveItemTable = newTable(moveItemRow{})

// moveRuns implements ports.MoveRunReader and ports.MoveRunStore.
type moveRuns struct{ session }

func (s moveRuns) Get(ctx context.Context, id domain.ID) (domain.MoveRun, error) {
	key, err := lookup(domain.PrefixMoveRun, id)
	if err != nil {
		return domain.MoveRun{}, err
	}
	return s.one(ctx, "id = ?", key)
}

func (s moveRuns) FindByKey(ctx context.Context, key string) (domain.MoveRun, error) {
	if !storable(key) {
		return domain.MoveRun{}, domain.ErrNotFound
	}
	return s.one(ctx, "key = ?", key)
}

func (s moveRuns) one(ctx context.Context, which string, value any) (run domain.MoveRun, err error) {
	rows, err := s.rows(ctx, "WHERE "+which, value)
	if err != nil || len(rows) == 0 {
		return run, foundNone(err)
	}
	run = rows[0].domain()
	var items []moveItemRow
	err = s.with(ctx).Where("run_id = ?", rows[0].ID).Order("item_index").Find(&items).Error
	run.Items = all(items, (*moveItemRow).domain)
	return run, s.dialect.failed("read the items of a run", err)
}

func foundNone(err error) error {
	if err == nil {
		return domain.ErrNotFound
	}
	return err
}

func (s moveRuns) rows(ctx context.Context, rest string, values ...any) (rows []moveRunRow, err error) {
	err = s.with(ctx).Raw(s.dialect.clocked("SELECT "+moveRunColumns+" FROM move_runs "+rest), values...).Scan(&rows).Error
	return rows, s.dialect.failed("read runs of moves", err)
}

func (s moveRuns) List(ctx context.Context, p domain.PageRequest) ([]domain.MoveRun, error) {
	behind, values := "", []any{p.Limit + 1}
	if p.After != nil {
		behind, values = "WHERE id < ? ", []any{rowIDOf(p.After.ID), p.Limit + 1}
	}
	rows, err := s.rows(ctx, behind+"ORDER BY id DESC LIMIT ?", values...)
	return all(rows, (*moveRunRow).domain), err
}

// ended is the condition that a lease has expired. No lease lasts until $far: one that does is from
// before the clock was set back.
const ended = "(leased_until IS NULL OR leased_until NOT BETWEEN $now AND $far)"

func (s moveRuns) Left(ctx context.Context, limit int) ([]domain.ID, error) {
	rows, err := s.rows(ctx, "WHERE finished_at IS NULL AND "+ended+" ORDER BY id LIMIT ?", limit)
	return all(rows, func(r *moveRunRow) domain.ID { return r.ID.as(domain.PrefixMoveRun) }), err
}

const beginMoveRun = `INSERT INTO move_runs
	(id, key, fingerprint, actor_id, actor_name, request_id, created_at, lease_token, leased_until)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, $later)
ON CONFLICT DO NOTHING`

func (s moveRuns) Begin(ctx context.Context, r domain.MoveRun, h ports.MoveHold) error {
	result := s.with(ctx).Exec(s.dialect.clocked(beginMoveRun), rowIDOf(r.ID), r.Key, r.Fingerprint[:], string(r.By.ID), r.By.Name,
		r.By.RequestID, instantOf(r.CreatedAt), rowID(h.Token), s.dialect.laterBy(h.Lease))
	if err := s.dialect.claimed(1, result.Error); err != nil {
		return err
	}
	if result.RowsAffected == 0 {
		return s.begun(ctx, r, h)
	}
	for _, item := range r.Items {
		if err := moveItemTable.insertInto(ctx, s.with(ctx), newMoveItemRow(r.ID, item), "").Error; err != nil {
			return s.dialect.failed("insert an item of a run", err)
		}
	}
	return nil
}

// begun returns nil if this holder began the run, whose COMMIT got no response.
func (s moveRuns) begun(ctx context.Context, r domain.MoveRun, h ports.MoveHold) error {
	var n int64
	err := s.with(ctx).Table("move_runs").Where("id = ? AND lease_token = ?", rowIDOf(r.ID), rowID(h.Token)).Count(&n).Error
	if err == nil && n == 0 {
		return ports.ErrKeyTaken
	}
	return s.dialect.failed("look for a run of moves", err)
}

func (s moveRuns) Resume(ctx context.Context, h ports.MoveHold) error {
	return s.lease(ctx, h, "take over a run", "finished_at IS NULL AND ("+ended+" OR lease_token = ?)")
}

func (s moveRuns) Extend(ctx context.Context, h ports.MoveHold) error {
	return s.lease(ctx, h, "extend the lease of a run", "finished_at IS NULL AND lease_token = ?")
}

func (s moveRuns) lease(ctx context.Context, h ports.MoveHold, what, which string) error {
	result := s.with(ctx).Exec(s.dialect.clocked("UPDATE move_runs SET lease_token = ?, leased_until = $later WHERE id = ? AND "+which),
		rowID(h.Token), s.dialect.laterBy(h.Lease), rowIDOf(h.Run), rowID(h.Token))
	return s.kept(what, result.RowsAffected, result.Error)
}

// kept returns ErrLeaseLost for an update that found no row.
func (s moveRuns) kept(what string, rows int64, err error) error {
	if err == nil && rows == 0 {
		return ports.ErrLeaseLost
	}
	return s.dialect.failed(what, err)
}

func (s moveRuns) Settle(ctx context.Context, h ports.MoveHold, i domain.MoveItem) error {
	result := s.with(ctx).Exec("UPDATE move_run_items SET outcome = ?, current = ?, code = ?, message = ?, allowed = ?"+
		" WHERE run_id = ? AND item_index = ? AND outcome = 'pending'",
		string(i.Outcome), string(i.Current), i.Code, i.Message, joined(i.Allowed), rowIDOf(h.Run), i.Index)
	if result.Error == nil && result.RowsAffected == 0 {
		return ports.ErrItemDone
	}
	return s.dialect.failed("record an item of a run", result.Error)
}

func (s moveRuns) Finish(ctx context.Context, h ports.MoveHold, at time.Time) error {
	result := s.with(ctx).Exec("UPDATE move_runs SET finished_at = ?, lease_token = NULL, leased_until = NULL"+
		" WHERE id = ? AND lease_token = ? AND finished_at IS NULL", instantOf(at), rowIDOf(h.Run), rowID(h.Token))
	return s.kept("finish a run", result.RowsAffected, result.Error)
}

func (s moveRuns) Release(ctx context.Context, h ports.MoveHold) error {
	// Remove the lease instead of letting it end now: Postgres rounds times.
	err := s.with(ctx).Exec("UPDATE move_runs SET leased_until = NULL WHERE id = ? AND lease_token = ?",
		rowIDOf(h.Run), rowID(h.Token)).Error
	return s.dialect.failed("release a run", err)
}

// purgeMoveRuns deletes the items of old runs, and then the runs.
func (s *Store) purgeMoveRuns(ctx context.Context, limit int) (int, error) {
	before, err := s.expired(ctx, "move_runs", domain.MoveRunKept)
	if err != nil {
		return 0, err
	}
	purge := func(table, columns string, id string) (int, error) {
		old := s.write.WithContext(ctx).Table(table).Select(columns).Where(id+" < ?", before).Order(columns).Limit(limit).
			Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"})
		result := s.write.WithContext(ctx).Exec("DELETE FROM "+table+" WHERE ("+columns+") IN (?)", old)
		if result.Error != nil {
			return 0, fmt.Errorf("delete what is old of %s: %w", table, result.Error)
		}
		return int(result.RowsAffected), nil
	}
	if n, err := purge("move_run_items", "run_id, item_index", "run_id"); n > 0 || err != nil {
		return n, err
	}
	return purge("move_runs", "id", "id")
}
