// Package waybillapi is the client of the Waybill Delivery API in Go.
//
// A Client has a method for every operation, and a type for every schema. oapi-codegen
// generates both, in api.gen.go, from the OpenAPI description of the API. The other files
// are written by hand: retries of what is safe to repeat, typed errors, pages of lists, and
// the verification of webhooks.
//
//	client, err := waybillapi.New(
//		waybillapi.WithBaseURL("http://127.0.0.1:8081/v1"),
//		waybillapi.WithAPIKey(os.Getenv("WAYBILL_TEST_KEY")),
//	)
//	...
//	delivery, err := client.CreateDelivery(ctx, waybillapi.NewIdempotencyKey(), waybillapi.DeliveryRequest{...})
//	if waybillapi.HasCode(err, waybillapi.CodeExternalIDConflict) {
//		...
//	}
//
// An optional field is a plain value where its zero value cannot be meant, and a
// pointer where it can. Money is a float64 as it stands on the wire, with two
// decimals at most; round before you add.
//
// The package needs the standard library of Go 1.24 or later and nothing else, so
// that the folder can be copied. It keeps no state but the connections of its
// http.Client, and a Client may be used by many goroutines.
//
// Decisions that bind this package:
//
//   - oapi-codegen's own types are used, and not its own client: that one has 32,000 lines,
//     returns HTTP responses, and needs a module at run time. A template of 50 lines writes
//     methods that call the handwritten code here. An overlay turns alternatives of the
//     description, such as the two forms of Payment, into one struct.
//   - It does not refuse what it does not know: new fields, event types and error
//     codes come within a version. Nor does it check a request before it is sent;
//     the answer of the service says more, and is always up to date.
//   - A key of a create is the caller's, as only the caller knows whether two
//     creates are one. A write that merely accepts a key is given a fresh one, so
//     that its retries are one call.
package waybillapi
