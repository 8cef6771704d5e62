package trackingpage

import (
	"time"

	"waybill/domain"
)

// parcel is the part of a page that changes: what its template shows.
type parcel struct {
	Reference    string
	Sender       string
	Municipality string
	Test         bool
	Status       string
	Tone         string
	Headline     string
	Reason       string // empty: none
	Detail       string
	Sequence     int
	Earlier      bool // there was more than the steps show
	Steps        []step
	Over         bool
}

// step is one entry of the timeline.
type step struct {
	Label   string
	Reason  string
	At      string // for machines; empty: still to come
	Shown   string
	Current bool
}

// shownTime is how times stand in the page before the script has put them into
// the reader's zone.
const shownTime = "2 January 2006, 15:04 UTC"

func show(r domain.Reference, t *domain.Tracking) parcel {
	w, sender := told[t.Status], t.Sender
	p := parcel{
		Reference: string(r), Sender: sender, Municipality: t.Municipality, Test: t.Test,
		Status: string(t.Status), Tone: w.tone, Headline: w.headline, Detail: w.detail(sender),
		Sequence: t.Sequence, Earlier: t.Sequence > len(t.Events), Over: t.Over(),
	}
	for i, e := range t.Events {
		s := step{
			Label: told[e.Status].step, Reason: reason(e, sender),
			At: e.OccurredAt.UTC().Format(time.RFC3339), Shown: e.OccurredAt.UTC().Format(shownTime),
			Current: i == len(t.Events)-1,
		}
		if s.Current {
			p.Reason, s.Reason = s.Reason, "" // the headline has it
		}
		p.Steps = append(p.Steps, s)
	}
	for _, next := range ahead[t.Status] {
		p.Steps = append(p.Steps, step{Label: told[next].step})
	}
	return p
}

func reason(e domain.TrackedEvent, sender string) string {
	if say, ok := kindly[e.Reason]; ok {
		return say(sender)
	}
	return ""
}
