// Package pricingserver serves the pricing protocol from any ports.Pricing, so that the
// built-in tariff can run as a service of its own.
//
//	POST /prices  {"environment":"live","vehicle_type":"bike","currency":"GHS",
//	               "pickup":{"latitude":5.56,"longitude":-0.2},"dropoff":{"latitude":5.6,"longitude":-0.19}}
//	GET  /healthz
//
// Every response is JSON. /prices responds 200 with the price, 422 for a point outside the
// service area, 400 for a request that is not exactly of this form, and 503 when there is no
// price now. Package httppricing is the client.
//
// It has no authentication: run it in a network that only its clients reach. It is strict where
// the client is lenient, because an unknown field of a request, such as a discount, would
// change the price.
package pricingserver
