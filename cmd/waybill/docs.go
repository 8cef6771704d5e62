package main

import (
	"waybill/adapters/cli/settings"
	"waybill/adapters/docsite"
	"waybill/adapters/httpapi"
	"waybill/configs"
)

// newDocs is the documentation, to stand beside the sandbox API: nothing there
// needs a key, and its reference calls the API of its own origin only.
func newDocs(c *configs.Config, urls settings.PublicURLs) httpapi.Site {
	limits := newLimits(c)
	site := docsite.New(docsite.Options{
		Description:    func() []byte { return httpapi.Described(httpapi.OpenAPIJSON(), urls.Live, urls.Sandbox) },
		SandboxBaseURL: urls.Sandbox, LiveBaseURL: urls.Live,
		PerKey: limits.PerKey, PerBusiness: limits.PerBusiness, PerAddress: limits.PerAddress,
		Schedules: newSchedules(c), IdempotencyRetention: c.IdempotencyRetention,
	})
	return httpapi.Site{Prefix: docsite.Prefix, Handler: site, Home: true}
}
