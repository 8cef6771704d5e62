package httpapi

import (
	"net/http"

	"waybill/adapters/web"
	"waybill/adapters/web/views"
)

func (a *API) showAPIKey(c *call) (reply, error) {
	perKey, perBusiness := a.Admission.LimitsOf(&c.grant.Credential)
	return ok("This is the key you sent.", views.NewAPIKey(c.grant.Credential, perKey, perBusiness)), nil
}

func (a *API) openAPIJSON(*call) (reply, error) {
	return reply{status: http.StatusOK, contentType: web.JSONType, body: a.descriptionJSON()}, nil
}

func (a *API) openAPIYAML(*call) (reply, error) {
	return reply{status: http.StatusOK, contentType: "application/yaml; charset=utf-8", body: a.descriptionYAML()}, nil
}
