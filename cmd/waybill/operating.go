package main

import (
	"time"

	"waybill/adapters/cli/settings"
	"waybill/adapters/opsapi"
	"waybill/application/admission"
	"waybill/application/operations"
	"waybill/application/people"
	"waybill/application/pickuplocations"
	"waybill/application/tenancy"
	"waybill/ports"
)

// failedOperatorsPerAddress is how often an address may present no valid
// operator token in a minute.
const failedOperatorsPerAddress = 60

func newFailedOperators() admission.FailedOperators {
	return admission.FailedOperators{Limit: failedOperatorsPerAddress, Window: time.Minute}
}

// newManagement is what the operations API of a server works with.
func newManagement(o *admission.Operators, t *tenancy.Tenants, l *pickuplocations.PickupLocations, p *operations.Operations, d *people.Directory,
	n ports.Normalizer, ids ports.Identifiers, keys cursorKeys, urls settings.PublicURLs,
) *opsapi.Management {
	return &opsapi.Management{
		Operators: o, Tenants: t, PickupLocations: l, Operations: p, People: d, PortalBaseURL: urls.Portal,
		Normalizer: n, Identifiers: ids, CursorKeys: keys, TrackingBaseURL: urls.Tracking,
	}
}
