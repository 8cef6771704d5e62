package deliveries_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

var dispatcher = domain.AuditActor{ID: sample.ID(domain.PrefixPerson), Name: "Esi", RequestID: "req_1"}

// operationsMoving is a delivery in a real database, a live one unless a test says otherwise.
type operationsMoving struct {
	*stage.Stage
	*deliveries.Operations
	id domain.ID
}

func newMoving(t *testing.T, with ...func(*ports.BookingWrite)) operationsMoving {
	s := stage.New(t)
	tenant := s.NewTenant(t)
	tenant.Environment = domain.Live
	w := sample.BookingWrite(tenant)
	for _, change := range with {
		change(&w)
	}
	if err := s.Store.Book(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return operationsMoving{s, deliveries.NewOperations(s.Store, s.Clock, s.IDs, stage.Renderer{}), w.Delivery.ID}
}

func (m operationsMoving) story(t *testing.T) deliveries.Story {
	t.Helper()
	story, err := m.Story(t.Context(), m.id)
	if err != nil {
		t.Fatal(err)
	}
	return story
}

func (m operationsMoving) move(t *testing.T, seen int, to domain.Status, reason domain.ReasonCode) error {
	t.Helper()
	_, err := m.Move(t.Context(), dispatcher, deliveries.Move{DeliveryID: m.id, Sequence: seen, To: to, Reason: reason})
	return err
}

func TestAFormThatIsSentTwiceMovesOnce(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = m.move(t, 1, domain.Assigned, "") })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Errorf("a second click is told %v", err)
	}
	if s := m.story(t); len(s.Timeline) != 2 || len(s.Changes) != 1 || s.Delivery.Status() != domain.Assigned {
		t.Errorf("%d events, %d changes, %s", len(s.Timeline), len(s.Changes), s.Delivery.Status())
	}
}

// Between the page and the form the delivery failed and was assigned again. Its status is the same
// as before, but its sequence is not.
func TestAStaleFormMovesNothingAndTellsWhereTheDeliveryIs(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	for seen, to := range []domain.Status{domain.Assigned, domain.Failed, domain.Assigned} {
		reason := domain.ReasonCode("")
		if to == domain.Failed {
			reason = domain.ReasonPickupUnavailable
		}
		if err := m.move(t, seen+1, to, reason); err != nil {
			t.Fatal(err)
		}
	}
	for name, err := range map[string]error{
		"another status":       m.move(t, 1, domain.Cancelled, domain.ReasonNoRider),
		"the same status":      m.move(t, 2, domain.PickedUp, ""),
		"another reason":       m.move(t, 2, domain.Failed, domain.ReasonOther),
		"a sequence to come":   m.move(t, 9, domain.PickedUp, ""),
		"a step made long ago": m.move(t, 1, domain.Assigned, ""),
	} {
		var e *domain.Error
		if !errors.As(err, &e) || e.Code != domain.CodeTransitionInvalid || e.Details["current_status"] != "assigned" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := m.story(t); len(s.Timeline) != 4 || len(s.Changes) != 3 {
		t.Errorf("%d events, %d changes", len(s.Timeline), len(s.Changes))
	}
}

func TestEachMoveOfAPersonIsTheirsInTheAuditLogWithItsReason(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	if err := m.move(t, 1, domain.Assigned, domain.ReasonOther); !domain.HasCode(err, domain.CodeValidation) {
		t.Errorf("a reason with assigned: %v", err)
	}
	if err := m.move(t, 1, domain.Assigned, ""); err != nil {
		t.Fatal(err)
	}
	for _, to := range []domain.Status{domain.Failed, domain.Cancelled} {
		if err := m.move(t, 2, to, ""); !domain.HasCode(err, domain.CodeValidation) {
			t.Errorf("%s without a reason: %v", to, err)
		}
	}
	if err := m.move(t, 0, domain.Failed, domain.ReasonPickupUnavailable); err != nil {
		t.Fatal(err)
	}
	s := m.story(t)
	if len(s.Changes) != 2 || s.Changes[0].Details["reason_code"] != "pickup_unavailable" || s.Changes[1].Details["reason_code"] != "" ||
		s.Changes[0].Actor != dispatcher || s.Changes[0].Action != domain.ActionDeliveryAdvance {
		t.Errorf("%+v", s.Changes)
	}
	if s.Timeline[1].Reason != "" || s.Timeline[2].Reason != domain.ReasonPickupUnavailable {
		t.Errorf("%+v", s.Timeline)
	}
	if !slices.Equal(s.Next, []domain.Status{domain.Assigned, domain.Cancelled}) {
		t.Errorf("next: %v", s.Next)
	}
}

func TestADeliveryIsFoundByWhateverAPersonHasInHand(t *testing.T) {
	t.Parallel()
	s := stage.New(t)
	o := deliveries.NewOperations(s.Store, s.Clock, s.IDs, stage.Renderer{})
	one, two := s.NewTenant(t), s.NewTenant(t)
	phone := sample.PhoneNumber()
	var booked []*domain.Delivery
	for i, tenant := range []domain.Tenant{one, two, one, two} {
		w := sample.BookingWrite(tenant, func(d *domain.Booking) {
			d.CreatedAt = stage.Noon.AddDate(0, 0, i-20) // long ago
			d.ID = domain.MakeID(domain.PrefixDelivery, [16]byte{1, byte(i)})
			d.ExternalID = ""
			if i == 1 {
				d.ExternalID = string(phone) // an external_id that is a phone number
			}
			if i == 2 {
				d.ExternalID = "Ama's order-7"
			}
		})
		if err := s.Store.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		booked = append(booked, w.Delivery)
	}
	for name, c := range map[string]struct {
		typed deliveries.Typed
		want  []int
	}{
		"an ID":                   {deliveries.Typed{Text: string(booked[2].ID)}, []int{2}},
		"a reference":             {deliveries.Typed{Text: string(booked[0].Reference)}, []int{0}},
		"an external_id":          {deliveries.Typed{Text: string(phone)}, []int{1}},
		"one of a phone":          {deliveries.Typed{Text: "Ama’s order–7"}, []int{2}},
		"a phone number":          {deliveries.Typed{Text: "0", Phone: booked[3].Recipient.PhoneNumber}, []int{3}},
		"a number that is both":   {deliveries.Typed{Text: string(phone), Phone: booked[3].Recipient.PhoneNumber}, []int{3, 1}},
		"nothing that there is":   {deliveries.Typed{Text: "nothing"}, nil},
		"an ID of something else": {deliveries.Typed{Text: string(one.ApplicationID)}, nil},
	} {
		for _, limit := range []int{1, 10} {
			var found []domain.ID
			for p := (domain.PageRequest{Limit: limit}); ; {
				some, err := o.Find(t.Context(), c.typed, domain.DeliverySearch{NewestFirst: true}, p)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range some.Deliveries[:min(len(some.Deliveries), limit)] {
					found = append(found, d.ID)
				}
				if len(some.Deliveries) <= limit {
					break
				}
				p.After = &domain.Position{ID: found[len(found)-1]}
			}
			var want []domain.ID
			for _, i := range c.want {
				want = append(want, booked[i].ID)
			}
			if !slices.Equal(found, want) {
				t.Errorf("%s, %d a page: %v, want %v", name, limit, found, want)
			}
		}
	}
}
