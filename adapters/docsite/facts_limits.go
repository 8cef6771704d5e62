package docsite

import (
	"fmt"

	"waybill/application/webhooks"
	"waybill/domain"
)

// limits holds limits and times that the guides name, as text.
type limits struct {
	Tracking string // public base URL of tracking pages

	MostKeys, MostAddresses, MostPickupLocations, MostSearch        int
	KeyLengthLeast, KeyLengthMost                                   int // of an Idempotency-Key
	ExternalIDLength, NameLength, AddressLength, MunicipalityLength string
	NotesLength, LabelLength                                        string
	GoodsValueMost                                                  string
	BodyMost, BulkBodyMost                                          string // of requests
	FeedWindow                                                      int    // events that a filtered page looks through
	KeyExpiryNotice                                                 string // before a key expires

	WebhookEndpoints, WebhookTests, WebhookURLMost int
	WebhookTimeout                                 string
	PauseAfter                                     int
	PauseFirst, PauseMost                          string
	DisableAfter                                   int
	DisableAfterFor                                string
	RecoverMost                                    int
	OverlapDefault, OverlapMost                    string
	InboxRows                                      int // webhooks in the portal's sandbox inbox

	LinksKept, SessionsKept, DevicesKept string // after they expire
}

func newLimits(o Options) limits {
	return limits{
		Tracking: o.TrackingBaseURL,

		MostKeys: domain.MaxUsableKeys, MostAddresses: domain.MaxAddressesPerRecipient, MostPickupLocations: domain.MaxPickupLocations,
		MostSearch: domain.MaxSearch, KeyLengthLeast: domain.MinIdempotencyKey, KeyLengthMost: domain.MaxIdempotencyKey,
		ExternalIDLength: domain.ExternalIDRule.String(), NameLength: domain.NameRule.String(), AddressLength: domain.AddressRule.String(),
		MunicipalityLength: domain.MunicipalityRule.String(), NotesLength: domain.NotesRule.String(), LabelLength: domain.LabelRule.String(),
		GoodsValueMost: fmt.Sprint(domain.MaxGoodsValueMinor / 100),
		BodyMost:       "64 KiB", BulkBodyMost: "1 MiB", FeedWindow: 5000, // of the adapters for HTTP and storage
		KeyExpiryNotice: duration(domain.TellExpiry),

		WebhookEndpoints: domain.MaxWebhookEndpoints, WebhookTests: domain.MaxWebhookTests, WebhookURLMost: domain.MaxWebhookURL,
		WebhookTimeout: "15 seconds", // of the adapter that sends them
		PauseAfter:     domain.CircuitAfter, PauseFirst: duration(domain.CircuitFirst), PauseMost: duration(domain.CircuitMost),
		DisableAfter: domain.DisableAfter, DisableAfterFor: duration(domain.DisableAfterFor), RecoverMost: webhooks.RecoverMost,
		OverlapDefault: duration(domain.DefaultSecretOverlap), OverlapMost: duration(domain.MaxSecretOverlap), InboxRows: webhooks.InboxRows,

		LinksKept: duration(domain.LinkKept), SessionsKept: duration(domain.SessionKept), DevicesKept: duration(domain.DeviceKept),
	}
}
