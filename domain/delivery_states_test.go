package domain_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"waybill/domain"
)

const (
	caller = 1 << iota
	platform
	helper
	simulator
)

// edge is one allowed step, written by hand from the product's rules, so that a mistake in the
// production table shows here.
type edge struct{ from, to domain.Status }

type permission struct {
	who               int
	onlyBeforePickup  bool
	recordsThePickup  bool
	announcedAs       domain.EventType
	mayCarryTheReason bool
}

var rules = map[edge]permission{
	{"booked", "assigned"}:   {who: platform | helper | simulator, announcedAs: "delivery.assigned"},
	{"booked", "outsourced"}: {who: platform | helper | simulator, announcedAs: "delivery.outsourced"},
	{"booked", "cancelled"}: {
		who: caller | platform | helper | simulator, onlyBeforePickup: true,
		announcedAs: "delivery.cancelled", mayCarryTheReason: true,
	},
	{"assigned", "picked_up"}:  {who: platform | helper | simulator, recordsThePickup: true, announcedAs: "delivery.picked_up"},
	{"assigned", "outsourced"}: {who: platform | helper, announcedAs: "delivery.outsourced"},
	{"assigned", "cancelled"}: {
		who: caller | platform | helper | simulator, onlyBeforePickup: true,
		announcedAs: "delivery.cancelled", mayCarryTheReason: true,
	},
	{"assigned", "failed"}:      {who: platform | helper | simulator, announcedAs: "delivery.failed", mayCarryTheReason: true},
	{"picked_up", "in_transit"}: {who: platform | helper | simulator, announcedAs: "delivery.in_transit"},
	{"picked_up", "failed"}:     {who: platform | helper, announcedAs: "delivery.failed", mayCarryTheReason: true},
	{"in_transit", "delivered"}: {who: platform | helper | simulator, announcedAs: "delivery.delivered"},
	{"in_transit", "failed"}:    {who: platform | helper | simulator, announcedAs: "delivery.failed", mayCarryTheReason: true},
	{"outsourced", "picked_up"}: {who: platform | helper | simulator, recordsThePickup: true, announcedAs: "delivery.picked_up"},
	{"outsourced", "delivered"}: {who: platform, announcedAs: "delivery.delivered"},
	{"outsourced", "failed"}:    {who: platform | helper, announcedAs: "delivery.failed", mayCarryTheReason: true},
	{"outsourced", "cancelled"}: {
		who: caller | platform | helper, onlyBeforePickup: true,
		announcedAs: "delivery.cancelled", mayCarryTheReason: true,
	},
	{"failed", "assigned"}: {who: platform | helper | simulator, announcedAs: "delivery.assigned"},
	{"failed", "cancelled"}: { // never by a scenario
		who: caller | platform | helper, onlyBeforePickup: true,
		announcedAs: "delivery.cancelled", mayCarryTheReason: true,
	},
}

var actors = []struct {
	actor domain.Actor
	bit   int
}{
	{domain.ActorCaller, caller}, {domain.ActorPlatform, platform},
	{domain.ActorHelper, helper}, {domain.ActorSimulator, simulator},
}

func allowed(from, to domain.Status, bit int, pickedUp bool) (permission, bool) {
	rule, there := rules[edge{from, to}]
	return rule, there && rule.who&bit != 0 && !(rule.onlyBeforePickup && pickedUp)
}

func TestEveryStateMeetsEveryTargetByEveryActor(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, from := range domain.Statuses() {
		for _, to := range domain.Statuses() {
			for _, by := range actors {
				for _, pickedUp := range []bool{false, true} {
					cases++
					t.Run(fmt.Sprintf("%s to %s by %s, picked up before %t", from, to, by.actor, pickedUp), func(t *testing.T) {
						t.Parallel()
						rule, ok := allowed(from, to, by.bit, pickedUp)
						if ok {
							checkStep(t, from, to, by.actor, pickedUp, rule)
						} else {
							checkRefusal(t, from, to, by.actor, by.bit, pickedUp)
						}
					})
				}
			}
		}
	}
	if cases != 8*8*4*2 {
		t.Errorf("%d cases, want %d: a status or an actor is missing", cases, 8*8*4*2)
	}
}

