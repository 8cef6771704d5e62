package periodic

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
)

// Job is something that a process does again and again by itself.
type Job struct {
	Name  string        // in metrics and the log
	Every time.Duration // from one run to the next
	Limit time.Duration // of one run: a connection may be dead without a word
	Level slog.Level    // of a run that fails

	AtOnce bool // the first run is not after every, but now
	atEnd  bool // one more run when the process ends

	// Do is one run. It may ask for the next one earlier, after such a pause;
	// 0: as always.
	Do func(ctx context.Context) (next time.Duration, err error)
}

// once is one run; one that panics has failed, and ends nothing else.
func (b *Job) once(ctx context.Context) (next time.Duration, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("it panicked: %v\n%s", why, debug.Stack())
		}
	}()
	return b.Do(ctx)
}

// Jobs shows of each job when it last succeeded: a failure may be missed in the
// log, and a job that hangs logs nothing.
type Jobs struct {
	succeeded, intervals *prometheus.GaugeVec
	log                  *slog.Logger

	mu   sync.Mutex
	runs map[string]domain.JobRun
}

// New registers the metrics of background jobs.
func New(r prometheus.Registerer, log *slog.Logger) *Jobs {
	j := &Jobs{
		succeeded: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "waybill_job_last_success_timestamp_seconds", Help: "Unix time of the last success of a background job in this process, or of " +
				"its start when it has not succeeded yet.",
		}, []string{"name"}),
		intervals: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "waybill_job_interval_seconds", Help: "Interval in seconds between two runs of a background job.",
		}, []string{"name"}),
		log: log, runs: map[string]domain.JobRun{},
	}
	r.MustRegister(j.succeeded, j.intervals)
	return j
}

// Watch shows a job, and is told of each success.
func (j *Jobs) Watch(name string, every time.Duration) (succeeded func()) {
	j.intervals.WithLabelValues(name).Set(every.Seconds())
	last := j.succeeded.WithLabelValues(name)
	last.SetToCurrentTime()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.runs[name] = domain.JobRun{Name: name, Every: every}
	return func() { last.SetToCurrentTime(); j.ran(name, time.Now(), nil) }
}

const (
	// checkEvery is the interval at which what has no runs is looked at, and
	// mostSilent how long the clock may have no answer of the database.
	checkEvery = 10 * time.Second
	mostSilent = 10 * time.Second
)

// Check is a job that watches something without runs of its own: it succeeds where
// nothing has failed since its last run. Failures are logged where they happen.
func Check(name string, failed func() error) Job {
	return Job{Name: name, Every: checkEvery, Limit: checkEvery, Level: slog.LevelDebug, Do: func(context.Context) (time.Duration, error) {
		return 0, failed()
	}}
}

// Following tells whether a clock follows the database's.
func Following(clock interface{ Silence() time.Duration }) Job {
	return Check("clock", func() error {
		if d := clock.Silence(); d > mostSilent {
			return fmt.Errorf("the database has not told its time for %s", d.Round(time.Second))
		}
		return nil
	})
}

// Task runs a job until its context ends.
func (j *Jobs) Task(b Job) func(context.Context) error {
	return func(ctx context.Context) error { j.Run(ctx, b); return nil }
}

// Run does a job at its interval until ctx ends.
func (j *Jobs) Run(ctx context.Context, b Job) {
	succeeded := j.Watch(b.Name, b.Every)
	tick := time.NewTicker(b.Every)
	defer tick.Stop()
	once := func(ctx context.Context) (next time.Duration) {
		within, cancel := context.WithTimeout(ctx, b.Limit)
		defer cancel()
		begun := time.Now()
		next, err := b.once(within)
		switch {
		case err == nil:
			succeeded()
			j.ran(b.Name, begun, nil)
		case ctx.Err() == nil: // else the process ends
			j.ran(b.Name, begun, err)
			j.log.Log(ctx, b.Level, "background job failed", "job", b.Name, "error", err)
		}
		return next
	}
	for wait := !b.AtOnce; ; wait = true {
		if wait {
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
		for again := true; again && ctx.Err() == nil; {
			next := once(ctx)
			if again = next > 0; again {
				select {
				case <-ctx.Done():
				case <-time.After(next):
				}
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if b.atEnd {
		once(context.WithoutCancel(ctx))
	}
}
