package console_test

import (
	"strings"

	"github.com/chromedp/chromedp/kb"

	"waybill/adapters/console"
	"waybill/application/people"
	"waybill/domain"
	"waybill/test/browser"
)

// keyboardJourneys send each form of the console.
var keyboardJourneys = []keyboardJourney{
	{"a dispatcher signs in and fails a delivery of the board with a reason", failByKeyboard,
		[]string{"/signin", "/deliveries/:delivery/move", "/signout"}},
	{"a link to sign in is asked for", linkByKeyboard, []string{"/signin/link", "/enter/:link/email"}},
	{"a dispatcher previews many deliveries and moves them", bulkByKeyboard, []string{"/enter/:link", "/bulk", "/bulk/move"}},
	{"an admin pauses and resumes what is sent, and sends again what did not arrive", repairByKeyboard,
		[]string{"/webhooks/pause", "/webhooks/resume", "/webhooks/:endpoint/pause", "/webhooks/:endpoint/resume",
			"/webhooks/:endpoint/recover", "/webhooks/:endpoint/sent/:sent/resend", "/queues/mails/:mail/retry"}},
	{"an admin clears what was given up", clearByKeyboard, []string{"/queues/mails/:mail/drop", "/queues/tasks/retry", "/queues/tasks/drop"}},
	{"an admin invites a person, changes the role and removes the person", staffByKeyboard,
		[]string{"/staff", "/staff/:person/role", "/staff/:person/link", "/staff/:person/sessions", "/staff/:person/disable",
			"/staff/:person/enable", "/staff/:person/remove"}},
	{"a person looks after the own account", accountByKeyboard,
		[]string{"/account/name", "/account/password", "/account/sessions", "/account/confirm", "/account/passkeys/:passkey",
			"/account/passkeys/:passkey/remove"}},
	{"a person adds a passkey and signs in with it", passkeyByKeyboard,
		[]string{"/account/passkeys", "/account/passkeys/ask", "/account/confirm/passkey", "/signin/passkey"}},
	{"an admin looks after a customer", customerByKeyboard,
		[]string{"/businesses", at("/rename"), at("/limits"), at("/disable"), at("/enable"), at("/view")}},
	{"an admin looks after people of a customer", membersByKeyboard,
		[]string{at("/people"), at("/people/:person/role"), at("/people/:person/link"), at("/people/:person/sessions"),
			at("/people/:person/disable"), at("/people/:person/enable"), at("/people/:person/remove")}},
	{"an admin looks after applications and keys of a customer", appsByKeyboard,
		[]string{at("/apps"), at("/apps/:app/rename"), at("/apps/:app/disable"), at("/apps/:app/enable"), at("/apps/:app/:env/keys"),
			at("/apps/:app/:env/keys/:key/rotate"), at("/apps/:app/:env/keys/:key/revoke")}},
	{"an admin looks after pickup locations of a customer", pickupsByKeyboard,
		[]string{at("/pickup-locations/:env"), at("/pickup-locations/:env/:location"), at("/pickup-locations/:env/import"),
			at("/pickup-locations/:env/import/rows")}},
	{"lists, reports, the audit log and the map are narrowed", narrowByKeyboard, nil},
}

func at(path string) string { return console.BusinessAt + path }

func failByKeyboard(w *walk) {
	p := w.open("/signin")
	p.keys("[name=email]", string(w.staff[domain.RoleDispatcher].Email))
	p.keys("[name=password]", password)
	p.enter("main form button", "Kofi dispatcher")
	p.enter(`nav a[href="/console/board"]`, "Board")
	p.enter(`a[data-cell="a/booked/0"]`, "Deliveries")
	p.enter(`a[href$="`+w.ids[":delivery"]+`"]`, "-")
	p.keys("#status", "assigned")
	p.enter(`form[action$="/move"] button`, "-")
	p.at("assigned")
	p.keys("#status", "failed")
	p.enter(`form[action$="/move"] button`, "-")
	p.want("Say why it is failed")
	p.keys("#reason_code", "no rider")
	p.enter(`form[action$="/move"] button`, "-")
	p.at("failed")
	p.want("reason: no rider")
	p.enter(`form[action="/console/signout"] button`, "Sign in")
}

