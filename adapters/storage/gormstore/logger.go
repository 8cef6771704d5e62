package gormstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm/logger"
)

// gormLogger passes gorm's messages to slog. It does not log errors: they are returned, and the
// edge logs them once.
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

// Trace runs after every statement. Rendering a statement is costly, so it renders only what it
// logs.
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

// ParamsFilter removes the values before gorm puts them into the text.
func (l *gormLogger) ParamsFilter(_ context.Context, sql string, _ ...any) (string, []any) {
	return sql, nil
}

// gorm records the statements of Scan with a recorder of its own, which keeps values by default.
func init() { logger.RecorderParamsFilter = (&gormLogger{}).ParamsFilter }
