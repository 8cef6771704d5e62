package monitoring_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/monitoring"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

// recording is a recorder with what it wrote.
type recording struct {
	*monitoring.Recorder
	clock  *stage.Clock
	log    *mocks.MockRequestLog
	writes []written
	err    error                         // of the next writes
	none   func(domain.UsageMinute) bool // has no room in the storage; nil: there is room for all
}

type written struct {
	records []domain.RequestRecord
	usage   []domain.UsageMinute
}

func record(t *testing.T, mode monitoring.LogMode) *recording {
	t.Helper()
	control := gomock.NewController(t)
	r := &recording{clock: &stage.Clock{}, log: mocks.NewMockRequestLog(control)}
	r.log.EXPECT().WriteRequests(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ string, records []domain.RequestRecord, usage []domain.UsageMinute) (skipped ports.Skipped, err error) {
			r.writes = append(r.writes, written{append([]domain.RequestRecord(nil), records...), usage})
			for _, u := range usage {
				if r.none != nil && r.none(u) {
					skipped.Usage = append(skipped.Usage, u)
				}
			}
			return skipped, r.err
		}).AnyTimes()
	r.Recorder = monitoring.NewRecorder(r.log, r.clock, &stage.IDs{}, mode)
	return r
}

func (r *recording) note(times int, status int, of domain.ID) {
	for range times {
		r.Note(domain.RequestRecord{Status: status, ApplicationID: of, KeyID: "key_" + of, Route: "GET /v1/deliveries", Took: time.Millisecond})
	}
}

// flush returns what the recorder writes now.
func (r *recording) flush(t *testing.T) written {
	t.Helper()
	r.writes = nil
	if err := r.Flush(t.Context()); !errors.Is(err, r.err) {
		t.Fatalf("Flush: %v, want %v", err, r.err)
	}
	switch len(r.writes) {
	case 0:
		return written{}
	case 1:
		return r.writes[0]
	}
	t.Fatalf("%d writes at once", len(r.writes))
	return written{}
}

func (w written) weight() (sum int) {
	for _, r := range w.records {
		sum += r.Weight
	}
	return sum
}

func TestASecondKeepsFewRecordsOfManySuccessesAndTheirWeightTellsHowMany(t *testing.T) {
	r := record(t, monitoring.LogAll)
	r.note(2500, 200, "app_busy")
	r.note(10, 200, "app_quiet")
	w := r.flush(t)
	want := monitoring.SuccessesPerSecond + 2000/monitoring.SampleEvery + 10
	if len(w.records) != want || w.weight() != 2510 {
		t.Errorf("%d records weigh %d, want %d that weigh %d", len(w.records), w.weight(), want, 2510)
	}
	if d := r.Dropped(); d.Sampled != 1800 || d.Full+d.Bounded+d.Lost != 0 {
		t.Errorf("dropped %+v", d)
	}
	r.clock.GoOn(time.Second)
	r.note(10, 200, "app_busy")
	if w := r.flush(t); len(w.records) != 10 || w.weight() != 10 {
		t.Errorf("in the next second %d records weigh %d", len(w.records), w.weight())
	}
}

func TestAnApplicationThatFailsAllTheTimeTakesNoOthersRoom(t *testing.T) {
	r := record(t, monitoring.LogAll)
	r.note(3000, 422, "app_broken")
	r.note(7, 422, "app_other")
	if w := r.flush(t); len(w.records) != monitoring.FailuresPerSecond+7 {
		t.Errorf("%d records", len(w.records))
	}
	if d := r.Dropped(); d.Bounded != 3000-monitoring.FailuresPerSecond {
		t.Errorf("dropped %+v", d)
	}
}

func TestUsageCountsEachRequestWhateverIsKeptOfIt(t *testing.T) {
	r := record(t, monitoring.LogAll)
	r.note(2500, 200, "app_1")
	r.note(300, 429, "app_1")
	calls := map[int]int64{}
	for _, u := range r.flush(t).usage {
		calls[u.Status] += u.Calls
		if !u.Minute.Equal(stage.Noon.Truncate(time.Minute)) || u.Took != time.Duration(u.Calls)*time.Millisecond {
			t.Errorf("usage %+v", u)
		}
	}
	if calls[200] != 2500 || calls[429] != 300 {
		t.Errorf("calls %v", calls)
	}
	if w := r.flush(t); len(w.records)+len(w.usage) != 0 {
		t.Errorf("written again: %+v", w)
	}
	r.note(1, 200, "app_1")
	if w := r.flush(t); len(w.usage) != 1 || w.usage[0].Calls != 2501 {
		t.Errorf("usage is told whole: %+v", w.usage)
	}
	r.clock.GoOn(time.Minute)
	r.note(1, 200, "app_1")
	if w := r.flush(t); len(w.usage) != 1 || w.usage[0].Calls != 1 {
		t.Errorf("the next minute: %+v", w.usage)
	}
}