func bulkByKeyboard(w *walk) {
	p := w.as(domain.RoleDispatcher)
	p.enter(`nav a[href="/console/bulk"]`, "Move many deliveries")
	p.keys("#references", strings.ToLower(string(w.delivery.Reference))+" nothing")
	p.keys("#status", "assigned")
	p.enter(`form[action="/console/bulk"] button`, "What the move would do")
	p.enter(`form[action="/console/bulk/move"] button`, "1 of 2 moved")
}

func linkByKeyboard(w *walk) {
	p := w.open("/signin")
	p.send("/signin/link", "Sign in", "[name=email]", string(w.staff[domain.RoleSupport].Email))
	w.join(w.T, w.business.ID, "efua@adom.example", "Efua", domain.RoleOwner)
	invited := must[people.Issued](w.T)(w.directory.Invite(w.T.Context(), operator,
		people.Invitation{Email: "efua@adom.example", Name: "Efua", Role: "support"}))
	w.ids[":link"] = invited.Secret // the form posts to an address below the link's own
	p = w.open("/enter/" + invited.Secret)
	p.want("No password?")
	p.send("/enter/:link/email", "Sign in")
}

func repairByKeyboard(w *walk) {
	held(w.T, w.scene)
	p := w.as(domain.RoleAdmin)
	p.enter(`nav a[href="/console/webhooks"]`, "Webhooks")
	p.keys("main details summary", kb.Enter)
	p.send("/webhooks/pause", "Webhooks", "#reason-live", "The network is down")
	p.want("The sending is paused")
	p.send("/webhooks/resume", "Webhooks")
	p.want("The sending goes on")
	p.enter(`a[href$="`+w.ids[":endpoint"]+`"]`, "Webhook endpoint")
	p.send("/webhooks/:endpoint/sent/:sent/resend", "Webhook endpoint")
	p.want("It is on its way again")
	p.send("/webhooks/:endpoint/pause", "Webhook endpoint")
	p.send("/webhooks/:endpoint/resume", "Webhook endpoint")
	p.want("The endpoint is resumed")
	p.enter(`main a[href$="/recover"]`, "Recover webhooks")
	p.send("/webhooks/:endpoint/recover", "Recover webhooks")
	p.want("on their way again")
	p.enter(`nav a[href="/console/queues"]`, "Queues")
	p.send("/queues/mails/:mail/retry", "Queues")
	p.want("The mail is sent again")
	w.wantAudited(domain.ActionSendingPause, domain.ActionSendingResume, domain.ActionWebhookResend, domain.ActionEndpointUpdate,
		domain.ActionEndpointRecover, domain.ActionMailRetry)
}

func clearByKeyboard(w *walk) {
	p := w.as(domain.RoleAdmin)
	p.enter(`nav a[href="/console/queues"]`, "Queues")
	p.send("/queues/mails/:mail/drop", "Queues")
	p.want("The mail was dropped")
	p.send("/queues/tasks/retry", "Queues")
	p.want("It waits to be done again")
	p.send("/queues/tasks/drop", "Queues")
	p.want("It was dropped")
	w.wantAudited(domain.ActionMailDrop, domain.ActionTaskRetry, domain.ActionTaskDrop)
}

func staffByKeyboard(w *walk) {
	p := w.as(domain.RoleAdmin)
	p.enter(`nav a[href="/console/staff"]`, "Staff")
	p.send("/staff", "Staff", "#name", "Efua Owusu", "#email", "efua@waybill.example", "#role", "viewer")
	p.want("Efua Owusu is invited")
	p.enter(`nav a[href="/console/staff"]`, "Staff")
	p.send("/staff/:person/role", "Staff", "select", "support")
	p.send("/staff/:person/link", "Staff")
	p.secret()
	p.enter(`nav a[href="/console/staff"]`, "Staff")
	p.send("/staff/:person/sessions", "Staff")
	p.enter(`a[href$="`+w.ids[":person"]+`/disable"]`, "Disable Kofi dispatcher?")
	p.send("/staff/:person/disable", "Staff")
	p.want("The account is disabled")
	p.send("/staff/:person/enable", "Staff")
	p.want("The account is enabled")
	p.enter(`a[href$="`+w.ids[":person"]+`/remove"]`, "Remove Kofi dispatcher")
	p.send("/staff/:person/remove", "Staff")
	p.want("The person was removed")
	w.wantAudited(domain.ActionPersonInvite, domain.ActionPersonRole, domain.ActionPersonDisable,
		domain.ActionPersonEnable, domain.ActionPersonRemove)
}

