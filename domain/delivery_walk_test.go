package domain_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"waybill/domain"
)

// A random walk of any actors, with a clock that may step back, keeps every promise of a timeline.
func TestAnyWalkLeavesAGaplessTimeline(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, first := domain.Book(bookingAt(noon), eventID(1))
		events := []domain.Event{first}
		clock, ended := noon, false
		var pickedUpAt *time.Time
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			clock = clock.Add(time.Duration(rapid.IntRange(-5000, 60000).Draw(t, "ms")) * time.Millisecond)
			to := rapid.SampledFrom(domain.Statuses()).Draw(t, "to")
			by := rapid.SampledFrom(actors).Draw(t, "by")
			before := d.Lifecycle()

			var event domain.Event
			var err error
			changed := true
			if cancel := rapid.IntRange(0, 19).Draw(t, "cancel") == 0; cancel {
				event, changed, err = d.Cancel(eventID(len(events)+1), clock)
			} else {
				// Most draws are allowed steps, or the walk would hardly move.
				if next := d.Next(by.actor); len(next) > 0 && rapid.IntRange(0, 9).Draw(t, "blind") > 0 {
					to = rapid.SampledFrom(next).Draw(t, "next")
				}
				event, err = d.Move(to, by.actor, "", eventID(len(events)+1), clock)
			}
			if err == nil && changed {
				if ended {
					t.Fatalf("%s led to %s", before.Status, event.Status)
				}
				if event.Previous != before.Status {
					t.Fatalf("event says it came from %s, not from %s", event.Previous, before.Status)
				}
				events = append(events, event)
			}

			after := d.Lifecycle()
			ended = after.Status == domain.Delivered || after.Status == domain.Cancelled
			if after.UpdatedAt.Before(before.UpdatedAt) {
				t.Fatalf("updated_at went back from %s to %s", before.UpdatedAt, after.UpdatedAt)
			}
			if pickedUpAt != nil && (after.PickedUpAt == nil || !after.PickedUpAt.Equal(*pickedUpAt)) {
				t.Fatalf("the first pickup at %s became %v", pickedUpAt, after.PickedUpAt)
			}
			pickedUpAt = after.PickedUpAt
			if pickedUpAt != nil && after.Status == domain.Cancelled {
				t.Fatal("cancelled after a pickup")
			}
		}
		checkTimeline(t, d, events, pickedUpAt)
	})
}

func checkTimeline(t *rapid.T, d *domain.Delivery, events []domain.Event, pickedUpAt *time.Time) {
	if d.Lifecycle().Sequence != len(events) {
		t.Fatalf("sequence %d after %d events", d.Lifecycle().Sequence, len(events))
	}
	for i, e := range events {
		if e.Sequence != i+1 {
			t.Fatalf("event %d has sequence %d", i+1, e.Sequence)
		}
		if i > 0 && e.OccurredAt.Before(events[i-1].OccurredAt) {
			t.Fatalf("event %d occurred before event %d", i+1, i)
		}
	}
	if last := events[len(events)-1]; last.Status != d.Status() || !last.OccurredAt.Equal(d.UpdatedAt()) {
		t.Fatalf("last event %+v, delivery %+v", last, d.Lifecycle())
	}
	pickup := slices.IndexFunc(events, func(e domain.Event) bool { return e.Status == domain.PickedUp })
	if (pickup >= 0) != (pickedUpAt != nil) || pickup >= 0 && !events[pickup].OccurredAt.Equal(*pickedUpAt) {
		t.Fatalf("picked up at %v, first pickup is event %d", pickedUpAt, pickup+1)
	}
}