func TestAnOutageLosesRecordsAndNoUsage(t *testing.T) {
	for name, err := range map[string]error{"gone": ports.ErrStorageGone, "unknown": ports.ErrOutcomeUnknown} {
		t.Run(name, func(t *testing.T) {
			r := record(t, monitoring.LogAll)
			r.note(5, 200, "app_1")
			r.err = err
			r.flush(t)
			r.clock.GoOn(2 * time.Minute)
			r.note(1, 200, "app_1")
			r.flush(t)
			r.err = nil
			w := r.flush(t)
			if len(w.records) != 0 || len(w.usage) != 2 {
				t.Fatalf("after the outage %+v", w)
			}
			if sum := w.usage[0].Calls + w.usage[1].Calls; sum != 6 {
				t.Errorf("%d calls, want 6", sum)
			}
			lost := uint64(6)
			if errors.Is(err, ports.ErrOutcomeUnknown) {
				lost = 0 // they may be stored
			}
			if d := r.Dropped(); d.Lost != lost {
				t.Errorf("dropped %+v, want %d lost", d, lost)
			}
			if w := r.flush(t); len(w.usage) != 0 {
				t.Errorf("written again: %+v", w.usage)
			}
		})
	}
}

func TestUsageThatIsTooOldToBeWrittenIsToldOnceAsNotCounted(t *testing.T) {
	r := record(t, monitoring.LogAll)
	r.note(2, 200, "app_1")
	r.flush(t)
	r.note(3, 200, "app_1")
	r.err = ports.ErrStorageGone
	r.flush(t)
	r.clock.GoOn(72 * time.Hour)
	r.note(4, 200, "app_1")
	r.flush(t)
	r.none = func(u domain.UsageMinute) bool { return u.Minute.Equal(stage.Noon) }
	r.err = ports.ErrOutcomeUnknown // and so it is written again
	if r.flush(t); r.Dropped().Uncounted != 0 {
		t.Errorf("%d calls are told as not counted, and will be tried again", r.Dropped().Uncounted)
	}
	r.err = nil
	if w := r.flush(t); len(w.usage) != 2 || r.Dropped().Uncounted != 3 {
		t.Errorf("%d sums are written; %d calls are told as not counted, want the 3 that were not written before", len(w.usage),
			r.Dropped().Uncounted)
	}
	r.clock.GoOn(time.Minute)
	if w := r.flush(t); len(w.usage) != 0 || r.Dropped().Uncounted != 3 {
		t.Errorf("afterwards %+v, %d not counted", w.usage, r.Dropped().Uncounted)
	}
}

func TestMemoryIsBoundedWhileNothingIsWritten(t *testing.T) {
	r := record(t, monitoring.LogAll)
	for range 60 {
		r.clock.GoOn(time.Second)
		r.note(1000, 200, "app_1")
	}
	w := r.flush(t)
	if d := r.Dropped(); d.Full == 0 || len(w.records) > 8192 {
		t.Errorf("%d records, dropped %+v", len(w.records), d)
	}
}

func TestAModeSaysWhatIsRecorded(t *testing.T) {
	for mode, want := range map[monitoring.LogMode][2]int{monitoring.LogAll: {3, 2}, monitoring.LogFailures: {1, 2}, monitoring.LogNothing: {0, 0}} {
		r := record(t, mode)
		r.note(2, 200, "app_1")
		r.note(1, 404, "app_1")
		if w := r.flush(t); len(w.records) != want[0] || len(w.usage) != want[1] {
			t.Errorf("%s: %d records, %d of usage, want %v", mode, len(w.records), len(w.usage), want)
		}
	}
}

func TestARequestWithoutAKeyIsNoUsage(t *testing.T) {
	r := record(t, monitoring.LogAll)
	r.Note(domain.RequestRecord{Status: 401, Route: "GET /v1/deliveries"})
	if w := r.flush(t); len(w.records) != 1 || len(w.usage) != 0 {
		t.Errorf("%+v", w)
	}
}