func checkStep(t *testing.T, from, to domain.Status, by domain.Actor, pickedUp bool, rule permission) {
	t.Helper()
	d, at := deliveryIn(from, pickedUp), noon.Add(time.Minute)
	before := d.Lifecycle()
	event, err := d.Move(to, by, "", eventID(6), at)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	want := domain.Event{
		ID: eventID(6), DeliveryID: d.ID, Type: rule.announcedAs, Status: to, Previous: from, Sequence: 6, OccurredAt: at,
	}
	if event != want {
		t.Errorf("event %+v, want %+v", event, want)
	}
	life := d.Lifecycle()
	if life.Status != to || d.Status() != to || life.Sequence != 6 || !life.UpdatedAt.Equal(at) || !d.UpdatedAt().Equal(at) {
		t.Errorf("lifecycle %+v", life)
	}
	switch {
	case pickedUp && (life.PickedUpAt == nil || !life.PickedUpAt.Equal(*before.PickedUpAt)):
		t.Errorf("picked up at %v, want the first pickup %v kept", life.PickedUpAt, before.PickedUpAt)
	case !pickedUp && rule.recordsThePickup && (life.PickedUpAt == nil || !life.PickedUpAt.Equal(at)):
		t.Errorf("picked up at %v, want %v", life.PickedUpAt, at)
	case !pickedUp && !rule.recordsThePickup && life.PickedUpAt != nil:
		t.Errorf("a pickup was recorded at %v", life.PickedUpAt)
	}
}

func checkRefusal(t *testing.T, from, to domain.Status, by domain.Actor, bit int, pickedUp bool) {
	t.Helper()
	d := deliveryIn(from, pickedUp)
	before := d.Lifecycle()
	event, err := d.Move(to, by, "", eventID(6), noon.Add(time.Minute))
	code := "TRANSITION_INVALID"
	if by == domain.ActorHelper {
		code = "SANDBOX_TRANSITION_INVALID"
	}
	e := asError(t, err, domain.KindConflict, code)
	if event != (domain.Event{}) || !reflect.DeepEqual(d.Lifecycle(), before) {
		t.Errorf("a refusal left event %+v and lifecycle %+v", event, d.Lifecycle())
	}
	instead := []string{}
	for _, s := range domain.Statuses() {
		if _, ok := allowed(from, s, bit, pickedUp); ok {
			instead = append(instead, string(s))
		}
	}
	got := slices.Sorted(slices.Values(e.Details["allowed_statuses"].([]string)))
	if slices.Sort(instead); !slices.Equal(got, instead) {
		t.Errorf("allowed_statuses %v, want %v", got, instead)
	}
	if e.Details["allowed_statuses"].([]string) == nil {
		t.Error("allowed_statuses is nil and would be rendered as null")
	}
	if e.Details["current_status"] != string(from) || e.Details["requested_status"] != string(to) {
		t.Errorf("details %v", e.Details)
	}
}

func TestNextListsExactlyWhatMoveAccepts(t *testing.T) {
	t.Parallel()
	for _, from := range domain.Statuses() {
		for _, by := range actors {
			for _, pickedUp := range []bool{false, true} {
				next := deliveryIn(from, pickedUp).Next(by.actor)
				for _, to := range domain.Statuses() {
					_, err := deliveryIn(from, pickedUp).Move(to, by.actor, "", eventID(6), noon)
					if slices.Contains(next, to) != (err == nil) {
						t.Errorf("%s by %s (picked up %t): Next says %v, Move to %s says %v", from, by.actor, pickedUp, next, to, err)
					}
				}
			}
		}
	}
}

