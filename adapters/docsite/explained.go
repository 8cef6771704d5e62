package docsite

// retry tells whether and how to retry the refused request.
type retry struct {
	Short string // in lists
	Long  string
}

var (
	mendFirst = retry{"after a change", "The same request fails again. Change it, then send it; the `Idempotency-Key` of a refused create " +
		"is free again and may carry the corrected body."}
	otherKey = retry{"under a new key", "Not under this key. If it is a new request, send it under a new one; if it was meant as a retry, " +
		"send exactly what was sent the first time."}
	never    = retry{"no", "Not by itself: a person has to change something first. Stop and raise an alarm instead of trying on."}
	waitTold = retry{"after `Retry-After`", "Yes. Wait as many seconds as the header `Retry-After` says, then send the identical request " +
		"again, with the same `Idempotency-Key` where it had one."}
	backOff = retry{"with growing pauses", "Yes. Send the identical request with the same `Idempotency-Key` after 1 s, 2 s, 4 s and so " +
		"on, each a little shorter or longer at random. Nothing is created twice."}
	anew = retry{"without the cursor", "The same cursor fails again. Begin without one; a program can do that by itself, and should " +
		"raise an alarm that events may be missing."}
	notInThis = retry{"when the record has changed",
		"Not as long as the record is as it is. Read it, decide, and send what fits its state now."}
)

// explanation holds the page about a code, in the inline notation of this package.
type explanation struct {
	code   string
	what   string
	causes []string
	todo   []string
	retry  retry
}

// explanations lists the pages about codes, in the order of the index.
var explanations = append(requestErrors, stateErrors...)

