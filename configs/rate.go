package configs

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Rate is a number of requests within a window.
type Rate struct {
	Limit  int
	Window time.Duration
}

const (
	maxRate       = 1_000_000
	maxRateWindow = 24 * time.Hour
)

var errRate = errors.New("requests/window, such as 600/60s: 1 to 1000000 requests within 1s to 24h, whole seconds")

// ParseRate reads "600/60s".
func ParseRate(text string) (Rate, error) {
	count, window, ok := strings.Cut(text, "/")
	limit, err := strconv.Atoi(count)
	if !ok || err != nil || limit < 1 || limit > maxRate {
		return Rate{}, errRate
	}
	// Clients get the window in whole seconds.
	d, err := time.ParseDuration(window)
	if err != nil || d < time.Second || d > maxRateWindow || d%time.Second != 0 {
		return Rate{}, errRate
	}
	return Rate{Limit: limit, Window: d}, nil
}

func (r Rate) String() string {
	return strconv.Itoa(r.Limit) + "/" + strconv.Itoa(int(r.Window/time.Second)) + "s"
}

// MarshalText returns the text for encoders.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
