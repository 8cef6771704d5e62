package console

import (
	"net/http"

	"waybill/adapters/pages"
	"waybill/domain"
)

// menu lists the menu entries of every page, by group.
var menu = []struct {
	name    string
	entries []entry
}{
	{"", []entry{
		{pages.Link{Href: "/", Text: "Attention", Icon: "home"}, domain.ActReadEverything, ""},
		{pages.Link{Href: boardAt, Text: "Board", Icon: "board"}, domain.ActReadEverything, ""},
		{pages.Link{Href: deliveriesAt, Text: "Deliveries", Icon: "deliveries"}, domain.ActReadEverything, ""},
		{pages.Link{Href: bulkAt, Text: "Move many", Icon: "bulk"}, domain.ActReadEverything,
			"Paste or scan up to 200 references, preview the result, and move the deliveries."},
		{pages.Link{Href: "/map", Text: "Map", Icon: "map"}, domain.ActReadEverything,
			"Where open deliveries go, and where they wait for pickup."},
	}},
	{"Customers", []entry{
		{pages.Link{Href: "/businesses", Text: "Customers", Icon: "apps"}, domain.ActReadEverything,
			"Customers with their limits, applications, keys, people, pickup locations and webhooks."},
		{pages.Link{Href: "/webhooks", Text: "Webhooks", Icon: "webhooks"}, domain.ActReadEverything,
			"The health of customers’ webhook endpoints."},
		{pages.Link{Href: requestsAt, Text: "Requests", Icon: "requests"}, domain.ActReadEverything,
			"API requests of customers, with responses and errors."},
	}},
	{"Operations", []entry{
		{pages.Link{Href: "/queues", Text: "Queues", Icon: "queues"}, domain.ActReadEverything,
			"Background work, failures and service health."},
		{pages.Link{Href: "/reports", Text: "Reports", Icon: "usage"}, domain.ActReadEverything,
			"Results of deliveries by day, customer, vehicle and municipality."},
	}},
	{"Team", []entry{
		{pages.Link{Href: "/staff", Text: "Staff", Icon: "people"}, domain.ActReadEverything, "Staff members and their roles."},
		{pages.Link{Href: "/audit", Text: "Audit log", Icon: "audit"}, domain.ActReadEveryAudit, "Who changed what, and when."},
		{pages.Link{Href: "/account", Text: "Account", Icon: "account"}, domain.ActReadEverything, "Your password, passkeys and sessions."},
	}},
}

// records maps path parameters that are IDs to their prefixes. Invalid IDs are refused before they
// reach the database.
var records = map[string]domain.Prefix{"business": domain.PrefixBusiness, "person": domain.PrefixPerson, "passkey": domain.PrefixPasskey,
	"run":      domain.PrefixMoveRun,
	"endpoint": domain.PrefixWebhookEndpoint, "sent": domain.PrefixWebhookDelivery, "mail": domain.PrefixMail,
	"delivery": domain.PrefixDelivery, "request": domain.PrefixRequest}

// done maps values of the parameter done to texts.
var done = map[string]string{
	"sending-paused":       "Sending is paused. Every worker stops within 2 seconds.",
	"sending-resumed":      "Sending has resumed. Waiting webhooks are being sent.",
	"hook-paused":          "The endpoint is paused. Its events are held.",
	"hook-resumed":         "The endpoint is resumed. To send events that were held, recover them.",
	"hook-resent":          "The webhook is being sent again.",
	"mail-retried":         "The email is being sent again.",
	"mail-dropped":         "The email was deleted.",
	"task-retried":         "The task is queued again.",
	"task-dropped":         "The task was deleted. The record that it was about is still in the database.",
	"business-created":     "The customer was created.",
	"owner-invited":        "The customer was created. Its owner is invited by email.",
	"owner-failed":         "The customer was created, but its owner was not invited: the invitation failed.",
	"owner-mails":          "The customer was created, but its owner was not invited: too many emails were sent. Invite the owner later.",
	"owner-disabled":       "The customer was created, but its owner was not invited: the account of this person is disabled.",
	"business-renamed":     "The customer was renamed.",
	"business-limited":     "The limit was saved. It applies within two seconds.",
	"business-cash-shown":  "Tracking pages of this customer now show the cash to have ready.",
	"business-cash-hidden": "Tracking pages of this customer no longer show an amount.",
	"business-disabled":    "The customer was disabled. Its keys stop working everywhere within two seconds, and its people are signed out.",
	"business-enabled":     "The customer was enabled. Its keys work again, and its people can sign in.",
	"delivery-moved":       "The delivery was moved. Its webhooks are being sent.",
}

