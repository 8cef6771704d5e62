package httpapi

import (
	"maps"
	"slices"

	"waybill/adapters/web/strictjson"
	"waybill/application/deliveries"
	"waybill/domain"
)

// ReadOrder reads the body of POST /deliveries, for a page with a form of the same fields.
func (a *API) ReadOrder(body []byte) (deliveries.Order, error) {
	root, bad := strictjson.Parse(body, orderShape)
	if bad != nil {
		return deliveries.Order{}, domain.Internal(bad) // the page has written it
	}
	return a.readOrder(&call{body: root})
}

// ForcedErrors lists the codes that X-Sandbox-Error accepts.
func ForcedErrors() []string { return slices.Sorted(maps.Keys(forcedErrors)) }
