package trackingpage

import (
	"time"

	"waybill/domain"
)

// parcel holds the part of a page that changes, for its template.
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
	Earlier      bool // there are earlier events than the steps show
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

// shownTime holds the format of times in the page before the script converts them to the reader's
// time zone.
const shownTime = "2 January 2006, 15:04 UTC"

// mostShown limits the characters of a municipality that strangers see.
const mostShown = 64

// shortened cuts a text that strangers see to mostShown characters.
func shortened(text string) string {
	if letters := []rune(text); len(letters) > mostShown {
		return string(letters[:mostShown-1]) + "…"
	}
	return text
}

func show(r domain.Reference, t *domain.Tracking) parcel {
	w, sender := textOf[t.Status], t.Sender
	p := parcel{
		Reference: string(r), Sender: sender, Municipality: shortened(t.Municipality), Test: t.Test,
		Status: string(t.Status), Tone: w.tone, Headline: w.headline, Detail: w.detail(sender),
		Sequence: t.Sequence, Earlier: t.Sequence > len(t.Events), Over: t.Over(),
	}
	for i, e := range t.Events {
		s := step{
			Label: textOf[e.Status].step, Reason: reason(e, sender),
			At: e.OccurredAt.UTC().Format(time.RFC3339), Shown: e.OccurredAt.UTC().Format(shownTime),
			Current: i == len(t.Events)-1,
		}
		if s.Current {
			p.Reason, s.Reason = s.Reason, "" // the headline shows it
		}
		p.Steps = append(p.Steps, s)
	}
	for _, next := range ahead[t.Status] {
		p.Steps = append(p.Steps, step{Label: textOf[next].step})
	}
	return p
}

func reason(e domain.TrackedEvent, sender string) string {
	if say, ok := kindly[e.Reason]; ok {
		return say(sender)
	}
	return ""
}