var requestErrors = []explanation{
	{
		code: "INVALID_REQUEST", retry: mendFirst,
		what: "The request does not have the form that this call takes. It was not examined further, and nothing was created.",
		causes: []string{
			"A field name or query parameter that does not exist, often misspelt: names are exact, `details.suggestion` has the one it resembles.",
			"The body is not one JSON object: cut off, something after its end, a name twice, not UTF-8. `details.line` and `details.column` " +
				"point at it.",
			"A body on a call that takes none.",
		},
		todo: []string{"Correct the field named in `details.field`, or the place in the body. Serialize with a JSON library instead of joining " +
			"strings."},
	},
	{
		code: "SANDBOX_ONLY_FIELD", retry: mendFirst,
		what: "An order for the live host carries `sandbox`, which only simulated deliveries have. Nothing was created, not even other " +
			"orders of a bulk.",
		causes: []string{"Code for tests that reached production, or a test that calls the live address."},
		todo:   []string{"Leave `sandbox` out on live. Add it where the base address is chosen, so that they always change together."},
	},
	{
		code: "IDEMPOTENCY_KEY_REQUIRED", retry: mendFirst,
		what:   "The call creates a record and came without an `Idempotency-Key`, so that a retry could create it twice.",
		causes: []string{"The header is missing or empty. Some HTTP libraries drop headers on redirects; call the address itself."},
		todo: []string{"Generate a UUID when the order is placed, store it with your order, and send it with every try. See " +
			"[Idempotency](/idempotency)."},
	},
	{
		code: "INVALID_API_KEY", retry: never,
		what: "No key came, or none that we know.",
		causes: []string{
			"`details.reason` `missing`: there is no `Authorization` header.",
			"`malformed`: not `Bearer`, one space and the key; or a key that was cut off or mistyped, as its checksum shows.",
			"`unknown`: no application has this key, or its application is disabled.",
		},
		todo: []string{
			"Send `Authorization: Bearer svc_test_key_...` in the sandbox, `svc_live_key_...` on live.",
			"Copy the key whole from where it was shown. A lost key cannot be shown again; make a new one in the developer portal.",
			"Find out which key is sent: `GET /api-key` answers for any that works.",
		},
	},
	{
		code: "ENVIRONMENT_MISMATCH", retry: never,
		what:   "The key is good, but for the other environment. Live keys open the live host only, test keys the sandbox only.",
		causes: []string{"Address and key come from different settings. `details` names the environment of each."},
		todo:   []string{"Keep base address and key together as one setting."},
	},
	{
		code: "API_KEY_REVOKED", retry: never,
		what:   "This key was revoked and opens nothing any more.",
		causes: []string{"It was replaced and one of your processes still has the old one, or it was revoked because it leaked."},
		todo: []string{
			"Deploy the key that replaced it. The developer portal shows which program still sends the old one.",
			"If you did not expect this, find out who revoked it before making another.",
		},
	},
	{
		code: "API_KEY_EXPIRED", retry: never,
		what:   "This key was made with an expiry date, and that has passed.",
		causes: []string{"It was not replaced in time."},
		todo:   []string{"Make a new key, in the developer portal, and deploy it. `GET /api-key` shows `expires_at`: alarm a week before."},
	},
	{
		code: "INSUFFICIENT_SCOPE", retry: never,
		what:   "The key is good but may not make this call.",
		causes: []string{"It was made with fewer scopes than your program uses. `details` has the one that is needed and those it has."},
		todo: []string{"Have a key with `details.required_scope` made; scopes of a key do not change. The [table of scopes](/limits#scopes) " +
			"says what each allows."},
	},
	{
		code: "NOT_FOUND", retry: never,
		what: "There is nothing at this address, or nothing with this ID that your key may see. Malformed, unknown and foreign IDs answer " +
			"alike, on purpose.",
		causes: []string{
			"The ID is of the other environment, another application, or cut off. Its prefix, such as `dlv_`, is part of it.",
			"A delivery that another application of your business made.",
			"A `recipient_id` or `recipient_address_id` in a body that is not yours, or an address of another recipient.",
			"A path that does not exist, such as a test helper on the live host.",
		},
		todo: []string{"Compare environment and application of the key with those the ID was made under: `GET /api-key` shows both."},
	},
	{
		code: "METHOD_NOT_ALLOWED", retry: mendFirst,
		what:   "The address exists, but not for this method.",
		causes: []string{"GET and POST confused, or a redirect by a proxy that turned POST into GET."},
		todo:   []string{"Use one of the methods in the header `Allow`."},
	},
	{
		code: "PAYLOAD_TOO_LARGE", retry: mendFirst,
		what:   "The body is larger than this call takes: 64 KiB, or 1 MiB for a bulk create.",
		causes: []string{"Too many or too long texts in one request."},
		todo:   []string{"Split a bulk into several, each with an `Idempotency-Key` of its own."},
	},
	{
		code: "UNSUPPORTED_MEDIA_TYPE", retry: mendFirst,
		what:   "The body says that it is something other than plain JSON.",
		causes: []string{"`curl -d` without a header announces a form.", "The body is compressed: `Content-Encoding` is not taken."},
		todo:   []string{"Send `Content-Type: application/json` and the JSON as it is."},
	},
	{
		code: "VALIDATION_ERROR", retry: mendFirst,
		what: "The request can be read, but values in it are not acceptable. All problems of single fields are told at once; shape conflicts " +
			"and the `goods_value` of cod come after.",
		causes: []string{
			"`details.fields` has each one: `field`, a `code` (`required`, `too_short`, `too_long`, `out_of_range`, `invalid_format`, " +
				"`invalid_type`, `not_allowed`) and a `message`.",
			"Coordinates outside the area we serve, or latitude and longitude the wrong way round.",
			"A number sent as text, an amount with three decimals, a `cursor` used with other filters.",
		},
		todo: []string{"Show each `message` at its field where a person typed it. Where a program made it, correct the program."},
	},
	{
		code: "RECIPIENT_SHAPE_CONFLICT", retry: mendFirst,
		what: "It is not clear who receives the delivery.",
		causes: []string{"`recipient` came together with `recipient_id` or `recipient_address_id`, or only one of the two IDs came, or " +
			"none of all."},
		todo: []string{"Send either `recipient` alone, or both IDs."},
	},
	{
		code: "PICKUP_SHAPE_CONFLICT", retry: mendFirst,
		what:   "It is not clear where to collect.",
		causes: []string{"`pickup` and `pickup_location_id` came both, or neither did."},
		todo:   []string{"Send exactly one of them."},
	},
	{
		code: "PICKUP_LOCATION_NOT_FOUND", retry: mendFirst,
		what:   "The `pickup_location_id` is not one of your business in this environment.",
		causes: []string{"An ID of the other environment, or a mistyped one. Sandbox and live have pickup locations of their own."},
		todo:   []string{"List them with `GET /pickup-locations` and the same key."},
	},
	{
		code: "PICKUP_LOCATION_LIMIT", retry: never,
		what:   "Your business has as many pickup locations in this environment as it may have.",
		causes: []string{"A program that saves a location for each order, instead of sending `pickup`."},
		todo: []string{"Send `pickup` for places that are used once. Change a location that is no longer used with " +
			"`PATCH /pickup-locations/{id}`; none can be deleted."},
	},
	{
		code: "PICKUP_LOCATION_INACTIVE", retry: mendFirst,
		what:   "The pickup location is switched off.",
		causes: []string{"Your business closed it, for good or for a while."},
		todo:   []string{"Use another one, or switch it on: `PATCH /pickup-locations/{id}` with `{\"active\": true}`."},
	},
	{
		code: "PICKUP_LOCATION_INCOMPLETE", retry: mendFirst,
		what:   "The pickup location lacks what a rider needs to collect there.",
		causes: []string{"It was saved without a contact or coordinates. `details.missing` has the fields."},
		todo:   []string{"Add them with `PATCH /pickup-locations/{id}`, then send the order again."},
	},
	{
		code: "COD_GOODS_VALUE_REQUIRED", retry: mendFirst,
		what:   "The order is paid on delivery, but does not say how much.",
		causes: []string{"`payment.goods_value` is missing, null, zero or negative with `payment.type` `cod`."},
		todo:   []string{"Send the amount the rider collects, with at most two decimals; or `delivery_only` where there is nothing to collect."},
	},
	{
		code: "BULK_VALIDATION_FAILED", retry: mendFirst,
		what: "At least one item of the bulk is not acceptable, so none was booked.",
		causes: []string{"`details.errors` lists every problem of every item: its `index` from 0, a `code` as a single create would answer, a " +
			"`message`, and the `field` where one is to blame."},
		todo: []string{"Correct the items and send the whole bulk again, or leave the bad ones out. You may keep the key: nothing was created " +
			"under it."},
	},
	{
		code: "DUPLICATE_EXTERNAL_ID", retry: mendFirst,
		what: "Two items of one bulk have the same `external_id`. It is told inside `BULK_VALIDATION_FAILED`, at the second item and every " +
			"later one.",
		causes: []string{"An order was put into the batch twice."},
		todo:   []string{"Take the repeated item out. If they are two deliveries, give each its own `external_id`."},
	},
}