func accountByKeyboard(w *walk) {
	w.signedIn(w.T, domain.RoleAdmin)
	p := w.as(domain.RoleAdmin)
	p.enter(`nav a[href="/console/account"]`, "Account")
	p.send("/account/name", "Account", "#own-name", "Akosua")
	p.want("Your name was changed")
	p.send("/account/sessions", "Account")
	p.send("/account/password", "Account", "#password", "another long password")
	p.want("The password was saved")
	p.enter(`a[href$="`+w.ids[":passkey"]+`"]`, "Old phone")
	p.send("/account/passkeys/:passkey", "Account", "[name=name]", "Older phone")
	p.want("Older phone")
	w.wait(domain.FreshFor)
	p.enter(`nav a[href="/console/account"]`, "Account")
	p.enter(`main a[href="/console/account/confirm"]`, "Sign in again to go on")
	p.send("/account/confirm", "Account", "#password", "another long password")
	p.enter(`a[href$="`+w.ids[":passkey"]+`"]`, "Older phone")
	p.send("/account/passkeys/:passkey/remove", "Account")
}

func passkeyByKeyboard(w *walk) {
	p := w.as(domain.RoleViewer)
	p.Authenticate(w.T)
	p.enter(`nav a[href="/console/account"]`, "Account")
	p.send("/account/passkeys", "Account", "#passkey-name", "This laptop")
	p.want("The passkey was added")
	w.wait(domain.FreshFor)
	p.enter(`nav a[href="/console/account"]`, "Account")
	p.enter(`main a[href="/console/account/confirm"]`, "Sign in again to go on")
	p.enter("form[data-passkey] button", "Account")
	p.send("/signout", "Sign in")
	p.enter("form[data-passkey] button", "Kofi viewer")
}

func customerByKeyboard(w *walk) {
	p := w.as(domain.RoleAdmin)
	p.enter(`nav a[href="/console/businesses"]`, "Customers")
	p.send("/businesses", "Kofi Pharmacy", "#name", "Kofi Pharmacy")
	p.enter(`nav a[href="/console/businesses"]`, "Customers")
	p.enter(`a[href$="`+w.ids[":business"]+`"]`, "Adom Foods")
	p.send(at("/limits"), "Adom Foods", "[name=limit]", "7", "[name=window_seconds]", "60")
	p.want("The limit was saved")
	p.send(at("/rename"), "Adom Kitchens", "[name=name]", "Adom Kitchens")
	p.enter(`main a[href$="/disable"]`, "Disable Adom Kitchens?")
	p.send(at("/disable"), "Adom Kitchens")
	p.want("The customer was disabled")
	p.send(at("/enable"), "Adom Kitchens")
	p.want("The customer was enabled")
	p.send(at("/view"), "View Adom Kitchens as its customer", "#reason", viewReason)
	w.wantAudited(domain.ActionBusinessCreate, domain.ActionBusinessUpdate, domain.ActionBusinessDisable,
		domain.ActionBusinessEnable)
}

func membersByKeyboard(w *walk) {
	w.ids[":member"] = string(w.join(w.T, w.business.ID, "ama@adom.example", "Ama Mensah", domain.RoleViewer).Person.ID)
	p := w.as(domain.RoleAdmin)
	p.to(w.customerAt(""), "Adom Foods")
	p.enter(`.over a[href$="/people"]`, "People")
	p.send(at("/people"), "People", "#name", "Efua Owusu", "#email", "efua@adom.example", "#role", "viewer")
	p.want("Efua Owusu is invited")
	p.enter(`a[href$="/people"]`, "People")
	p.send(at("/people/:person/role"), "People", "select", "developer")
	p.send(at("/people/:person/link"), "People")
	p.enter(`a[href$="/people"]`, "People")
	p.send(at("/people/:person/sessions"), "People")
	p.enter(`a[href$="`+w.ids[":member"]+`/disable"]`, "Disable Ama Mensah?")
	p.send(at("/people/:person/disable"), "People")
	p.want("The account is disabled")
	p.send(at("/people/:person/enable"), "People")
	p.want("The account is enabled")
	p.enter(`a[href$="`+w.ids[":member"]+`/remove"]`, "Remove Ama Mensah")
	p.send(at("/people/:person/remove"), "People")
	p.want("The person was removed")
}

