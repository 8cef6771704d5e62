package domain_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

func TestCancelFromEveryState(t *testing.T) {
	t.Parallel()
	const (
		cancels = iota
		refuses
		stays
	)
	// The outcome without, then with a recorded pickup.
	outcomes := map[domain.Status][2]int{
		"booked":     {cancels, refuses},
		"assigned":   {cancels, refuses}, // with: a retry after a pickup
		"picked_up":  {refuses, refuses},
		"in_transit": {refuses, refuses},
		"delivered":  {refuses, refuses},
		"failed":     {cancels, refuses}, // without: operations might retry it otherwise
		"cancelled":  {stays, stays},
		"outsourced": {cancels, refuses},
	}
	for _, from := range domain.Statuses() {
		for i, pickedUp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, picked up before %t", from, pickedUp), func(t *testing.T) {
				t.Parallel()
				d, at := deliveryIn(from, pickedUp), noon.Add(time.Minute)
				before := d.Lifecycle()
				event, changed, err := d.Cancel(eventID(6), at)
				switch outcomes[from][i] {
				case cancels:
					want := domain.Event{
						ID: eventID(6), DeliveryID: d.ID, Type: "delivery.cancelled", Status: domain.Cancelled,
						Previous: from, Sequence: 6, OccurredAt: at, Reason: "cancelled_by_caller",
					}
					if err != nil || !changed || event != want || d.Status() != domain.Cancelled {
						t.Errorf("event %+v, changed %t, error %v", event, changed, err)
					}
					return
				case stays:
					if err != nil || changed {
						t.Errorf("changed %t, error %v", changed, err)
					}
				case refuses:
					e := asError(t, err, domain.KindConflict, "DELIVERY_NOT_CANCELLABLE")
					if changed || e.Details["status"] != string(from) {
						t.Errorf("changed %t, details %v", changed, e.Details)
					}
					told := "is " + string(from)
					if pickedUp {
						told = "picked up at 2026-03-14T11:00:00.000Z"
					}
					if !strings.Contains(e.Message, told) {
						t.Errorf("message %q does not tell %q", e.Message, told)
					}
				}
				if event != (domain.Event{}) || !reflect.DeepEqual(d.Lifecycle(), before) {
					t.Errorf("nothing should have happened: event %+v, lifecycle %+v", event, d.Lifecycle())
				}
			})
		}
	}
}

func TestARetryAfterAPickupCannotBeCancelled(t *testing.T) {
	t.Parallel()
	d, _ := domain.Book(bookingAt(noon), eventID(1))
	for i, to := range []domain.Status{domain.Assigned, domain.PickedUp, domain.Failed, domain.Assigned} {
		if _, err := d.Move(to, domain.ActorPlatform, "", eventID(i+2), noon.Add(time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := d.Cancel(eventID(9), noon); !domain.HasCode(err, domain.CodeDeliveryNotCancellable) {
		t.Errorf("got %v", err)
	}
	if d.Status() != domain.Assigned {
		t.Errorf("status %s", d.Status())
	}
}

func TestARetryThatWasNeverPickedUpCanBeCancelled(t *testing.T) {
	t.Parallel()
	d, _ := domain.Book(bookingAt(noon), eventID(1))
	for i, to := range []domain.Status{domain.Assigned, domain.Failed, domain.Assigned} {
		if _, err := d.Move(to, domain.ActorPlatform, "", eventID(i+2), noon); err != nil {
			t.Fatal(err)
		}
	}
	if event, changed, err := d.Cancel(eventID(9), noon); err != nil || !changed || event.Sequence != 5 {
		t.Errorf("event %+v, changed %t, error %v", event, changed, err)
	}
}
