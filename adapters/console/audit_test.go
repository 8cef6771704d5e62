package console_test

import (
	"waybill/domain"
)

func init() {
	add(map[string]row{"GET /audit": {may: readers}, "GET /audit.csv": {may: readers}})
	states = append(states, []state{
		{name: "audit", role: domain.RoleAdmin, path: "/audit", heading: "Audit log"},
		{name: "audit-wrong", role: domain.RoleSupport, path: "/audit?actor=ama&business=adom&since=never", heading: "Audit log"},
		{name: "audit-refused", role: domain.RoleViewer, path: "/audit", heading: "Your role does not allow this"},
	}...)
}
