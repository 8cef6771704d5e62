//go:build mutants

package gormstore

import (
	"context"
	"os"

	"waybill/domain"
)

// mutantAdd is add with the rule broken that WAYBILL_MUTANT names.
func (s reportCount) mutantAdd(ctx context.Context, cells map[domain.ReportCell]*domain.Figures) error {
	err := s.add(ctx, cells)
	if err == nil && os.Getenv("WAYBILL_MUTANT") == "report_own_commit" { // after a crash in between the next one counts again
		err = s.with(ctx).Exec("COMMIT").Error
		if err == nil {
			err = s.with(ctx).Exec("BEGIN").Error
		}
	}
	return err
}
