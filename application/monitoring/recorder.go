package monitoring

import (
	"context"
	"errors"
	"sync"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Limits of the records of one second, in one environment of a process.
const (
	SuccessesPerSecond = 500
	OwnPerSecond       = 20
	FailuresPerSecond  = 50
	SampleEvery        = 10

	maxRecords = 8192   // waiting to be written: some 3 MB
	maxTallies = 50_000 // different sums of the minutes that are not written yet
)

// LogMode says what is recorded.
type LogMode string

// The modes. Usage is counted in the first two.
const (
	LogAll      LogMode = "on"
	LogFailures LogMode = "failures"
	LogNothing  LogMode = "off"
)

// DroppedRecords counts the records that were left out, by reason.
type DroppedRecords struct {
	Full    uint64 // no room in memory
	Bounded uint64 // an application failed too often within a second
	Sampled uint64 // others represent them
	Lost    uint64 // could not be written

	Uncounted uint64 // calls without room in the usage, here or in the storage: it is not exact
}

// Recorder takes the records of one environment.
type Recorder struct {
	log    ports.RequestLog
	clock  ports.Clock
	mode   LogMode
	writer string

	mu      sync.Mutex
	waiting []domain.RequestRecord
	spare   []domain.RequestRecord // the same memory, while the other one is written
	tallies map[tallyKey]*tally
	dropped DroppedRecords

	second    int64                  // of the counts below
	successes int                    // kept without weight
	over      int                    // successes beyond those
	own       map[domain.ID]ownCount // by application
}

type ownCount struct{ successes, failures int }

type tallyKey struct {
	minute                int64 // since 1970
	application, business domain.ID
	key                   domain.ID
	route                 string
	status                int
	code                  string
}

type tally struct {
	calls, replayed int64
	took            time.Duration
	environment     domain.Environment
	written         int64 // calls when it was written last
}

// NewRecorder returns a recorder. Its writer is random, so that no other process, and no other
// recorder of this one, writes under it.
func NewRecorder(log ports.RequestLog, clock ports.Clock, identifiers ports.Identifiers, mode LogMode) *Recorder {
	return &Recorder{
		log: log, clock: clock, mode: mode, writer: identifiers.ID(domain.PrefixRequest).Hex(),
		tallies: make(map[tallyKey]*tally), own: make(map[domain.ID]ownCount),
	}
}

// Note takes a record, and sets its Weight. It waits only for other calls of itself.
func (r *Recorder) Note(rec domain.RequestRecord) {
	if r.mode == LogNothing {
		return
	}
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(&rec, now)
	if rec.Weight = r.weigh(&rec, now); rec.Weight == 0 {
		return
	}
	if len(r.waiting) == maxRecords {
		r.dropped.Full++
		return
	}
	r.waiting = append(r.waiting, rec)
}

// count adds a request of a known key to the usage.
func (r *Recorder) count(rec *domain.RequestRecord, now time.Time) {
	if rec.KeyID == "" {
		return
	}
	key := tallyKey{
		minute: now.Unix() / 60, application: rec.ApplicationID, business: rec.BusinessID, key: rec.KeyID,
		route: rec.Route, status: rec.Status, code: rec.Code,
	}
	t := r.tallies[key]
	if t == nil {
		if len(r.tallies) == maxTallies {
			r.dropped.Uncounted++
			return
		}
		t = &tally{environment: rec.Environment}
		r.tallies[key] = t
	}
	t.calls++
	t.took += rec.Took
	if rec.Replayed {
		t.replayed++
	}
}

// weigh returns how many requests the record represents; 0: it is left out.
func (r *Recorder) weigh(rec *domain.RequestRecord, now time.Time) int {
	if second := now.Unix(); second != r.second {
		r.second, r.successes, r.over = second, 0, 0
		clear(r.own)
	}
	own := r.own[rec.ApplicationID]
	defer func() { r.own[rec.ApplicationID] = own }()
	if rec.Failed() {
		if own.failures == FailuresPerSecond {
			r.dropped.Bounded++
			return 0
		}
		own.failures++
		return 1
	}
	if r.mode == LogFailures {
		return 0
	}
	if own.successes < OwnPerSecond || r.successes < SuccessesPerSecond {
		own.successes++
		r.successes++
		return 1
	}
	if r.over++; r.over%SampleEvery == 0 {
		return SampleEvery
	}
	r.dropped.Sampled++
	return 0
}

// Dropped returns what was left out since the process began.
func (r *Recorder) Dropped() DroppedRecords {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// Flush writes what was gathered since the last call. Records that could not be written are lost;
// usage is written by the next call.
func (r *Recorder) Flush(ctx context.Context) error {
	if r.mode == LogNothing {
		return nil
	}
	records, usage, counted := r.take()
	var skipped ports.Skipped
	var err error
	if len(records) > 0 || len(usage) > 0 {
		if skipped, err = r.log.WriteRequests(ctx, r.writer, records, usage); err != nil && !errors.Is(err, ports.ErrOutcomeUnknown) {
			skipped.Records = len(records)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped.Lost += uint64(skipped.Records) //nolint:gosec // a length
	clear(records)
	r.spare = records[:0]
	if err != nil {
		return err
	}
	for i := range skipped.Usage {
		// The written part of the minute before stays; the rest is lost.
		u := &skipped.Usage[i]
		if t := r.tallies[tallyOf(u)]; t != nil {
			r.dropped.Uncounted += uint64(max(0, u.Calls-t.written)) //nolint:gosec // not negative
		}
	}
	this := r.clock.Now().Unix() / 60
	for key, calls := range counted {
		t := r.tallies[key]
		if t.written = calls; key.minute < this && t.calls == calls {
			delete(r.tallies, key) // of a complete minute that is over
		}
	}
	return nil
}

// tallyOf returns the key of a written sum.
func tallyOf(u *domain.UsageMinute) tallyKey {
	return tallyKey{
		minute: u.Minute.Unix() / 60, application: u.ApplicationID, business: u.BusinessID, key: u.KeyID, route: u.Route, status: u.Status,
		code: u.Code,
	}
}

// take returns the records to write, and each sum with its calls so far.
func (r *Recorder) take() (records []domain.RequestRecord, usage []domain.UsageMinute, counted map[tallyKey]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	records, r.waiting, r.spare = r.waiting, r.spare, nil
	counted = make(map[tallyKey]int64, len(r.tallies))
	this := r.clock.Now().Unix() / 60
	for key, t := range r.tallies {
		if t.written == t.calls && key.minute >= this {
			continue
		}
		counted[key] = t.calls
		if t.written == t.calls {
			continue // only to be deleted
		}
		usage = append(usage, domain.UsageMinute{
			Minute: time.Unix(key.minute*60, 0).UTC(), Environment: t.environment, BusinessID: key.business, ApplicationID: key.application,
			KeyID: key.key, Route: key.route, Status: key.status, Code: key.code, Calls: t.calls, Replayed: t.replayed, Took: t.took,
		})
	}
	return records, usage, counted
}
