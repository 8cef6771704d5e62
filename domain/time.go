package domain

import "time"

// TimeLayout is the format of every shown and stored time: RFC 3339 in UTC with exactly three
// decimals, so that text sorts as time does.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Millis truncates a time to its stored form: UTC, whole milliseconds. Truncating where a time is
// made keeps stored, compared and shown times equal.
func Millis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// FormatTime renders t in TimeLayout.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeLayout) }
