package bulk_test

import (
	"errors"
	"strings"
	"testing"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

// Another transaction holds the row. The other deliveries are moved meanwhile, and the same request
// moves the rest.
func TestADeliveryWhoseRowIsHeldIsPassedOverAndMovedLater(t *testing.T) {
	t.Parallel()
	s := movesNewScene(t, 3)
	s.startWith(func(tx *ports.Stores) {
		tx.Deliveries = unlockable{tx.Deliveries, func(id domain.ID) error {
			if id == s.booked[1] {
				return ports.ErrTookTooLong
			}
			return nil
		}}
	})
	_, _, err := s.send(t, ample)
	movesWantInProgress(t, err)
	s.want(t, domain.MoveAdvanced, domain.MovePending, domain.MoveAdvanced)
	if run := s.kept(t); run.FinishedAt != nil || run.LeaseLeft > 0 {
		t.Errorf("the run is finished at %v, and reserved for %v", run.FinishedAt, run.LeaseLeft)
	}
	s.start(s.Store)
	run, _, err := s.send(t, ample)
	if err != nil || run.FinishedAt == nil {
		t.Fatalf("%v: %s", err, answerOf(run))
	}
	s.want(t, domain.MoveAdvanced, domain.MoveAdvanced, domain.MoveAdvanced)
}

func TestADatabaseThatIsGoneIsNotAskedForEachOfTheRest(t *testing.T) {
	t.Parallel()
	s := movesNewScene(t, 6)
	tries := 0
	s.startWith(func(tx *ports.Stores) {
		tx.Deliveries = unlockable{tx.Deliveries, func(domain.ID) error {
			tries++
			return ports.ErrStorageGone
		}}
	})
	_, _, err := s.send(t, ample)
	movesWantInProgress(t, err)
	if tries != 3 {
		t.Errorf("%d deliveries were tried, want 3 in a row", tries)
	}
	p := domain.MovePending
	s.want(t, p, p, p, p, p, p)
}

// An item that would always fail is given up, so that the run ends. Its delivery is not moved.
func TestADeliveryThatMeetsADefectIsGivenUpAndTheRunEnds(t *testing.T) {
	t.Parallel()
	s := movesNewScene(t, 3)
	s.startWith(func(tx *ports.Stores) {
		tx.Deliveries = unlockable{tx.Deliveries, func(id domain.ID) error {
			if id == s.booked[0] {
				return errors.New("a row that cannot be read")
			}
			return nil
		}}
	})
	run, _, err := s.send(t, ample)
	if err != nil || run.FinishedAt == nil || run.Items[0].Code != domain.CodeInternal || run.Items[0].Message == "" {
		t.Fatalf("%v: %s", err, answerOf(run))
	}
	s.want(t, domain.MoveRefused, domain.MoveAdvanced, domain.MoveAdvanced)
	if log := s.log.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "a row that cannot be read") {
		t.Errorf("the log lacks the defect: %s", log)
	}
	if repeated, replayed, err := s.send(t, ample); err != nil || !replayed || answerOf(repeated) != answerOf(run) {
		t.Errorf("sent repeated, replayed %t: %v, %s\nwant %s", replayed, err, answerOf(repeated), answerOf(run))
	}
}

// Each process moves one delivery and has no more patience. The last one answers as a single
// process would have, and so does every later one.
func TestARunThatIsResumedAgainAndAgainGivesOneAnswer(t *testing.T) {
	t.Parallel()
	s := movesNewScene(t, 4)
	for i := range 3 {
		run, _, err := s.send(t, 0)
		movesWantInProgress(t, err)
		if n := run.Count(domain.MoveAdvanced); n != i+1 {
			t.Errorf("request %d: %d are moved: %s", i, n, answerOf(run))
		}
		s.start(s.Store)
	}
	last, replayed, err := s.send(t, 0)
	if err != nil || !replayed {
		t.Fatalf("the last request, replayed %t: %v", replayed, err)
	}
	a := domain.MoveAdvanced
	s.want(t, a, a, a, a)
	if answerOf(last) != answerOf(s.kept(t)) {
		t.Errorf("answered %s\nstored %s", answerOf(last), answerOf(s.kept(t)))
	}
	if repeated, replayed, err := s.send(t, ample); err != nil || !replayed || answerOf(repeated) != answerOf(last) {
		t.Errorf("sent repeated, replayed %t: %v, %s\nwant %s", replayed, err, answerOf(repeated), answerOf(last))
	}
	other := s.orders(ample)
	other.Items[3].To = domain.Cancelled
	if _, _, err := s.Advance(t.Context(), other); !domain.HasCode(err, domain.CodeIdempotencyConflict) {
		t.Errorf("another request under the key: %v", err)
	}
}

