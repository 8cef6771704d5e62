package domain_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"waybill/domain"
)

func TestAQuantileIsAsNearAsTheHistogramPromises(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a seeded test
	for _, n := range []int{1, 2, 3, 10, 1000} {
		var one, other, both domain.Durations
		all := make([]time.Duration, n)
		for i := range all {
			all[i] = time.Duration(math.Exp(source.Float64()*17) * float64(time.Second)) // up to 280 days
			if i%2 == 0 {
				one.Add(all[i])
			} else {
				other.Add(all[i])
			}
		}
		both.Merge(one)
		both.Merge(other)
		slices.Sort(all)
		for _, share := range []float64{.01, .5, .95, 1} {
			exact := all[int(math.Ceil(share*float64(n)))-1]
			got, some := both.Quantile(share)
			if off := math.Abs(got.Seconds()/exact.Seconds() - 1); !some || off > domain.DurationsError {
				t.Errorf("p%.0f of %d is %s, exactly %s: %.1f %% off", 100*share, n, got, exact, 100*off)
			}
		}
		if both.Count() != int64(n) {
			t.Errorf("%d of %d are counted", both.Count(), n)
		}
	}
}

func TestAHistogramOfNothingHasNoQuantile(t *testing.T) {
	t.Parallel()
	if _, some := (domain.Durations{}).Quantile(.5); some {
		t.Error("there is a median of nothing")
	}
	var h domain.Durations
	h.Add(-time.Hour)
	h.Add(0)
	if got, _ := h.Quantile(1); got > 1100*time.Millisecond || h.Count() != 2 {
		t.Errorf("durations of no length have a median of %s", got)
	}
}

func TestEachEventCountsOnceInEverySetOnItsOwnDay(t *testing.T) {
	t.Parallel()
	booked := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)
	event := func(previous, status domain.Status, reason domain.ReasonCode, after time.Duration) domain.ReportEvent {
		return domain.ReportEvent{
			Environment: domain.Live, BusinessID: "biz_1", Vehicle: domain.Bike, Municipality: "Accra", BookedAt: booked,
			Previous: previous, Status: status, Reason: reason, At: booked.Add(after),
		}
	}
	cells := domain.CountReport([]domain.ReportEvent{
		event("", domain.Booked, "", 0),
		event(domain.Booked, domain.Assigned, "", 10*time.Minute),
		event(domain.Assigned, domain.Failed, domain.ReasonNoRider, 30*time.Minute),
		event(domain.Failed, domain.Assigned, "", 2*time.Hour), // the time to assign counts only once
		event(domain.Assigned, domain.PickedUp, "", 2*time.Hour),
		event(domain.PickedUp, domain.Failed, "", 2*time.Hour),
		event(domain.InTransit, domain.Delivered, "", 3*time.Hour),
		event(domain.Failed, domain.Cancelled, domain.ReasonOther, 3*time.Hour),
	})
	if len(cells) != 13 {
		t.Fatalf("%d cells, want six sets on two days and one of the month", len(cells))
	}
	for cell, f := range cells {
		if cell.By&domain.ReportByMonth != 0 {
			if !cell.Day.Equal(domain.ReportDay(booked)) || f.Booked != 1 || f.Delivered != 1 || f.Cancelled != 1 || f.Failures() != 2 {
				t.Errorf("%+v has %+v", cell, *f)
			}
			continue
		}
		first := cell.Day.Equal(domain.ReportDay(booked))
		if first != (f.Booked == 1) || first == (f.Delivered == 1) || first == (f.Cancelled == 1) || f.Failures() != 1 ||
			first != (f.Failed[domain.ReasonNoRider] == 1) || first == (f.Failed[""] == 1) ||
			first != (f.ToAssign.Count() == 1) || first == (f.ToDeliver.Count() == 1) {
			t.Errorf("%+v has %+v", cell, *f)
		}
		if (cell.BusinessID != "") != (cell.By&domain.ReportByCustomer != 0) ||
			(cell.Municipality != "") != (cell.By&domain.ReportByMunicipality != 0) ||
			(cell.Vehicle != "") != (cell.By&domain.ReportByVehicle != 0) {
			t.Errorf("%+v tells apart what its set does not", cell)
		}
	}
}

func TestAReportIsReadFromTheSmallestSetThatAnswersIt(t *testing.T) {
	t.Parallel()
	const v, m, c = domain.ReportByVehicle, domain.ReportByMunicipality, domain.ReportByCustomer
	day := domain.ReportDay(time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC))
	for _, of := range []struct {
		q    domain.ReportQuery
		want domain.ReportBy
	}{
		{domain.ReportQuery{Each: domain.ReportEachDay}, 0},
		{domain.ReportQuery{Each: domain.ReportEachVehicle}, v},
		{domain.ReportQuery{Each: domain.ReportEachMunicipality}, m},
		{domain.ReportQuery{Each: domain.ReportEachCustomer}, c},
		{domain.ReportQuery{Each: domain.ReportEachDay, BusinessID: "biz_1"}, c},
		{domain.ReportQuery{Each: domain.ReportEachVehicle, Municipality: "Accra"}, v | m},
		{domain.ReportQuery{Each: domain.ReportEachVehicle, BusinessID: "biz_1"}, v | m | c},
		{domain.ReportQuery{Each: domain.ReportEachCustomer, Municipality: "Accra"}, v | m | c},
	} {
		of.q.From, of.q.Until = day, day.AddDate(0, 0, 20)
		if got := of.q.Parts(); len(got) != 1 || got[0].By != of.want {
			t.Errorf("%+v is read from %+v, want %b", of.q, got, of.want)
		}
	}
}

func TestAReportOfCustomersIsReadFromWholeMonthsAndTheDaysAroundThem(t *testing.T) {
	t.Parallel()
	const days, months = domain.ReportByCustomer, domain.ReportByCustomer | domain.ReportByMonth
	at := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC) }
	for _, of := range []struct {
		from, until time.Time
		want        []domain.ReportPart
	}{
		{at(1, 31), at(4, 2), []domain.ReportPart{{days, at(1, 31), at(2, 1)}, {months, at(2, 1), at(4, 1)}, {days, at(4, 1), at(4, 2)}}},
		{at(1, 1), at(2, 1), []domain.ReportPart{{months, at(1, 1), at(2, 1)}}},
		{at(1, 2), at(2, 28), []domain.ReportPart{{days, at(1, 2), at(2, 28)}}},
		{at(1, 2), at(2, 1), []domain.ReportPart{{days, at(1, 2), at(2, 1)}}},
		{at(12, 31), at(14, 1), []domain.ReportPart{{days, at(12, 31), at(13, 1)}, {months, at(13, 1), at(14, 1)}}},
	} {
		q := domain.ReportQuery{From: of.from, Until: of.until, Each: domain.ReportEachCustomer}
		if got := q.Parts(); !slices.Equal(got, of.want) {
			t.Errorf("from %s until %s is read from %+v, want %+v", of.from, of.until, got, of.want)
		}
	}
}
