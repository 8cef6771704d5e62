package configs_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/configs"
)

func TestAListOfWaitsIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]configs.Waits{
		"":            nil,
		"5s":          {5 * time.Second},
		"5s, 30s ,2m": {5 * time.Second, 30 * time.Second, 2 * time.Minute},
		"168h,1ms":    {168 * time.Hour, time.Millisecond},
	} {
		if got, err := configs.ParseWaits(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q reads as %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{",", "5s,", "5", "0s", "-5s", "169h", "5s;30s", "soon", strings.Repeat("1s,", 32) + "1s"} {
		if got, err := configs.ParseWaits(text); err == nil {
			t.Errorf("%q reads as %v", text, got)
		}
	}
}

func TestTheSettingsOfWebhooks(t *testing.T) {
	t.Parallel()
	if c := load(t, configs.Sources{}); c.WebhookAllowPrivate || c.WebhookRetrySchedule != nil {
		t.Errorf("by default private addresses are %t and the waits %v", c.WebhookAllowPrivate, c.WebhookRetrySchedule)
	}
	c := load(t, configs.Sources{Environ: []string{"WAYBILL_WEBHOOK_ALLOW_PRIVATE=True", "WAYBILL_WEBHOOK_RETRY_SCHEDULE=5s,30s"}})
	if !c.WebhookAllowPrivate || c.WebhookRetrySchedule.String() != "5s,30s" {
		t.Errorf("set, private addresses are %t and the waits %v", c.WebhookAllowPrivate, c.WebhookRetrySchedule)
	}
	// What dev sets gives way to what was set.
	c = load(t, configs.Sources{Environ: []string{"WAYBILL_WEBHOOK_ALLOW_PRIVATE=false"}})
	if err := c.Supply("webhook_allow_private", "true", "waybill dev"); err != nil || c.WebhookAllowPrivate {
		t.Errorf("dev overrides the setting: %t, %v", c.WebhookAllowPrivate, err)
	}
	for _, bad := range []string{"WAYBILL_WEBHOOK_ALLOW_PRIVATE=yes", "WAYBILL_WEBHOOK_RETRY_SCHEDULE=5s,never"} {
		name, _, _ := strings.Cut(bad, "=")
		if found := problems(t, configs.Sources{Environ: []string{bad}}); len(found) != 1 || !strings.Contains(found[0].What, name) {
			t.Errorf("%s: %v", bad, found)
		}
	}
}