func TestARunThatItsCallerLeftIsBroughtToItsEndByWhoGoesOn(t *testing.T) {
	t.Parallel()
	s := movesNewScene(t, 3)
	_, _, err := s.send(t, 0)
	movesWantInProgress(t, err)
	s.start(s.Store)
	for s.kept(t).FinishedAt == nil {
		if worked, err := s.GoOn(t.Context(), 0); err != nil || !worked {
			t.Fatalf("worked %t, %v: %s", worked, err, answerOf(s.kept(t)))
		}
	}
	s.want(t, domain.MoveAdvanced, domain.MoveAdvanced, domain.MoveAdvanced)
	if worked, err := s.GoOn(t.Context(), ample); err != nil || worked {
		t.Errorf("with nothing left it worked %t, %v", worked, err)
	}
}

// Its process was frozen for longer than the lease, and another one took the run over. The first
// process writes nothing more and returns the answer of the other one.
func TestAProcessWhoseRunWasTakenOverWritesNothingMore(t *testing.T) {
	t.Parallel()
	s := movesNewScene(t, 3)
	next := s.another()
	var hold ports.MoveHold
	var theirs domain.MoveRun
	transactions := 0
	storage := paused{s.Store, func() {
		if transactions++; transactions != 3 { // after those that store the run and move the first delivery
			return
		}
		s.leaseRunsOut(t, hold)
		var err error
		if theirs, _, err = next.send(t, ample); err != nil {
			t.Error(err)
		}
	}}
	s.start(stage.Between{Storage: storage, Change: func(tx *ports.Stores) { tx.MoveRuns = watched{tx.MoveRuns, &hold} }})
	ours, replayed, err := s.send(t, ample)
	if err != nil || replayed || answerOf(ours) != answerOf(theirs) {
		t.Errorf("replayed %t, %v: %s\nwant %s", replayed, err, answerOf(ours), answerOf(theirs))
	}
	s.want(t, domain.MoveAdvanced, domain.MoveAdvanced, domain.MoveAdvanced)
}

func TestEachKindOfOutcomeIsTrueToTheRow(t *testing.T) {
	t.Parallel()
	s := movesNewScene(t, 3)
	o := s.orders(ample)
	o.Items[1].To = domain.Booked
	o.Items[2].To = domain.Delivered
	o.Items = append(o.Items, o.Items[0], o.Items[0])
	o.Items[4].Name = string(sample.ID(domain.PrefixDelivery))
	run, _, err := s.Advance(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if i := run.Items[2]; i.Code != domain.CodeTransitionInvalid || i.Current != domain.Booked || len(i.Allowed) == 0 {
		t.Errorf("a step that may not be taken is %+v", i)
	}
	kept := s.kept(t)
	if answerOf(kept) != answerOf(run) {
		t.Errorf("answered %s\nstored %s", answerOf(run), answerOf(kept))
	}
	want := []domain.MoveOutcome{domain.MoveAdvanced, domain.MoveAlreadyThere, domain.MoveRefused, domain.MoveDuplicate, domain.MoveNotFound}
	for i, item := range kept.Items {
		if item.Outcome != want[i] {
			t.Errorf("item %d is %s, want %s", i, item.Outcome, want[i])
		}
	}
}
