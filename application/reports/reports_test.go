package reports_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/reports"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

type storage struct {
	ports.Storage
	reader    reader
	directory directory
}

func (s *storage) Read() ports.Readers {
	return ports.Readers{Reports: &s.reader, Platform: &s.directory}
}

// directory has customers, and responds after a second.
type directory struct {
	ports.PlatformReader
	asked int
}

func (d *directory) Businesses(ctx context.Context, p domain.PageRequest) ([]domain.Business, error) {
	d.asked++
	time.Sleep(time.Second)
	return []domain.Business{{ID: "biz_2", Name: "Kofi"}, {ID: "biz_1", Name: "Adom"}}, ctx.Err()
}

// reader responds after a second.
type reader struct {
	ports.ReportReader
	mu    sync.Mutex
	asked int
	fail  error
	open  int
	lines []domain.ReportLine
	// reports counts the reads, atOnce those at a time, and lasts is how long each takes.
	reports, busy, atOnce int
	lasts                 time.Duration
}

func (r *reader) Open(ctx context.Context, _ domain.Environment, _ int) ([]domain.OpenDelivery, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return make([]domain.OpenDelivery, r.open), r.fail
}

func (r *reader) Lines(context.Context, domain.ReportQuery) ([]domain.ReportLine, error) {
	r.mu.Lock()
	r.reports++
	r.busy++
	r.atOnce = max(r.atOnce, r.busy)
	r.mu.Unlock()
	time.Sleep(r.lasts)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
	return r.lines, r.fail
}

func (r *reader) Progress(context.Context) (domain.ReportProgress, error) {
	return domain.ReportProgress{}, nil
}

type clock struct{}

func (clock) Now() time.Time { return time.Now() }

type nowhere struct{}

func (nowhere) Outline() [][]domain.Coordinates { return nil }

func TestOneQueryServesAllThatLookAtAMapWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &storage{reader: reader{open: 3}}
		m := reports.NewMap(s, clock{}, nowhere{})
		look := func() {
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if got, err := m.Snapshot(t.Context(), domain.Live); err != nil || len(got.Open) != 3 || got.More {
						t.Errorf("a snapshot of %d (%v)", len(got.Open), err)
					}
				})
			}
			all.Wait()
		}
		impatient, leave := context.WithCancel(t.Context())
		go func() { _, _ = m.Snapshot(impatient, domain.Live) }()
		synctest.Wait()
		leave() // the read continues for the others
		look()
		time.Sleep(3 * time.Second)
		look()
		if s.reader.asked != 1 {
			t.Errorf("%d queries within 5 s, want 1", s.reader.asked)
		}
		time.Sleep(3 * time.Second)
		look()
		if s.reader.asked != 2 {
			t.Errorf("%d queries after 8 s, want 2", s.reader.asked)
		}
	})
}

// panics is a reader that panics.
type panics struct{ ports.ReportReader }

func (panics) Open(context.Context, domain.Environment, int) ([]domain.OpenDelivery, error) {
	panic("a fault")
}

type faulty struct{ ports.Storage }

func (faulty) Read() ports.Readers { return ports.Readers{Reports: panics{}} }

// A shared read runs in its own goroutine, where a panic would end the process.
func TestAPanicInWhatAllWaitForIsAnErrorOfTheirs(t *testing.T) {
	t.Parallel()
	m := reports.NewMap(faulty{}, clock{}, nowhere{})
	for range 2 {
		_, err := m.Snapshot(t.Context(), domain.Live)
		if !domain.HasCode(err, domain.CodeInternal) || !strings.Contains(err.Error(), "a fault") {
			t.Errorf("it answered %v", err)
		}
	}
}

func TestOneQueryServesAllThatAskForTheNamesOfCustomersWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &storage{}
		r := reports.NewReports(s, clock{})
		for n := range 2 {
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if got, err := r.Customers(t.Context()); err != nil || len(got) != 2 || got[0].Name != "Adom" {
						t.Errorf("%v (%v)", got, err)
					}
				})
			}
			all.Wait()
			if s.directory.asked != n+1 {
				t.Errorf("%d queries, want %d", s.directory.asked, n+1)
			}
			time.Sleep(6 * time.Second)
		}
	})
}

func TestAReportIsReadOnceInFiveSecondsWhereTheSameIsAskedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &storage{}
		r := reports.NewReports(s, clock{})
		first := domain.ReportDay(time.Now())
		for i, step := range []struct {
			days  int
			fail  error
			after time.Duration
			reads int
		}{
			{1, nil, 0, 1}, {1, nil, 4 * time.Second, 1}, {2, nil, 0, 2}, {2, nil, 0, 2}, {2, nil, 6 * time.Second, 3},
			{2, ports.ErrTookTooLong, 6 * time.Second, 4}, {2, nil, 0, 5},
		} {
			time.Sleep(step.after)
			s.reader.fail = step.fail
			_, err := r.Report(t.Context(), domain.ReportQuery{From: first, Until: first.AddDate(0, 0, step.days), Each: domain.ReportEachVehicle})
			if (err == nil) != (step.fail == nil) || s.reader.reports != step.reads {
				t.Errorf("step %d: %d reads, want %d (%v)", i, s.reader.reports, step.reads, err)
			}
		}
	})
}

