package configs

import (
	"errors"
	"strings"
	"time"
)

// Waits lists consecutive waiting times.
type Waits []time.Duration

const (
	maxWaits = 32
	maxWait  = 7 * 24 * time.Hour
)

var errWaits = errors.New("1 to 32 waits of 1ms to 168h, separated by commas, such as 5s,30s,2m")

// ParseWaits reads "5s,30s,2m". An empty text means none.
func ParseWaits(text string) (Waits, error) {
	var waits Waits
	if text == "" {
		return waits, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || d < time.Millisecond || d > maxWait || len(waits) == maxWaits {
			return nil, errWaits
		}
		waits = append(waits, d)
	}
	return waits, nil
}

func (w Waits) String() string {
	parts := make([]string, len(w))
	for i, d := range w {
		parts[i] = d.String()
	}
	return strings.Join(parts, ",")
}

// MarshalText returns the text for encoders.
func (w Waits) MarshalText() ([]byte, error) { return []byte(w.String()), nil }
