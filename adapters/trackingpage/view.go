package trackingpage

import (
	"time"

	"waybill/domain"
)

// parcel holds the part of a page that changes, for its template.
type parcel struct {
	edition
	Reference    string
	Sender       string
	Municipality string
	Test         bool
	Status       string
	Tone         string
	Headline     string
	Reason       string // empty: none
	Detail       string
	Cash         string // to have ready; empty: none, or not to be shown
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

// mostShown limits the characters of a municipality that strangers see.
const mostShown = 64

// shortened cuts a text that strangers see to mostShown characters.
func shortened(text string) string {
	if letters := []rune(text); len(letters) > mostShown {
		return string(letters[:mostShown-1]) + "…"
	}
	return text
}

func show(in edition, r domain.Reference, t *domain.Tracking) parcel {
	status := string(t.Status)
	p := parcel{
		edition: in, Reference: string(r), Sender: t.Sender, Municipality: shortened(t.Municipality), Test: t.Test,
		Status: status, Tone: tones[t.Status], Headline: in.Say(status + ".headline"), Detail: in.Say(status+".detail", "sender", t.Sender),
		Sequence: t.Sequence, Earlier: t.Sequence > len(t.Events), Over: t.Over(),
	}
	if t.Cash != nil && !p.Over && t.Status != domain.Failed {
		p.Cash = in.amount(*t.Cash)
	}
	for i, e := range t.Events {
		s := step{
			Label: in.Say(string(e.Status) + ".step"), At: e.OccurredAt.UTC().Format(time.RFC3339), Shown: in.moment(e.OccurredAt),
			Current: i == len(t.Events)-1,
		}
		if e.Reason != "" {
			s.Reason = in.Say("reason."+string(e.Reason), "sender", t.Sender)
		}
		if s.Current {
			p.Reason, s.Reason = s.Reason, "" // the headline shows it
		}
		p.Steps = append(p.Steps, s)
	}
	for _, next := range ahead[t.Status] {
		p.Steps = append(p.Steps, step{Label: in.Say(string(next) + ".step")})
	}
	return p
}
