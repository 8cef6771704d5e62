package domain

import "time"

// TimeLayout is how every time is shown and stored: RFC 3339 in UTC with
// exactly three decimals, so that text sorts as time does.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Millis cuts a time to what is kept of it: UTC, whole milliseconds. Cutting
// where a time is made keeps what is stored, compared and shown alike.
func Millis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// FormatTime renders t in TimeLayout.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeLayout) }
