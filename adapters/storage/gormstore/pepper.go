package gormstore

import "context"

// pepperID is that of the one row there may be.
const pepperID = 1

type pepperRow struct {
	ID   int16 `gorm:"primaryKey"`
	Mark []byte
}

func (pepperRow) TableName() string { return "key_pepper" }

const insertPepper = "INSERT INTO key_pepper (id, mark) VALUES (?, ?) ON CONFLICT (id) DO "

// AddPepperMark waits where another one is being added: in a statement of its
// own, the read sees what was committed meanwhile.
func (s tenancy) AddPepperMark(ctx context.Context, mark [32]byte) ([32]byte, error) {
	if err := s.with(ctx).Exec(insertPepper+"NOTHING", pepperID, mark[:]).Error; err != nil {
		return [32]byte{}, s.engine.failed("add the mark of the pepper", err)
	}
	var row pepperRow
	if err := s.with(ctx).Where("id = ?", pepperID).Take(&row).Error; err != nil {
		return [32]byte{}, s.engine.failed("read the mark of the pepper", err)
	}
	return [32]byte(row.Mark), nil
}

func (s tenancy) SetPepperMark(ctx context.Context, mark [32]byte) error {
	err := s.with(ctx).Exec(insertPepper+"UPDATE SET mark = excluded.mark", pepperID, mark[:]).Error
	return s.engine.failed("set the mark of the pepper", err)
}
