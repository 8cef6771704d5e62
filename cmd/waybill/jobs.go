package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// job is something that a process does again and again by itself.
type job struct {
	name  string        // in metrics and the log
	every time.Duration // from one run to the next
	limit time.Duration // of one run: a connection may be dead without a word
	level slog.Level    // of a run that fails

	atOnce bool // the first run is not after every, but now
	atEnd  bool // one more run when the process ends

	// do is one run. It may ask for the next one earlier, after such a pause;
	// 0: as always.
	do func(ctx context.Context) (next time.Duration, err error)
}

// once is one run; one that panics has failed, and ends nothing else.
func (b *job) once(ctx context.Context) (next time.Duration, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("it panicked: %v\n%s", why, debug.Stack())
		}
	}()
	return b.do(ctx)
}

// jobs shows of each job when it last succeeded: a failure may be missed in the
// log, and a job that hangs logs nothing.
type jobs struct {
	succeeded, intervals *prometheus.GaugeVec
	log                  *slog.Logger
}

func newJobs(r prometheus.Registerer, log *slog.Logger) *jobs {
	j := &jobs{
		succeeded: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "waybill_job_last_success_timestamp_seconds", Help: "When a background job of this process last succeeded, or when it began where it has not yet.",
		}, []string{"name"}),
		intervals: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "waybill_job_interval_seconds", Help: "Time from one run of a background job to the next.",
		}, []string{"name"}),
		log: log,
	}
	r.MustRegister(j.succeeded, j.intervals)
	return j
}

// watch shows a job, and is told of each success.
func (j *jobs) watch(name string, every time.Duration) (succeeded func()) {
	j.intervals.WithLabelValues(name).Set(every.Seconds())
	last := j.succeeded.WithLabelValues(name)
	last.SetToCurrentTime()
	return last.SetToCurrentTime
}

const (
	// checkEvery is the interval at which what has no runs is looked at, and
	// mostSilent how long the clock may have no answer of the database.
	checkEvery = 10 * time.Second
	mostSilent = 10 * time.Second
)

// check is a job that tells of something which has no runs of its own: it succeeds
// where nothing has failed since it last ran. What failed logs itself.
func check(name string, failed func() error) job {
	return job{name: name, every: checkEvery, limit: checkEvery, level: slog.LevelDebug, do: func(context.Context) (time.Duration, error) {
		return 0, failed()
	}}
}

// following tells whether a clock follows the database's.
func following(clock interface{ Silence() time.Duration }) job {
	return check("clock", func() error {
		if d := clock.Silence(); d > mostSilent {
			return fmt.Errorf("the database has not told its time for %s", d.Round(time.Second))
		}
		return nil
	})
}

// task runs a job until its context ends.
func (j *jobs) task(b job) task {
	return func(ctx context.Context) error { j.run(ctx, b); return nil }
}

func (j *jobs) run(ctx context.Context, b job) {
	succeeded := j.watch(b.name, b.every)
	tick := time.NewTicker(b.every)
	defer tick.Stop()
	once := func(ctx context.Context) (next time.Duration) {
		within, cancel := context.WithTimeout(ctx, b.limit)
		defer cancel()
		next, err := b.once(within)
		switch {
		case err == nil:
			succeeded()
		case ctx.Err() == nil: // else the process ends
			j.log.Log(ctx, b.level, "background job failed", "job", b.name, "error", err)
		}
		return next
	}
	for wait := !b.atOnce; ; wait = true {
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
