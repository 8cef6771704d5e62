package trackingpage

import "waybill/domain"

// words holds the texts of a status for the recipient of a parcel. The argument of details is
// the name of the sender.
type words struct {
	headline string
	detail   func(sender string) string
	step     string // in the timeline
	tone     string // class of the page: how it looks
}

var textOf = map[domain.Status]words{
	domain.Booked: {
		"Your parcel is booked",
		func(sender string) string {
			return sender + " has asked us to bring you a parcel. We are looking for a rider to collect it."
		}, "Booked", "moving",
	},
	domain.Assigned: {
		"A rider will collect your parcel",
		func(sender string) string { return "A rider has been found and is on the way to " + sender + "." },
		"Rider found", "moving",
	},
	domain.PickedUp: {
		"Your parcel has been collected",
		func(sender string) string { return "The rider has it from " + sender + " and is about to set off." },
		"Collected", "moving",
	},
	domain.InTransit: {
		"Your parcel is on its way",
		func(string) string { return "The rider is coming to you. Please keep your phone near." },
		"On its way", "moving",
	},
	domain.Outsourced: {
		"A partner is bringing your parcel",
		func(sender string) string {
			return "We have passed it on to a courier we work with, who brings it from " + sender + " to you."
		}, "Given to a partner", "moving",
	},
	domain.Delivered: {
		"Your parcel has arrived",
		func(sender string) string {
			return "It has been handed over. For questions about what is in it, ask " + sender + "."
		},
		"Delivered", "arrived",
	},
	domain.Failed: {
		"We could not deliver your parcel",
		func(sender string) string {
			return "We may try again, and this page will show it. " + sender + " can tell you more."
		}, "Could not be delivered", "stopped",
	},
	domain.Cancelled: {
		"This delivery was cancelled",
		func(sender string) string { return "Nothing will be delivered. " + sender + " can tell you more." },
		"Cancelled", "ended",
	},
}

// kindly explains a reason, without blame and without an amount.
var kindly = map[domain.ReasonCode]func(sender string) string{
	domain.ReasonRecipientUnreachable: func(string) string { return "Nobody could be reached at the address or by phone." },
	domain.ReasonRecipientRefused:     func(string) string { return "The parcel was not taken at the door." },
	domain.ReasonCODRefused:           func(string) string { return "The payment at the door did not work out." },
	domain.ReasonAddressProblem:       func(string) string { return "The rider could not find the address." },
	domain.ReasonPickupUnavailable: func(sender string) string {
		return "The parcel could not be collected from " + sender + "."
	},
	domain.ReasonNoRider:             func(string) string { return "There was no rider who could take it." },
	domain.ReasonCancelledByCaller:   func(sender string) string { return sender + " cancelled it." },
	domain.ReasonCancelledByPlatform: func(string) string { return "We had to cancel it, and are sorry." },
	domain.ReasonOther:               func(string) string { return "Something went wrong on the way, and we are sorry." },
}

// ahead lists the statuses that usually follow each status.
var ahead = map[domain.Status][]domain.Status{
	domain.Booked:     {domain.Assigned, domain.PickedUp, domain.InTransit, domain.Delivered},
	domain.Assigned:   {domain.PickedUp, domain.InTransit, domain.Delivered},
	domain.PickedUp:   {domain.InTransit, domain.Delivered},
	domain.InTransit:  {domain.Delivered},
	domain.Outsourced: {domain.Delivered},
}

// notice holds the text of a page that has no delivery to show.
type notice struct {
	Headline string
	Details  []string
	Form     bool // to enter the reference
}

var (
	ask = notice{Headline: "Find your parcel", Form: true, Details: []string{
		"Enter the reference of your parcel. It is at the end of the tracking link that was sent to you.",
	}}
	missing = notice{Headline: "We cannot find this parcel", Form: true, Details: []string{
		"Please open the link again just as it was sent to you, with every character of it, or type the reference.",
		"If that does not help, ask the shop that sent you the link.",
	}}
	limited = notice{Headline: "Please try again in a minute", Details: []string{
		"Please open the link just as it was sent to you, with every character of it: a link that is right opens at any time.",
		"Too many parcels that do not exist were asked for from your network. To try another reference, wait a minute.",
	}}
	failed = notice{Headline: "We cannot look right now", Details: []string{
		"Something on our side does not answer. Your parcel is not affected; please try again in a minute.",
	}}
	readOnly = notice{Headline: "This page can only be read", Details: []string{"Please open the link just as it was sent to you."}}
)
