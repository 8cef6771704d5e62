package portal

import (
	"net/http"

	"waybill/domain"
)

// route is a page, or what a form does.
type route struct {
	method, path string
	// act is what the role has to include; nil: no session is needed.
	act    func(c *call) domain.Act
	handle func(p *Portal, c *call) error
	// asksItself: the form has a field for the password that confirms it.
	asksItself bool
	maxForm    int64 // bytes that the form may have; 0: maxForm
}

func always(a domain.Act) func(*call) domain.Act { return func(*call) domain.Act { return a } }

// records are the parameters of paths that are IDs, with what these begin with. What
// is none gets no further than the table: the database never hears of it.
var records = map[string]domain.Prefix{
	"app": domain.PrefixApplication, "key": domain.PrefixAPIKey, "person": domain.PrefixPerson, "passkey": domain.PrefixPasskey,
	"delivery": domain.PrefixDelivery, "location": domain.PrefixPickupLocation,
	"endpoint": domain.PrefixWebhookEndpoint, "sent": domain.PrefixWebhookDelivery,
}

// keyAct depends on the environment; keys of live take more.
func keyAct(c *call) domain.Act {
	if c.Param("env") == string(domain.Live) {
		return domain.ActManageLiveKeys
	}
	return domain.ActManageSandboxKeys
}

