package docsite

// retry tells whether and how to retry the refused request.
type retry struct {
	Short string // in lists
	Long  string
}

var (
	mendFirst = retry{"after a fix", "The same request fails again. Fix it, then send it. You can keep the `Idempotency-Key`: nothing was " +
		"created with it."}
	otherKey = retry{"with a new key", "Not with this key. Send a new request with a new key. If you wanted to retry, send exactly what you " +
		"sent the first time."}
	never    = retry{"no", "Do not retry. A person has to change something first. Stop and raise an alert."}
	waitTold = retry{"after `Retry-After`", "Yes. Wait for the number of seconds in the header `Retry-After`. Then send the same request " +
		"again, with the same `Idempotency-Key` if it had one."}
	backOff = retry{"with growing waits", "Yes. Send the same request with the same `Idempotency-Key` after 1 s, 2 s, 4 s and so on. Make " +
		"each wait a little random. Nothing is created twice."}
	anew = retry{"without the cursor", "The same cursor fails again. Start without a cursor; a program can do that by itself. Raise an " +
		"alert that events may be missing."}
	notInThis = retry{"when the record has changed", "Not while the record is in this state. Read it, then send a request that its state " +
		"allows."}
)

// explanation holds the texts of the page about a code, in Markdown. A link to a guide is its path
// below the site.
type explanation struct {
	code   string
	what   string
	causes []string
	todo   []string
	retry  retry
}

// explanations lists the pages about codes, in the order of the index.
var explanations = append(requestErrors, stateErrors...)

