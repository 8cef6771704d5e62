package trackingpage

import "waybill/domain"

// tones maps each status to the class of the page.
var tones = map[domain.Status]string{
	domain.Booked: "moving", domain.Assigned: "moving", domain.PickedUp: "moving", domain.InTransit: "moving", domain.Outsourced: "moving",
	domain.Delivered: "arrived", domain.Failed: "stopped", domain.Cancelled: "ended",
}

// ahead lists the statuses that usually follow each status.
var ahead = map[domain.Status][]domain.Status{
	domain.Booked:     {domain.Assigned, domain.PickedUp, domain.InTransit, domain.Delivered},
	domain.Assigned:   {domain.PickedUp, domain.InTransit, domain.Delivered},
	domain.PickedUp:   {domain.InTransit, domain.Delivered},
	domain.InTransit:  {domain.Delivered},
	domain.Outsourced: {domain.Delivered},
}

// notice is a page that has no delivery to show. Its texts begin with the name.
type notice struct {
	name string
	form bool // to enter the reference
}

var (
	ask      = notice{"ask", true}
	missing  = notice{"missing", true}
	limited  = notice{"limited", false}
	failed   = notice{"error", false}
	readOnly = notice{"read_only", false}
)
