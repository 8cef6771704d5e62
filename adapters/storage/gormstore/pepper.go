package gormstore

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

type pepperRow struct {
	ID   int16 `gorm:"primaryKey"` // from 1 on, without a gap
	Mark []byte
}

func (pepperRow) TableName() string { return "key_pepper" }

func (s tenancy) PepperMarks(ctx context.Context) ([][32]byte, error) {
	var rows []pepperRow
	if err := s.with(ctx).Order("id").Find(&rows).Error; err != nil {
		return nil, s.dialect.failed("read the marks of the peppers", err)
	}
	return all(rows, func(r *pepperRow) [32]byte { return [32]byte(r.Mark) }), nil
}

// AddPepperMark waits for a concurrent call. It reads in a separate statement, which sees what was
// committed meanwhile.
func (s tenancy) AddPepperMark(ctx context.Context, known [][32]byte, mark [32]byte) ([][32]byte, error) {
	err := s.with(ctx).Exec("INSERT INTO key_pepper (id, mark) VALUES (?, ?) ON CONFLICT DO NOTHING", len(known)+1, mark[:]).Error
	if err != nil {
		return nil, s.dialect.failed("add the mark of a pepper", err)
	}
	return s.PepperMarks(ctx)
}

func (s tenancy) SetPepperMark(ctx context.Context, mark [32]byte) error {
	if err := s.with(ctx).Exec("DELETE FROM key_pepper").Error; err != nil {
		return s.dialect.failed("remove the marks of the peppers", err)
	}
	err := s.with(ctx).Exec("INSERT INTO key_pepper (id, mark) VALUES (1, ?)", mark[:]).Error
	return s.dialect.failed("set the mark of the pepper", err)
}

// The keys and tokens that are still active and not under the newest pepper.
const (
	underOldPepper = "COALESCE(pepper, (SELECT mark FROM key_pepper WHERE id = 1))" +
		" IN (SELECT mark FROM key_pepper WHERE id < (SELECT MAX(id) FROM key_pepper))"
	stillUsable = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"

	oldPeppers = "SELECT p.mark AS mark, SUM(u.keys) AS keys, SUM(u.tokens) AS tokens, MAX(u.last_used_at) AS last_used_at" +
		" FROM key_pepper p JOIN (" +
		"SELECT pepper, 1 AS keys, 0 AS tokens, last_used_at FROM api_keys WHERE " + stillUsable + " AND " + underOldPepper +
		" UNION ALL SELECT pepper, 0, 1, last_used_at FROM operator_tokens WHERE " + stillUsable + " AND " + underOldPepper +
		") u ON p.mark = COALESCE(u.pepper, (SELECT mark FROM key_pepper WHERE id = 1))" +
		" GROUP BY p.id, p.mark ORDER BY p.id"
)

type pepperUseRow struct {
	Mark         []byte
	Keys, Tokens int
	LastUsedAt   *instant
}

func (s tenancy) OldPeppers(ctx context.Context, now time.Time) ([]domain.PepperUse, error) {
	var rows []pepperUseRow
	if err := s.with(ctx).Raw(oldPeppers, instantOf(now), instantOf(now)).Scan(&rows).Error; err != nil {
		return nil, s.dialect.failed("count what is under old peppers", err)
	}
	return all(rows, func(r *pepperUseRow) domain.PepperUse {
		return domain.PepperUse{Mark: [32]byte(r.Mark), Keys: r.Keys, Tokens: r.Tokens, LastUsedAt: optionalTime(r.LastUsedAt)}
	}), nil
}

func (s tenancy) OldPepperKeys(ctx context.Context, now time.Time) ([]domain.APIKey, error) {
	var rows []apiKeyRow
	err := oldestFirst(s.with(ctx)).Where(stillUsable, instantOf(now)).Where(underOldPepper).Find(&rows).Error
	return all(rows, (*apiKeyRow).domain), s.dialect.failed("list the keys under old peppers", err)
}

// RedigestAPIKeys runs a statement for each key: a key is redigested once in the life of a pepper.
func (s tenancy) RedigestAPIKeys(ctx context.Context, changes []ports.Redigest) error {
	for _, r := range changes {
		if err := s.redigest(ctx, "api_keys", domain.PrefixAPIKey, r); err != nil {
			return err
		}
	}
	return nil
}

func (s session) redigest(ctx context.Context, table string, prefix domain.Prefix, r ports.Redigest) error {
	key, _ := lookup(prefix, r.ID)
	if key == "" {
		return nil // nothing can have this ID
	}
	err := s.with(ctx).Table(table).Where("id = ? AND digest = ?", key, r.From[:]).
		Updates(map[string]any{"digest": r.To[:], "pepper": r.Pepper[:]}).Error
	return s.dialect.failed("redigest a secret", err)
}

// bytesOfAll returns digests as a list for a statement.
func bytesOfAll(digests [][32]byte) [][]byte {
	out := make([][]byte, len(digests))
	for i := range digests {
		out[i] = digests[i][:]
	}
	return out
}
