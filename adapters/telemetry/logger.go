package telemetry

import (
	"io"
	"log/slog"
)

// Loggable lists every key that a log line may have. Any other key shows as omitted: a phone number
// must not get into a log because it was useful once. Only add a key whose values can never be
// personal or secret.
var Loggable = map[string]bool{
	slog.TimeKey: true, slog.LevelKey: true, slog.MessageKey: true,
	// a request
	"request_id": true, "client_request_id": true, "client_network": true, "key_id": true, "environment": true, "method": true, "route": true,
	"status": true, "took_ms": true,
	"application_id": true, "business_id": true, "delivery_id": true, "run_id": true, "attempt": true, "try": true,
	"code": true, "error": true, "panic": true, "cause": true, "stack": true, "part": true,
	// a statement, without values
	"sql": true, "rows": true, "duration_ms": true, "message": true,
	// due work, and the ID of each notification
	"step": true, "id": true,
	// a webhook endpoint, and what is sent to it
	"endpoint": true, "endpoints": true, "webhook": true, "attempts": true, "reason": true, "failures": true, "until": true, "metric": true,
	// mails; only a development server logs their text
	"mail": true, "kind": true, "person": true, "state": true, "next": true, "mail_to": true, "mail_subject": true, "mail_link": true,
	// a refused attempt of a person
	"site": true, "outcome": true,
	// a service that prices or routes, or Redis
	"service": true,
	// an operator
	"operator_id": true,
	// the process
	"version": true, "job": true, "listener": true, "listening": true, "database": true, "redis": true, "setting": true, "warning": true,
	"removed": true, "resealed": true, "tables": true, "replica": true,
	// the clock of the database, and old things by it
	"ahead_seconds": true, "back_seconds": true, "table": true, "oldest": true, "deleted_before": true,
	"partition": true, "bytes": true, "most": true,
}

// NewLogger returns a logger with lines in the given format. It omits values of unknown keys.
func NewLogger(w io.Writer, level slog.Level, asJSON bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if !Loggable[a.Key] {
			return slog.String(a.Key, "omitted")
		}
		return a
	}}
	if asJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