// The timeline may be read as a whole, so its length is limited.
func TestTheHelperRetriesADeliveryForAThousandEvents(t *testing.T) {
	t.Parallel()
	for sequence, want := range map[int]bool{999: true, 1000: false, 2000: false} {
		life := domain.Lifecycle{Status: domain.Failed, Sequence: sequence, UpdatedAt: noon}
		for by, want := range map[domain.Actor]bool{domain.ActorHelper: want, domain.ActorPlatform: true} {
			d := domain.RestoreDelivery(bookingAt(noon), life)
			listed := slices.Contains(d.Next(by), domain.Assigned)
			if _, err := d.Move(domain.Assigned, by, "", eventID(1), noon); (err == nil) != want || listed != want {
				t.Errorf("%v at event %d: listed %t, %v", by, sequence, listed, err)
			}
			d = domain.RestoreDelivery(bookingAt(noon), life)
			if _, err := d.Move(domain.Cancelled, by, "", eventID(1), noon); err != nil {
				t.Errorf("%v cannot cancel it at event %d: %v", by, sequence, err)
			}
		}
	}
}

func TestAReasonGoesWithFailedAndCancelledOnly(t *testing.T) {
	t.Parallel()
	for e, rule := range rules {
		t.Run(string(e.from+" to "+e.to), func(t *testing.T) {
			t.Parallel()
			d := deliveryIn(e.from, false)
			event, err := d.Move(e.to, domain.ActorPlatform, domain.ReasonOther, eventID(6), noon)
			if rule.mayCarryTheReason {
				if err != nil || event.Reason != domain.ReasonOther {
					t.Errorf("event %+v, error %v", event, err)
				}
				return
			}
			refused := asError(t, err, domain.KindInvalid, "VALIDATION_ERROR")
			if len(refused.Fields) != 1 || refused.Fields[0].Field != "reason_code" || d.Status() != e.from {
				t.Errorf("fields %+v, status %s", refused.Fields, d.Status())
			}
		})
	}
}

func TestAStepNeverTakesATimelineBack(t *testing.T) {
	t.Parallel()
	d := deliveryIn(domain.Assigned, false)
	event, err := d.Move(domain.PickedUp, domain.ActorPlatform, "", eventID(6), noon.Add(-time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if life := d.Lifecycle(); !event.OccurredAt.Equal(noon) || !life.UpdatedAt.Equal(noon) || !life.PickedUpAt.Equal(noon) {
		t.Errorf("event at %s, lifecycle %+v: the clock stepped back and the timeline with it", event.OccurredAt, life)
	}
}

func TestTheTableIsReturnedAsACopy(t *testing.T) {
	t.Parallel()
	table := domain.Transitions()
	if len(table) != len(rules) {
		t.Errorf("%d transitions, want %d", len(table), len(rules))
	}
	for i := range table {
		table[i].From = domain.Delivered
	}
	if next := deliveryIn(domain.Delivered, false).Next(domain.ActorPlatform); len(next) != 0 {
		t.Errorf("a changed copy opened %v", next)
	}
}

func TestABookingStartsBookedWithItsFirstEvent(t *testing.T) {
	t.Parallel()
	d, event := domain.Book(bookingAt(noon), eventID(1))
	want := domain.Event{
		ID: eventID(1), DeliveryID: d.ID, Type: "delivery.created", Status: domain.Booked, Sequence: 1, OccurredAt: noon,
	}
	if event != want {
		t.Errorf("event %+v, want %+v", event, want)
	}
	if life := d.Lifecycle(); life != (domain.Lifecycle{Status: domain.Booked, Sequence: 1, UpdatedAt: noon}) {
		t.Errorf("lifecycle %+v", life)
	}
}

func TestOnlyTheSandboxIsSimulated(t *testing.T) {
	t.Parallel()
	b := bookingAt(noon)
	d, _ := domain.Book(b, eventID(1))
	if s := d.Simulation(); !d.Simulated() || s == nil || *s != (domain.Simulation{Scenario: "manual", Status: "idle"}) {
		t.Errorf("simulation %+v", s)
	}
	b.Tenant.Environment = domain.Live
	if d, _ = domain.Book(b, eventID(1)); d.Simulated() || d.Simulation() != nil {
		t.Error("a live delivery is simulated")
	}
}