// requestErrors are about what the request contains.
var requestErrors = []explanation{
	{
		code: "INVALID_REQUEST", retry: mendFirst,
		what: "The request does not have the form that this call accepts. Nothing was created.",
		causes: []string{
			"A field or query parameter that does not exist. Names are exact and case matters. `details.suggestion` has a similar name if there " +
				"is one.",
			"The body is not one JSON object. It is cut off, has something after its end, has a name twice, or is not UTF-8. `details.line` and " +
				"`details.column` show where.",
			"A body on a call that takes none.",
		},
		todo: []string{"Fix the field in `details.field`, or the place in the body.",
			"Write JSON with a library. Do not join strings."},
	},
	{
		code: "SANDBOX_ONLY_FIELD", retry: mendFirst,
		what:   "A request to live has the field `sandbox`. Only simulated deliveries have it. Nothing was created, in a bulk request either.",
		causes: []string{"Test code is running in production.", "A test uses the live address."},
		todo:   []string{"Do not send `sandbox` on live. Add it in the same place where your code chooses the base URL."},
	},
	{
		code: "IDEMPOTENCY_KEY_REQUIRED", retry: mendFirst,
		what:   "This call creates a record and needs an `Idempotency-Key`. Without it a retry could create the record twice.",
		causes: []string{"The header is missing or empty.", "Your HTTP library dropped it on a redirect. Call the final address."},
		todo: []string{"Generate a UUID when the order is placed. Store it with your order and send it with every attempt. See " +
			"[Idempotency and retries](/idempotency)."},
	},
	{
		code: "INVALID_API_KEY", retry: never,
		what: "The request has no API key, or one that we do not know.",
		causes: []string{
			"`details.reason` is `missing`: there is no `Authorization` header.",
			"`malformed`: the header is not `Bearer`, one space and the key. Or the key is cut off or mistyped: its checksum does not match.",
			"`unknown`: no application has this key, or its application is disabled.",
		},
		todo: []string{
			"Send `Authorization: Bearer svc_test_key_...` to the sandbox, and `svc_live_key_...` to live.",
			"Copy the complete key. A lost key cannot be shown again. Create a new one in the developer portal.",
			"Call `GET /api-key` to see which key you send. See [Authentication](/authentication).",
		},
	},
	{
		code: "ENVIRONMENT_MISMATCH", retry: never,
		what:   "The key is valid, but for the other environment. Live keys work on the live host, test keys on the sandbox host.",
		causes: []string{"Base URL and key come from different settings. `details` has the environment of each."},
		todo:   []string{"Store base URL and key as one setting. See [Environments](/authentication#environments)."},
	},
	{
		code: "API_KEY_REVOKED", retry: never,
		what: "This key was revoked and does not work any more.",
		causes: []string{"It was replaced, and one of your programs still has the old key.",
			"It was revoked because it leaked."},
		todo: []string{
			"Deploy the new key. The developer portal shows which program still sends the old one.",
			"If you did not expect this, find out who revoked it before you create another.",
		},
	},
	{
		code: "API_KEY_EXPIRED", retry: never,
		what:   "This key had an expiry date, and the date has passed.",
		causes: []string{"It was not replaced in time."},
		todo: []string{"Create a new key in the developer portal and deploy it.",
			"`GET /api-key` shows `expires_at`. Set an alert a week before it."},
	},
	{
		code: "INSUFFICIENT_SCOPE", retry: never,
		what: "The key is valid, but it does not have the scope for this call.",
		causes: []string{"The key was created with fewer scopes than your program needs. `details` has the scope that is missing and " +
			"those of the key."},
		todo: []string{"Create a key with `details.required_scope`. The scopes of a key cannot be changed. The [table of " +
			"scopes](/authentication#scopes) shows what each allows."},
	},
	{
		code: "NOT_FOUND", retry: never,
		what: "There is nothing at this address, or no record with this ID that your key can see. IDs that are malformed, unknown or belong to " +
			"somebody else get the same error.",
		causes: []string{
			"The ID is from the other environment or another application, or it is cut off. The prefix, such as `dlv_`, is part of the ID.",
			"Another application of your business created the delivery.",
			"A `recipient_id` or `recipient_address_id` in the body does not exist, or the address belongs to another recipient.",
			"The path does not exist, such as a test helper on live. `message` may name the right path.",
		},
		todo: []string{"Call `GET /api-key`. Compare environment and application with those that created the ID."},
	},
	{
		code: "METHOD_NOT_ALLOWED", retry: mendFirst,
		what:   "The address exists, but not for this method.",
		causes: []string{"GET and POST are mixed up.", "A redirect by a proxy turned POST into GET."},
		todo:   []string{"Use a method from the header `Allow`."},
	},
	{
		code: "PAYLOAD_TOO_LARGE", retry: mendFirst,
		what:   "The body is too large. The maximum is 64 KiB, and 1 MiB for a bulk request.",
		causes: []string{"Too many items or too long texts in one request."},
		todo:   []string{"Split a bulk request into several. Give each its own `Idempotency-Key`."},
	},
	{
		code: "UNSUPPORTED_MEDIA_TYPE", retry: mendFirst,
		what: "The headers say that the body is not plain JSON.",
		causes: []string{"`curl -d` without a `Content-Type` header sends the type of a form.",
			"The body is compressed. `Content-Encoding` is not supported."},
		todo: []string{"Send `Content-Type: application/json` and uncompressed JSON."},
	},
	{
		code: "VALIDATION_ERROR", retry: mendFirst,
		what: "The request can be read, but some values are not valid. All invalid fields are listed at once.",
		causes: []string{
			"`details.fields` has an entry for each field: `field`, `code` and `message`. See [Field errors](/errors#field-errors).",
			"Coordinates outside our service area. Often latitude and longitude are swapped.",
			"A number sent as a string, an amount with three decimals, or a `cursor` with other filters.",
		},
		todo: []string{"If a person typed the value, show `message` next to the field. If a program made it, fix the program.",
			"Then check again: conflicts between fields are reported only when each field is valid."},
	},
	{
		code: "RECIPIENT_SHAPE_CONFLICT", retry: mendFirst,
		what:   "The request does not name exactly one recipient.",
		causes: []string{"It has `recipient` together with an ID, only one of `recipient_id` and `recipient_address_id`, or none of them."},
		todo:   []string{"Send `recipient` alone, or both IDs."},
	},
	{
		code: "PICKUP_SHAPE_CONFLICT", retry: mendFirst,
		what:   "The request does not name exactly one pickup place.",
		causes: []string{"It has both `pickup` and `pickup_location_id`, or neither."},
		todo:   []string{"Send one of them."},
	},
	{
		code: "PICKUP_LOCATION_NOT_FOUND", retry: mendFirst,
		what:   "Your business has no pickup location with this `pickup_location_id` in this environment.",
		causes: []string{"The ID is from the other environment, or mistyped. Sandbox and live have separate pickup locations."},
		todo:   []string{"List them with `GET /pickup-locations` and the same key."},
	},
	{
		code: "PICKUP_LOCATION_LIMIT", retry: never,
		what:   "Your business has the maximum number of pickup locations in this environment.",
		causes: []string{"A program saves a new location for each order."},
		todo: []string{"Send `pickup` for places that are used once. Change a location that is no longer used with " +
			"`PATCH /pickup-locations/{id}`. Locations cannot be deleted."},
	},
	{
		code: "PICKUP_LOCATION_INACTIVE", retry: mendFirst,
		what:   "The pickup location is not active.",
		causes: []string{"Your business switched it off."},
		todo:   []string{"Use another one, or activate it: `PATCH /pickup-locations/{id}` with `{\"active\": true}`."},
	},
	{
		code: "PICKUP_LOCATION_INCOMPLETE", retry: mendFirst,
		what:   "The pickup location has no contact or no coordinates. A rider needs both.",
		causes: []string{"It was saved without them. `details.missing` lists the fields."},
		todo:   []string{"Add them with `PATCH /pickup-locations/{id}`. Then send the request again."},
	},
	{
		code: "COD_GOODS_VALUE_REQUIRED", retry: mendFirst,
		what:   "The order is paid on delivery, but has no amount.",
		causes: []string{"`payment.type` is `cod`, and `payment.goods_value` is missing, null, zero or negative."},
		todo: []string{"Send the amount that the rider collects, with at most two decimals. If there is nothing to collect, send " +
			"`delivery_only`."},
	},
	{
		code: "BULK_VALIDATION_FAILED", retry: mendFirst,
		what: "At least one item of the bulk request is not valid, so none was booked.",
		causes: []string{"`details.errors` lists every problem: the `index` of the item from 0, the `code` that a single create would have, a " +
			"`message`, and the `field` if there is one."},
		todo: []string{"Fix the items or leave them out, and send the bulk request again. See [Bulk](/bulk)."},
	},
	{
		code: "DUPLICATE_EXTERNAL_ID", retry: mendFirst,
		what: "Two items of one bulk request have the same `external_id`. The code is inside `BULK_VALIDATION_FAILED`, at the second item and " +
			"each later one.",
		causes: []string{"An order is in the batch twice."},
		todo:   []string{"Remove the repeated item. If you want two deliveries, give each its own `external_id`."},
	},
}
