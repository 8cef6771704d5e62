package gormstore

import "context"

// keyCheckID is the ID of the only row of its table.
const keyCheckID = 1

type keyCheckRow struct {
	ID     int16 `gorm:"primaryKey"`
	Sealed []byte
}

func (keyCheckRow) TableName() string { return "secret_key_check" }

const insertKeyCheck = "INSERT INTO secret_key_check (id, sealed) VALUES (?, ?) ON CONFLICT (id) DO "

// AddKeyCheck waits for a concurrent call, like AddPepperMark.
func (s webhooks) AddKeyCheck(ctx context.Context, sealed []byte) ([]byte, error) {
	if err := s.with(ctx).Exec(insertKeyCheck+"NOTHING", keyCheckID, sealed).Error; err != nil {
		return nil, s.dialect.failed("add the check of the secret key", err)
	}
	var row keyCheckRow
	if err := s.with(ctx).Where("id = ?", keyCheckID).Take(&row).Error; err != nil {
		return nil, s.dialect.failed("read the check of the secret key", err)
	}
	return row.Sealed, nil
}

func (s webhooks) SetKeyCheck(ctx context.Context, sealed []byte) error {
	err := s.with(ctx).Exec(insertKeyCheck+"UPDATE SET sealed = excluded.sealed", keyCheckID, sealed).Error
	return s.dialect.failed("set the check of the secret key", err)
}
