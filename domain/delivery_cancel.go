package domain

import "time"

// Cancel stops a delivery on behalf of the caller, as long as pickup was never recorded. This
// includes a failed delivery, which operations might retry otherwise. It also stops a running
// simulation. A cancelled delivery stays unchanged: changed is false and there is no event.
func (d *Delivery) Cancel(eventID ID, at time.Time) (event Event, changed bool, err error) {
	if d.life.Status == Cancelled {
		return Event{}, false, nil
	}
	event, err = d.move(Cancelled, ActorCaller, ReasonCancelledByCaller, eventID, at)
	if err != nil {
		return Event{}, false, d.notCancellable()
	}
	d.stopSimulation()
	return event, true, nil
}

func (d *Delivery) notCancellable() *Error {
	message := "The delivery is " + string(d.life.Status) + " and can no longer be cancelled."
	if d.life.PickedUpAt != nil {
		message = "The delivery was picked up at " + FormatTime(*d.life.PickedUpAt) + " and can no longer be cancelled."
	}
	return &Error{Kind: KindConflict, Code: CodeDeliveryNotCancellable, Message: message,
		Details: map[string]any{"status": string(d.life.Status)}}
}