// TestReportsAreReadOneAfterAnother has 40 callers of four reports that take a second each. They
// use one connection, and a caller that cannot wait gets an error.
func TestReportsAreReadOneAfterAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &storage{reader: reader{lasts: time.Second}}
		r := reports.NewReports(s, clock{})
		first := domain.ReportDay(time.Now())
		ask := func(days int, patience time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := r.Report(ctx, domain.ReportQuery{From: first, Until: first.AddDate(0, 0, days), Each: domain.ReportEachVehicle})
			return err
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := ask(1, 10*time.Second); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		all.Go(func() {
			if e, ok := errors.AsType[*domain.Error](ask(2, time.Second/2)); !ok || e.Kind != domain.KindUnavailable {
				t.Error("a caller that cannot wait is not told so")
			}
		})
		all.Wait()
		if s.reader.reports != 1 {
			t.Errorf("one report that ten callers ask for was read %d times", s.reader.reports)
		}
		for i := range 40 {
			all.Go(func() {
				if err := ask(2+i%4, time.Minute); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if s.reader.atOnce != 1 {
			t.Errorf("%d reports were read at a time", s.reader.atOnce)
		}
		s.reader.fail = ports.ErrTookTooLong
		if ask(7, time.Minute) == nil {
			t.Error("a report that failed has an answer")
		}
		if s.reader.fail = nil; ask(8, time.Minute) != nil {
			t.Error("a failure keeps the place of the next report")
		}
	})
}

func TestALookAtTheMapThatFailsIsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &storage{reader: reader{open: reports.MostOnMap + 1, fail: errors.New("gone")}}
		m := reports.NewMap(s, clock{}, nowhere{})
		if _, err := m.Snapshot(t.Context(), domain.Live); err == nil {
			t.Error("a failed look has an answer")
		}
		s.reader.fail = nil
		got, err := m.Snapshot(t.Context(), domain.Live)
		if err != nil || len(got.Open) != reports.MostOnMap || !got.More {
			t.Errorf("a snapshot of %d, more %t (%v)", len(got.Open), got.More, err)
		}
	})
}

func TestTextsThatAreNoEnvironmentAskNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &storage{reader: reader{open: 3}}
		m := reports.NewMap(s, clock{}, nowhere{})
		for _, text := range []string{"", "liv", "LIVE", "\x00", "\xff"} {
			got, err := m.Snapshot(t.Context(), domain.Environment(text))
			if err != nil || len(got.Open) != 0 || !got.At.Equal(time.Now()) {
				t.Errorf("%q: %d at %s (%v)", text, len(got.Open), got.At, err)
			}
		}
		if s.reader.asked != 0 {
			t.Errorf("the storage was asked %d times", s.reader.asked)
		}
	})
}

func TestAReportByDayHasALineForEachDay(t *testing.T) {
	t.Parallel()
	first := domain.ReportDay(sample.Now)
	s := &storage{reader: reader{lines: []domain.ReportLine{
		{Day: first.AddDate(0, 0, 2), Figures: domain.Figures{Booked: 2, ToDeliver: domain.Durations{8: 1}}},
		{Day: first, Figures: domain.Figures{
			Booked: 1, Failed: map[domain.ReasonCode]int64{domain.ReasonOther: 3}, ToDeliver: domain.Durations{8: 2},
		}},
	}}}
	r := reports.NewReports(s, &stage.Clock{})
	got, err := r.Report(t.Context(), domain.ReportQuery{
		Environment: domain.Live, From: first, Until: first.AddDate(0, 0, 4), Each: domain.ReportEachDay,
	})
	if err != nil || len(got.Lines) != 4 || got.Total.Booked != 3 || got.Total.Failures() != 3 || got.Total.ToDeliver.Count() != 3 {
		t.Fatalf("%+v (%v)", got, err)
	}
	for i, l := range got.Lines {
		if !l.Day.Equal(first.AddDate(0, 0, i)) || l.Booked != []int64{1, 0, 2, 0}[i] {
			t.Errorf("line %d is %+v", i, l)
		}
	}
	if s.reader.lines[0].ToDeliver.Count() != 1 {
		t.Error("the sum changed a line")
	}
}

func TestAReportIsAboutOneTo400DaysAndTellsWhenItReadsTooMuch(t *testing.T) {
	t.Parallel()
	s := &storage{}
	r := reports.NewReports(s, &stage.Clock{})
	first := domain.ReportDay(sample.Now)
	for days, fine := range map[int]bool{-1: false, 0: false, 1: true, reports.MaxDays: true, reports.MaxDays + 1: false} {
		_, err := r.Report(t.Context(), domain.ReportQuery{From: first, Until: first.AddDate(0, 0, days), Each: domain.ReportEachVehicle})
		if (err == nil) != fine {
			t.Errorf("%d days: %v", days, err)
		}
	}
	s.reader.fail = ports.ErrTookTooLong
	_, err := r.Report(t.Context(), domain.ReportQuery{From: first, Until: first.AddDate(0, 0, 2), Each: domain.ReportEachVehicle})
	if e, ok := errors.AsType[*domain.Error](err); !ok || e.Kind != domain.KindUnavailable {
		t.Errorf("a report that reads too much is %v", err)
	}
}