// routes returns all pages and forms besides those of package pages.
func (p *Console) routes() []pages.Route {
	const get, post = http.MethodGet, http.MethodPost
	read, repair := pages.Always(domain.ActReadEverything), pages.Always(domain.ActRepairQueues)
	return append(p.bulkRoutes(), []pages.Route{
		{Method: get, Path: "/", Act: read, Handle: p.home},
		{Method: get, Path: searchAt, Act: read, Handle: p.search},
		{Method: get, Path: "/businesses", Act: read, Handle: p.listBusinesses},
		{Method: get, Path: "/businesses/new", Act: pages.Always(domain.ActManageBusinesses), Handle: p.askCreateBusiness},
		{Method: post, Path: "/businesses", Act: pages.Always(domain.ActManageBusinesses), Handle: p.createBusiness},
		{Method: get, Path: boardAt, Act: read, Handle: p.showBoard},
		{Method: get, Path: boardAt + "/events", Act: read, Handle: p.streamBoard},
		{Method: get, Path: deliveriesAt, Act: read, Handle: p.listDeliveries},
		{Method: get, Path: deliveriesAt + ".csv", Act: read, Handle: p.csvDeliveries},
		{Method: get, Path: deliveriesAt + "/:delivery", Act: read, Handle: p.showDelivery},
		{Method: get, Path: deliveriesAt + "/:delivery/move", Act: read, Handle: p.showDelivery},
		{Method: post, Path: deliveriesAt + "/:delivery/move", Act: pages.Always(domain.ActMoveDeliveries), Handle: p.moveDelivery},

		{Method: get, Path: "/audit", Act: pages.Always(domain.ActReadEveryAudit), Handle: p.listAudit},
		{Method: get, Path: "/audit.csv", Act: pages.Always(domain.ActReadEveryAudit), Handle: p.auditCSV},
		{Method: get, Path: "/webhooks", Act: read, Handle: p.listHooks},
		{Method: get, Path: "/webhooks/pause", Act: read, Handle: p.showPausing},
		{Method: post, Path: "/webhooks/pause", Act: repair, Handle: p.pauseSending},
		{Method: get, Path: "/webhooks/resume", Act: read, Handle: p.showPausing},
		{Method: post, Path: "/webhooks/resume", Act: repair, Handle: p.resumeSending},
		{Method: get, Path: "/webhooks/:endpoint", Act: read, Handle: p.showHook},
		{Method: get, Path: "/webhooks/:endpoint/pause", Act: read, Handle: p.showHook},
		{Method: post, Path: "/webhooks/:endpoint/pause", Act: repair, Handle: p.pauseHook},
		{Method: get, Path: "/webhooks/:endpoint/resume", Act: read, Handle: p.showHook},
		{Method: post, Path: "/webhooks/:endpoint/resume", Act: repair, Handle: p.resumeHook},
		{Method: get, Path: "/webhooks/:endpoint/recover", Act: read, Handle: p.askRecoverHook},
		{Method: post, Path: "/webhooks/:endpoint/recover", Act: repair, Handle: p.recoverHook},
		{Method: get, Path: "/webhooks/:endpoint/sent/:sent/resend", Act: read, Handle: p.showHook},
		{Method: post, Path: "/webhooks/:endpoint/sent/:sent/resend", Act: repair, Handle: p.resendHook},
		{Method: get, Path: requestsAt, Act: read, Handle: p.listRequests},
		{Method: get, Path: requestsAt + "/:request", Act: read, Handle: p.showRequest},
		{Method: get, Path: "/errors", Act: read, Handle: p.listErrors},
		{Method: get, Path: "/queues", Act: read, Handle: p.showQueues},
		{Method: get, Path: "/queues/mails/:mail/retry", Act: read, Handle: p.showQueues},
		{Method: post, Path: "/queues/mails/:mail/retry", Act: repair, Handle: p.retryMail},
		{Method: get, Path: "/queues/mails/:mail/drop", Act: read, Handle: p.showQueues},
		{Method: post, Path: "/queues/mails/:mail/drop", Act: repair, Handle: p.dropMail},
		{Method: get, Path: "/queues/tasks/retry", Act: read, Handle: p.showQueues},
		{Method: post, Path: "/queues/tasks/retry", Act: repair, Handle: p.retryTask},
		{Method: get, Path: "/queues/tasks/drop", Act: read, Handle: p.showQueues},
		{Method: post, Path: "/queues/tasks/drop", Act: repair, Handle: p.dropTask},
		{Method: get, Path: "/reports", Act: read, Handle: p.showReport},
		{Method: get, Path: "/reports.csv", Act: read, Handle: p.reportCSV},
		{Method: get, Path: "/map", Act: read, Handle: p.showMap},
		{Method: get, Path: streetAt, Act: read, Handle: p.showStreet},
		{Method: get, Path: "/map/tiles/:zoom/:column/:row", Act: read, Handle: p.showTile, Part: true},
		{Method: get, Path: "/map/deliveries", Act: read, Handle: p.showMark},
		{Method: get, Path: "/map/points", Act: read, Handle: p.mapPoints},
	}...)
}