func appsByKeyboard(w *walk) {
	p := w.as(domain.RoleAdmin)
	p.to(w.customerAt("/apps"), "Applications")
	p.send(at("/apps"), "Another shop", "#name", "Another shop")
	p.to(w.customerAt("/apps"), "Applications")
	p.enter(`main a[href$="`+w.ids[":app"]+`"]`, "Adom shop")
	p.send(at("/apps/:app/rename"), "Renamed shop", "[name=name]", "Renamed shop")
	p.enter(`main a[href$="/disable"]`, "Disable Renamed shop")
	p.send(at("/apps/:app/disable"), "Renamed shop")
	p.send(at("/apps/:app/enable"), "Renamed shop")
	p.enter(`main a[href$="/sandbox/keys"]`, "")
	p.send(at("/apps/:app/:env/keys"), "", "[name=scopes]", " ")
	p.secret()
	p.to(fill(w.T, w.scene, at("/apps/:app/:env/keys")), "")
	p.send(at("/apps/:app/:env/keys/:key/rotate"), "")
	p.secret()
	p.to(fill(w.T, w.scene, at("/apps/:app/:env/keys")), "")
	p.enter(`main a[href$="`+w.ids[":key"]+`/revoke"]`, "")
	p.send(at("/apps/:app/:env/keys/:key/revoke"), "")
}

func pickupsByKeyboard(w *walk) {
	p := w.as(domain.RoleAdmin)
	p.to(fill(w.T, w.scene, at("/pickup-locations/:env")), "Pickup locations")
	p.send(at("/pickup-locations/:env"), "", "[name=name]", "Ridge", "[name=address]", "1 Ring Road")
	p.to(fill(w.T, w.scene, at("/pickup-locations/:env")), "Pickup locations")
	p.enter(`main a[href$="`+w.ids[":location"]+`"]`, "Tema depot")
	p.send(at("/pickup-locations/:env/:location"), "", "[name=address]", "2 Depot Road")
	p.to(fill(w.T, w.scene, at("/pickup-locations/:env/import")), "Import pickup locations")
	p.send(at("/pickup-locations/:env/import"), "What the import would do", "textarea", "name,address"+kb.Enter+"Labone,1 Salem Road"+kb.Enter)
	p.want("Labone")
	p.send(at("/pickup-locations/:env/import/rows"), "Pickup locations")
}

func narrowByKeyboard(w *walk) {
	busyDay(w.T, w.scene)
	p := w.as(domain.RoleAdmin)
	in := func(page, heading, address string) {
		p.Helper()
		p.enter(`form[action="/console`+page+`"] button`, heading)
		p.Eventually(p.T, "the address says it", "location.search.includes("+browser.Quoted(address)+")")
	}
	p.enter(`nav a[href="/console/deliveries"]`, "Deliveries")
	p.keys(`main [name=status]`, "assigned")
	in("/deliveries", "Deliveries", "status=assigned")
	p.enter(`nav a[href="/console/reports"]`, "Reports")
	p.keys(`main [name=each]`, "Vehicle")
	in("/reports", "Reports", "each=vehicle")
	p.enter(`nav a[href="/console/audit"]`, "Audit log")
	p.keys(`main [name=actor]`, string(w.staff[domain.RoleAdmin].ID))
	in("/audit", "Audit log", "actor=prs_")
	p.enter(`nav a[href="/console/map"]`, "Street map")
	p.keys(`main [name=show]`, "Pickups")
	in("/map/street", "Street map", "show=pickups")
	p.enter(`nav a[href="/console/businesses"]`, "Customers")
	p.keys(`main [name=q]`, "Zongo")
	in("/businesses", "Customers", "q=Zongo")
	p.want("Zongo Pharmacy")
}