// routes are all pages and forms.
func routes() []route {
	var (
		read    = always(domain.ActRead)
		apps    = always(domain.ActManageApplications)
		persons = always(domain.ActManagePeople)
		account = always(domain.ActOwnAccount)
		hooks   = always(domain.ActManageWebhooks)
		secrets = always(domain.ActReadWebhookSecrets)
		resend  = always(domain.ActResendWebhooks)
	)
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: "/enter/:link", handle: (*Portal).showLink},
		{method: post, path: "/enter/:link", handle: (*Portal).useLink},
		{method: get, path: "/signin", handle: (*Portal).showSignIn},
		{method: post, path: "/signin", handle: (*Portal).signIn},
		{method: get, path: "/signin/passkey", handle: (*Portal).showSignIn},
		{method: post, path: "/signin/passkey", handle: (*Portal).askToSignInByPasskey},
		{method: get, path: "/signin/link", handle: (*Portal).showSignIn},
		{method: post, path: "/signin/link", handle: (*Portal).sendLink},
		{method: get, path: "/signout", act: read, handle: (*Portal).showAccount},
		{method: post, path: "/signout", handle: (*Portal).signOut},

		{method: get, path: "/", act: read, handle: (*Portal).home},
		{method: get, path: "/apps", act: read, handle: (*Portal).listApps},
		{method: post, path: "/apps", act: apps, handle: (*Portal).createApp},
		{method: get, path: "/apps/:app", act: read, handle: (*Portal).showApp},
		{method: get, path: "/apps/:app/rename", act: read, handle: (*Portal).showApp},
		{method: post, path: "/apps/:app/rename", act: apps, handle: (*Portal).renameApp},
		{method: get, path: "/apps/:app/disable", act: apps, handle: (*Portal).askDisable},
		{method: post, path: "/apps/:app/disable", act: apps, handle: (*Portal).disableApp},
		{method: get, path: "/apps/:app/enable", act: read, handle: (*Portal).showApp},
		{method: post, path: "/apps/:app/enable", act: apps, handle: (*Portal).enableApp},

		{method: get, path: "/apps/:app/:env/keys", act: read, handle: (*Portal).listKeys},
		{method: post, path: "/apps/:app/:env/keys", act: keyAct, handle: (*Portal).createKey},
		{method: get, path: "/apps/:app/:env/keys/:key/rotate", act: read, handle: (*Portal).askRotate},
		{method: post, path: "/apps/:app/:env/keys/:key/rotate", act: keyAct, handle: (*Portal).rotateKey},
		{method: get, path: "/apps/:app/:env/keys/:key/revoke", act: read, handle: (*Portal).askRevoke},
		{method: post, path: "/apps/:app/:env/keys/:key/revoke", act: keyAct, handle: (*Portal).revokeKey},

		{method: get, path: "/search", act: read, handle: (*Portal).search},
		{method: get, path: "/requests", act: read, handle: (*Portal).listRequests},
		{method: get, path: "/requests/:request", act: read, handle: (*Portal).showRequest},
		{method: get, path: "/errors", act: read, handle: (*Portal).listErrors},
		{method: get, path: "/usage", act: read, handle: (*Portal).showUsage},
		{method: get, path: "/usage.csv", act: read, handle: (*Portal).usageCSV},

		{method: get, path: "/deliveries", act: read, handle: (*Portal).listDeliveries},
		{method: get, path: "/deliveries/:delivery", act: read, handle: (*Portal).showDelivery},
		{method: get, path: "/deliveries/:delivery/cancel", act: read, handle: (*Portal).askCancel},
		{method: post, path: "/deliveries/:delivery/cancel", act: always(domain.ActSimulate), handle: (*Portal).cancelDelivery},
		{method: get, path: "/deliveries/:delivery/move", act: read, handle: (*Portal).showDelivery},
		{method: post, path: "/deliveries/:delivery/move", act: always(domain.ActSimulate), handle: (*Portal).moveDelivery},
		{method: get, path: "/deliveries/:delivery/simulate", act: read, handle: (*Portal).showDelivery},
		{method: post, path: "/deliveries/:delivery/simulate", act: always(domain.ActSimulate), handle: (*Portal).simulateDelivery},
		{method: get, path: "/deliveries/:delivery/stop", act: read, handle: (*Portal).showDelivery},
		{method: post, path: "/deliveries/:delivery/stop", act: always(domain.ActSimulate), handle: (*Portal).stopSimulation},

		{method: get, path: pickupsAt, act: read, handle: (*Portal).listPickups},
		{method: get, path: pickupsAt + "/:env", act: read, handle: (*Portal).listPickups},
		{method: post, path: pickupsAt + "/:env", act: locationAct, handle: (*Portal).createPickup},
		{method: get, path: pickupsAt + "/:env/import", act: locationAct, handle: (*Portal).askImport},
		{method: post, path: pickupsAt + "/:env/import", act: locationAct, handle: (*Portal).previewImport, maxForm: maxImportForm},
		{method: get, path: pickupsAt + "/:env/import/rows", act: locationAct, handle: (*Portal).askImport},
		{method: post, path: pickupsAt + "/:env/import/rows", act: locationAct, handle: (*Portal).importPickups, maxForm: maxImportForm},
		{method: get, path: pickupsAt + "/:env/:location", act: read, handle: (*Portal).showPickup},
		{method: post, path: pickupsAt + "/:env/:location", act: locationAct, handle: (*Portal).changePickup},

		{method: get, path: "/webhooks", act: read, handle: (*Portal).listEndpoints},
		{method: post, path: "/webhooks", act: secrets, handle: (*Portal).createEndpoint},
		{method: get, path: "/webhooks/verify", act: read, handle: (*Portal).showBench},
		{method: post, path: "/webhooks/verify", act: read, handle: (*Portal).examineWebhook},
		{method: get, path: "/webhooks/:endpoint", act: read, handle: (*Portal).showEndpoint},
		{method: get, path: "/webhooks/:endpoint/edit", act: read, handle: (*Portal).askEdit},
		{method: post, path: "/webhooks/:endpoint/edit", act: hooks, handle: (*Portal).editEndpoint},
		{method: get, path: "/webhooks/:endpoint/pause", act: read, handle: (*Portal).showEndpoint},
		{method: post, path: "/webhooks/:endpoint/pause", act: hooks, handle: (*Portal).pauseEndpoint},
		{method: get, path: "/webhooks/:endpoint/resume", act: read, handle: (*Portal).showEndpoint},
		{method: post, path: "/webhooks/:endpoint/resume", act: hooks, handle: (*Portal).resumeEndpoint},
		{method: get, path: "/webhooks/:endpoint/rotate", act: read, handle: (*Portal).askRotateSecret},
		{method: post, path: "/webhooks/:endpoint/rotate", act: secrets, handle: (*Portal).rotateSecret},
		{method: get, path: "/webhooks/:endpoint/test", act: read, handle: (*Portal).showEndpoint},
		{method: post, path: "/webhooks/:endpoint/test", act: hooks, handle: (*Portal).testEndpoint},
		{method: get, path: "/webhooks/:endpoint/delete", act: read, handle: (*Portal).askDeleteEndpoint},
		{method: post, path: "/webhooks/:endpoint/delete", act: hooks, handle: (*Portal).deleteEndpoint},
		{method: get, path: "/webhooks/:endpoint/recover", act: read, handle: (*Portal).askRecover},
		{method: post, path: "/webhooks/:endpoint/recover", act: resend, handle: (*Portal).recoverWebhooks},
		{method: get, path: "/webhooks/:endpoint/sent/:sent", act: read, handle: (*Portal).showSent},
		{method: get, path: "/webhooks/:endpoint/sent/:sent/resend", act: read, handle: (*Portal).showSent},
		{method: post, path: "/webhooks/:endpoint/sent/:sent/resend", act: resend, handle: (*Portal).resendWebhook},

		{method: get, path: "/sandbox", act: read, handle: (*Portal).showSandbox},
		{method: get, path: "/sandbox/book", act: read, handle: (*Portal).showSandbox},
		{method: post, path: "/sandbox/book", act: always(domain.ActSimulate), handle: (*Portal).bookSample},
		{method: get, path: "/sandbox/card", act: read, handle: (*Portal).showSandboxCard},
		{method: get, path: "/sandbox/inbox", act: read, handle: (*Portal).streamInbox},

		{method: get, path: "/people", act: read, handle: (*Portal).listPeople},
		{method: post, path: "/people", act: persons, handle: (*Portal).invite},
		{method: get, path: "/people/:person/role", act: read, handle: (*Portal).listPeopleAround},
		{method: post, path: "/people/:person/role", act: persons, handle: (*Portal).setRole},
		{method: get, path: "/people/:person/link", act: read, handle: (*Portal).listPeopleAround},
		{method: post, path: "/people/:person/link", act: persons, handle: (*Portal).makeLink},
		{method: get, path: "/people/:person/remove", act: persons, handle: (*Portal).askRemove},
		{method: post, path: "/people/:person/remove", act: persons, handle: (*Portal).remove},

		{method: get, path: "/audit", act: always(domain.ActReadAudit), handle: (*Portal).listAudit},
		{method: get, path: "/audit.csv", act: always(domain.ActReadAudit), handle: (*Portal).auditCSV},

		{method: get, path: "/account", act: read, handle: (*Portal).showAccount},
		{method: get, path: "/account/password", act: read, handle: (*Portal).showAccount},
		{method: post, path: "/account/password", act: account, handle: (*Portal).setPassword, asksItself: true},
		{method: get, path: "/account/sessions", act: read, handle: (*Portal).showAccount},
		{method: post, path: "/account/sessions", act: read, handle: (*Portal).endSessions},
		{method: get, path: "/account/confirm", act: account, handle: (*Portal).askToConfirm},
		{method: post, path: "/account/confirm", act: account, handle: (*Portal).confirmed},
		{method: get, path: "/account/confirm/passkey", act: read, handle: (*Portal).showAccount},
		{method: post, path: "/account/confirm/passkey", act: read, handle: (*Portal).askToConfirmByPasskey},
		{method: get, path: "/account/passkeys", act: read, handle: (*Portal).showAccount},
		{method: post, path: "/account/passkeys", act: account, handle: (*Portal).addPasskey},
		{method: get, path: "/account/passkeys/ask", act: read, handle: (*Portal).showAccount},
		{method: post, path: "/account/passkeys/ask", act: account, handle: (*Portal).askToAddPasskey},
		{method: get, path: "/account/passkeys/:passkey", act: account, handle: (*Portal).showPasskey},
		{method: post, path: "/account/passkeys/:passkey", act: account, handle: (*Portal).renamePasskey},
		{method: get, path: "/account/passkeys/:passkey/remove", act: account, handle: (*Portal).showPasskey},
		{method: post, path: "/account/passkeys/:passkey/remove", act: account, handle: (*Portal).removePasskey},
		{method: get, path: "/account/business", act: read, handle: (*Portal).showAccount},
		{method: post, path: "/account/business", act: read, handle: (*Portal).showBusiness},
	}
}
