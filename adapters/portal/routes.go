package portal

import (
	"net/http"

	"waybill/adapters/pages"
	"waybill/domain"
)

// records maps path parameters that are IDs to their prefixes. Invalid IDs are refused before they
// reach the database.
var records = map[string]domain.Prefix{
	"app": domain.PrefixApplication, "key": domain.PrefixAPIKey, "person": domain.PrefixPerson, "passkey": domain.PrefixPasskey,
	"delivery": domain.PrefixDelivery, "location": domain.PrefixPickupLocation,
	"endpoint": domain.PrefixWebhookEndpoint, "sent": domain.PrefixWebhookDelivery,
}

// keyAct returns the act for changes of keys. Live keys need a higher one.
func keyAct(c *call) domain.Act {
	if c.Param("env") == string(domain.Live) {
		return domain.ActManageLiveKeys
	}
	return domain.ActManageSandboxKeys
}

// routes returns all pages and forms besides those of package pages.
func (p *Portal) routes() []pages.Route {
	var (
		read    = pages.Always(domain.ActRead)
		apps    = pages.Always(domain.ActManageApplications)
		hooks   = pages.Always(domain.ActManageWebhooks)
		secrets = pages.Always(domain.ActReadWebhookSecrets)
		resend  = pages.Always(domain.ActResendWebhooks)
	)
	const get, post = http.MethodGet, http.MethodPost
	return []pages.Route{

		{Method: get, Path: "/", Act: read, Handle: p.home},
		{Method: get, Path: "/apps", Act: read, Handle: p.listApps},
		{Method: post, Path: "/apps", Act: apps, Handle: p.createApp},
		{Method: get, Path: "/apps/new", Act: read, Handle: p.askNewApp},
		{Method: get, Path: "/apps/:app", Act: read, Handle: p.showApp},
		{Method: get, Path: "/apps/:app/rename", Act: read, Handle: p.showApp},
		{Method: post, Path: "/apps/:app/rename", Act: apps, Handle: p.renameApp},
		{Method: get, Path: "/apps/:app/disable", Act: apps, Handle: p.askDisable},
		{Method: post, Path: "/apps/:app/disable", Act: apps, Handle: p.disableApp},
		{Method: get, Path: "/apps/:app/enable", Act: read, Handle: p.showApp},
		{Method: post, Path: "/apps/:app/enable", Act: apps, Handle: p.enableApp},

		{Method: get, Path: "/apps/:app/:env/keys", Act: read, Handle: p.listKeys},
		{Method: post, Path: "/apps/:app/:env/keys", Act: keyAct, Handle: p.createKey},
		{Method: get, Path: "/apps/:app/:env/keys/new", Act: read, Handle: p.askNewKey},
		{Method: get, Path: "/apps/:app/:env/keys/:key/rotate", Act: read, Handle: p.askRotate},
		{Method: post, Path: "/apps/:app/:env/keys/:key/rotate", Act: keyAct, Handle: p.rotateKey},
		{Method: get, Path: "/apps/:app/:env/keys/:key/revoke", Act: read, Handle: p.askRevoke},
		{Method: post, Path: "/apps/:app/:env/keys/:key/revoke", Act: keyAct, Handle: p.revokeKey},

		{Method: get, Path: "/search", Act: read, Handle: p.search},
		{Method: get, Path: "/requests", Act: read, Handle: p.listRequests},
		{Method: get, Path: "/requests/:request", Act: read, Handle: p.showRequest},
		{Method: get, Path: "/errors", Act: read, Handle: p.listErrors},
		{Method: get, Path: "/usage", Act: read, Handle: p.showUsage},
		{Method: get, Path: "/usage.csv", Act: read, Handle: p.usageCSV},

		{Method: get, Path: "/deliveries", Act: read, Handle: p.listDeliveries},
		{Method: get, Path: "/deliveries/:delivery", Act: read, Handle: p.showDelivery},
		{Method: get, Path: "/deliveries/:delivery/cancel", Act: read, Handle: p.askCancel},
		{Method: post, Path: "/deliveries/:delivery/cancel", Act: pages.Always(domain.ActSimulate), Handle: p.cancelDelivery},
		{Method: get, Path: "/deliveries/:delivery/move", Act: read, Handle: p.showDelivery},
		{Method: post, Path: "/deliveries/:delivery/move", Act: pages.Always(domain.ActSimulate), Handle: p.moveDelivery},
		{Method: get, Path: "/deliveries/:delivery/simulate", Act: read, Handle: p.showDelivery},
		{Method: post, Path: "/deliveries/:delivery/simulate", Act: pages.Always(domain.ActSimulate), Handle: p.simulateDelivery},
		{Method: get, Path: "/deliveries/:delivery/stop", Act: read, Handle: p.showDelivery},
		{Method: post, Path: "/deliveries/:delivery/stop", Act: pages.Always(domain.ActSimulate), Handle: p.stopSimulation},

		{Method: get, Path: pickupsAt, Act: read, Handle: p.listPickups},
		{Method: get, Path: pickupsAt + "/:env", Act: read, Handle: p.listPickups},
		{Method: post, Path: pickupsAt + "/:env", Act: locationAct, Handle: p.createPickup},
		{Method: get, Path: pickupsAt + "/:env/new", Act: read, Handle: p.askNewPickup},
		{Method: get, Path: pickupsAt + "/:env/import", Act: locationAct, Handle: p.askImport},
		{Method: post, Path: pickupsAt + "/:env/import", Act: locationAct, Handle: p.previewImport, MaxForm: maxImportForm, TooLarge: tooLargeTable},
		{Method: get, Path: pickupsAt + "/:env/import/template.csv", Act: locationAct, Handle: p.downloadTemplate},
		{Method: get, Path: pickupsAt + "/:env/import/rows", Act: locationAct, Handle: p.askImport},
		{Method: post, Path: pickupsAt + "/:env/import/rows", Act: locationAct, Handle: p.importPickups, MaxForm: maxImportForm, TooLarge: tooLargeTable},
		{Method: get, Path: pickupsAt + "/:env/:location", Act: read, Handle: p.showPickup},
		{Method: post, Path: pickupsAt + "/:env/:location", Act: locationAct, Handle: p.changePickup},

		{Method: get, Path: "/webhooks", Act: read, Handle: p.listEndpoints},
		{Method: post, Path: "/webhooks", Act: secrets, Handle: p.createEndpoint},
		{Method: get, Path: "/webhooks/new", Act: read, Handle: p.askNewEndpoint},
		{Method: get, Path: "/webhooks/verify", Act: read, Handle: p.showBench},
		{Method: post, Path: "/webhooks/verify", Act: read, Handle: p.examineWebhook},
		{Method: get, Path: "/webhooks/:endpoint", Act: read, Handle: p.showEndpoint},
		{Method: get, Path: "/webhooks/:endpoint/edit", Act: read, Handle: p.askEdit},
		{Method: post, Path: "/webhooks/:endpoint/edit", Act: hooks, Handle: p.editEndpoint},
		{Method: get, Path: "/webhooks/:endpoint/pause", Act: read, Handle: p.showEndpoint},
		{Method: post, Path: "/webhooks/:endpoint/pause", Act: hooks, Handle: p.pauseEndpoint},
		{Method: get, Path: "/webhooks/:endpoint/resume", Act: read, Handle: p.showEndpoint},
		{Method: post, Path: "/webhooks/:endpoint/resume", Act: hooks, Handle: p.resumeEndpoint},
		{Method: get, Path: "/webhooks/:endpoint/rotate", Act: read, Handle: p.askRotateSecret},
		{Method: post, Path: "/webhooks/:endpoint/rotate", Act: secrets, Handle: p.rotateSecret},
		{Method: get, Path: "/webhooks/:endpoint/test", Act: read, Handle: p.showEndpoint},
		{Method: post, Path: "/webhooks/:endpoint/test", Act: hooks, Handle: p.testEndpoint},
		{Method: get, Path: "/webhooks/:endpoint/delete", Act: read, Handle: p.askDeleteEndpoint},
		{Method: post, Path: "/webhooks/:endpoint/delete", Act: hooks, Handle: p.deleteEndpoint},
		{Method: get, Path: "/webhooks/:endpoint/recover", Act: read, Handle: p.askRecover},
		{Method: post, Path: "/webhooks/:endpoint/recover", Act: resend, Handle: p.recoverWebhooks},
		{Method: get, Path: "/webhooks/:endpoint/sent/:sent", Act: read, Handle: p.showSent},
		{Method: get, Path: "/webhooks/:endpoint/sent/:sent/resend", Act: read, Handle: p.showSent},
		{Method: post, Path: "/webhooks/:endpoint/sent/:sent/resend", Act: resend, Handle: p.resendWebhook},

		{Method: get, Path: "/sandbox", Act: read, Handle: p.showSandbox},
		{Method: get, Path: "/sandbox/book", Act: read, Handle: p.showSandbox},
		{Method: post, Path: "/sandbox/book", Act: pages.Always(domain.ActSimulate), Handle: p.bookSample},
		{Method: get, Path: "/sandbox/card", Act: read, Handle: p.showSandboxCard},
		{Method: get, Path: "/sandbox/inbox", Act: read, Handle: p.streamInbox},
		{Method: post, Path: "/sandbox/inbox", Act: pages.Always(domain.ActSimulate), Handle: p.openInbox},

		{Method: get, Path: "/audit", Act: pages.Always(domain.ActReadAudit), Handle: p.listAudit},
		{Method: get, Path: "/audit.csv", Act: pages.Always(domain.ActReadAudit), Handle: p.auditCSV},

		{Method: get, Path: "/account/business", Act: read, Handle: p.askBusiness},
		{Method: post, Path: "/account/business", Act: read, Handle: p.showBusiness},
	}
}
