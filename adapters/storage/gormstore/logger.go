package gormstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm/logger"
)

// gormLogger passes what gorm reports to slog. Errors are not logged here: they
// are returned, and the edge logs them once.
type gormLogger struct {
	logger *slog.Logger
	slow   time.Duration
}

func (l *gormLogger) LogMode(logger.LogLevel) logger.Interface { return l }

func (l *gormLogger) Info(ctx context.Context, format string, args ...any) {
	l.logger.DebugContext(ctx, "gorm", "message", fmt.Sprintf(format, args...))
}

func (l *gormLogger) Warn(ctx context.Context, format string, args ...any) {
	l.logger.WarnContext(ctx, "gorm", "message", fmt.Sprintf(format, args...))
}

func (l *gormLogger) Error(ctx context.Context, format string, args ...any) {
	l.logger.WarnContext(ctx, "gorm", "message", fmt.Sprintf(format, args...))
}

// Trace is called after every statement; rendering it is costly, so it is done
// only where it is logged.
func (l *gormLogger) Trace(ctx context.Context, begin time.Time, statement func() (sql string, rows int64), _ error) {
	elapsed := time.Since(begin)
	level, message := slog.LevelDebug, "statement"
	if elapsed >= l.slow {
		level, message = slog.LevelWarn, "slow statement"
	}
	if !l.logger.Enabled(ctx, level) {
		return
	}
	sql, rows := statement()
	l.logger.Log(ctx, level, message, "sql", sql, "rows", rows, "duration_ms", elapsed.Milliseconds())
}

// ParamsFilter takes the values out before gorm puts them into the text.
func (l *gormLogger) ParamsFilter(_ context.Context, sql string, _ ...any) (string, []any) {
	return sql, nil
}

// gorm records the statements of Scan with a recorder of its own, which keeps the
// values by default.
func init() { logger.RecorderParamsFilter = (&gormLogger{}).ParamsFilter }
