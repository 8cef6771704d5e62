package periodic

import (
	"context"
	"log/slog"
	"time"
)

// viewsEvery is how late the audit log may tell that a view of a customer's portal has
// ended by itself. It shows no page any more from that moment on, however late.
const viewsEvery = 15 * time.Second

// closer writes into audit logs that views of customers have ended.
type closer interface {
	CloseViews(ctx context.Context) error
}

// Views tells customers that the delivery company sees their portal no longer.
func Views(c closer) Job {
	return Job{Name: "customer_views", Every: viewsEvery, Limit: viewsEvery, Level: slog.LevelWarn,
		Do: func(ctx context.Context) (time.Duration, error) { return 0, c.CloseViews(ctx) }}
}
