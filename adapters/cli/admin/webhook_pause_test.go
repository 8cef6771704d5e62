package admin

import (
	"testing"

	"waybill/adapters/web/views"
)

func TestAPauseIsShownWhileItLasts(t *testing.T) {
	t.Parallel()
	const before, now, after = "2026-11-21T10:00:00.000Z", "2026-11-21T10:00:00.001Z", "2026-11-21T10:00:00.002Z"
	until := func(at string) *string { return &at }
	for want, v := range map[string]views.WebhookEndpoint{
		"healthy":                        {Status: "healthy", Enabled: true},
		"failing":                        {Status: "failing", Enabled: true, PausedUntil: until(before)},
		"failing, paused until " + after: {Status: "failing", Enabled: true, PausedUntil: until(after)},
		"disabled":                       {Status: "disabled", PausedUntil: until(after)},
	} {
		if got := endpointStatus(v, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
