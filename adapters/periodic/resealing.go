package periodic

import (
	"context"
	"log/slog"
	"time"
)

const (
	// resealEvery is how often what is sealed under a previous key is looked for: a
	// process that still has it as its key may seal under it until it ends.
	resealEvery = time.Hour
	// resealLimit bounds one run; the next one does the rest.
	resealLimit = 30 * time.Minute
)

// resealer seals anew what is under a previous key, and tells how much it was.
type resealer interface {
	Reseal(ctx context.Context) (resealed int, err error)
}

// Resealing seals signing secrets anew while the key is being changed: there is a
// previous one. Any number of processes may do it.
func Resealing(key resealer, changing bool, log *slog.Logger) Job {
	return Job{Name: "resealing", Every: resealEvery, Limit: resealLimit, Level: slog.LevelWarn, AtOnce: true,
		Do: func(ctx context.Context) (time.Duration, error) {
			if !changing {
				return 0, nil
			}
			resealed, err := key.Reseal(ctx)
			if resealed > 0 {
				log.Info("signing secrets were sealed anew, under WAYBILL_SECRET_KEY", "resealed", resealed)
			}
			return 0, err
		}}
}
