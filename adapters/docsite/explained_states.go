package docsite

var stateErrors = []explanation{
	{
		code: "IDEMPOTENCY_CONFLICT", retry: otherKey,
		what: "This `Idempotency-Key` was used for a different request. Yours was not carried out.",
		causes: []string{"A key made from something that repeats, such as an order number or the day.",
			"The body changed between two tries: a time stamp in it, a re-read price."},
		todo: []string{"New request, new key. For a retry, store the body beside the key and send both unchanged. `details.first_used_at` " +
			"helps to find the first one in your log."},
	},
	{
		code: "IDEMPOTENCY_IN_PROGRESS", retry: waitTold,
		what: "The first request with this key has not ended, or was cut off and waits to be taken up again.",
		causes: []string{"A time-out on your side that is shorter than the call took, and a retry at once.",
			"Two of your workers took the same job.", "A bulk create was interrupted: it goes on only when you send it again."},
		todo: []string{"Send the identical request again after `Retry-After`. You get the answer of the first, or a bulk goes on where it " +
			"stopped. Never change the key here."},
	},
	{
		code: "EXTERNAL_ID_CONFLICT", retry: never,
		what:   "Your application has a delivery with this `external_id` already. It stays taken for good, also after a cancellation.",
		causes: []string{"The same order was sent again under a new `Idempotency-Key`.", "Two shops number their orders alike."},
		todo: []string{"Read `details.delivery_id`: most often it is the delivery you wanted, and you are done.",
			"If it is another delivery on purpose, choose another `external_id`, such as `order-1001-2`."},
	},
	{
		code: "DELIVERY_NOT_CANCELLABLE", retry: never,
		what: "The goods were picked up once, so the delivery can no longer be cancelled. That holds for a retry after a failure too.",
		causes: []string{"The rider was faster. `details.status` is where the delivery stands.",
			"It failed at the door: the goods were collected before that. A delivery that failed before pickup can be cancelled."},
		todo: []string{"Tell the person who asked. Follow the delivery to its end, and talk to our support about a return."},
	},
	{
		code: "SANDBOX_TRANSITION_INVALID", retry: notInThis,
		what:   "The test helper was asked for a status that does not follow the present one.",
		causes: []string{"A step was left out, such as `booked` to `delivered`; or the delivery is at its end."},
		todo:   []string{"Ask for one of `details.allowed_statuses`. The [table of moves](/sandbox#moves) has all of them."},
	},
	{
		code: "SIMULATION_RUNNING", retry: notInThis,
		what:   "A scenario moves this delivery; other moves are refused meanwhile.",
		causes: []string{"The order named a scenario, or one was started. `details` says how far it is."},
		todo:   []string{"Wait for its end, or stop it with `DELETE /test-helpers/deliveries/{delivery_id}/simulation` and go on by hand."},
	},
	{
		code: "SIMULATION_NOT_APPLICABLE", retry: notInThis,
		what:   "The scenario makes no sense with this delivery.",
		causes: []string{"`cod_refused` needs an order that is paid on delivery.", "A scenario starts only while the delivery is `booked`."},
		todo:   []string{"Choose from `details.applicable_scenarios`, or book a new delivery."},
	},
	{
		code: "SIMULATION_LIMIT", retry: waitTold,
		what: "Your application has as many running simulations as it may have.",
		causes: []string{"A load test with slow scenarios: `step_seconds` times the steps is how long each one counts.",
			"Simulations that were never stopped."},
		todo: []string{"Wait for one to end, use smaller `step_seconds`, or stop some. Deliveries without a scenario do not count."},
	},
	{
		code: "WEBHOOK_URL_NOT_ALLOWED", retry: mendFirst,
		what: "We do not send events to this address.",
		causes: []string{"On live: not `https`, a port other than 443 and 8443, an IP address instead of a host name, a name such as `.local`, " +
			"user and password or a fragment in the URL. The sandbox also takes `http` on ports 80 and 8080.",
			"The name does not resolve now, or resolves to a private address."},
		todo: []string{"`details.fields` says what is wrong. For a machine that cannot be reached from outside use `waybill listen` in the " +
			"sandbox."},
	},
	{
		code: "WEBHOOK_ENDPOINT_LIMIT", retry: never,
		what:   "Your application has as many webhook endpoints in this environment as it may have.",
		causes: []string{"Tests that make endpoints and leave them behind."},
		todo: []string{"Delete unused ones: `GET /webhook-endpoints`, then `DELETE /webhook-endpoints/{id}`. One endpoint can take all " +
			"types of events."},
	},
	{
		code: "WEBHOOK_ENDPOINT_DISABLED", retry: notInThis,
		what:   "The endpoint is switched off, so nothing can be sent to it.",
		causes: []string{"`details.disabled_reason`: `by_caller` (you did), `gone` (it answered 410), `failing` (it failed for days)."},
		todo: []string{"Repair the receiver, switch the endpoint on with `PATCH /webhook-endpoints/{id}` and `{\"enabled\": true}`, then " +
			"recover the webhooks that were held."},
	},
	{
		code: "RECOVERY_RUNNING", retry: notInThis,
		what: "A recovery of this endpoint is under way; there is one at a time.",
		causes: []string{"A second call while some webhooks of the first have not been tried yet.",
			"The endpoint is paused after many failures: they wait for the end of the pause."},
		todo: []string{"Let it end: `GET /webhook-endpoints/{id}/deliveries?status=pending` shows what is left. To end a pause, send `PATCH " +
			"/webhook-endpoints/{id}` with `{\"enabled\": true}`."},
	},
	{
		code: "CURSOR_EXPIRED", retry: anew,
		what: "Events after this cursor of the feed are no longer kept, so that going on from it would skip some silently.",
		causes: []string{
			"The cursor was not used for longer than events are kept, which is 30 days.",
			"The service was restored from a backup to a state from before this cursor was given out.",
		},
		todo: []string{
			"Begin again without a cursor, and pass over events whose `id` you have seen. `details.oldest_available_at` is the time of the oldest " +
				"one that is kept.",
			"For older events list deliveries with `created_after`, and read their timelines, which are kept.",
		},
	},
	{
		code: "RATE_LIMIT_EXCEEDED", retry: waitTold,
		what: "More requests came than the limit allows. This one was not carried out.",
		causes: []string{
			"`details.scope` names the limit: `key`, `business`, `concurrency` (requests in flight at once; lists, searches and pages of " +
				"events among them; or bulks), `address` (failed authentications from one address), or `endpoint` (test events).",
			"Polling every delivery instead of taking webhooks or the feed.",
		},
		todo: []string{"Wait, then go on more slowly: the `RateLimit-` headers of every answer say what is left.",
			"Book in bulk, read with `If-None-Match`, and see [Limits](/limits)."},
	},
	{
		code: "QUOTE_UNAVAILABLE", retry: waitTold,
		what: "There is no price for this trip at the moment, and without one nothing is booked. We never invent a price.",
		causes: []string{"The service that makes prices, or the one that measures the way, does not answer, or has no answer for this trip. " +
			"Other trips may be priced meanwhile."},
		todo: []string{"Keep the order and send it again, same key, same body. Let a shop offer delivery without a shown price meanwhile."},
	},
	{
		code: "SERVICE_UNAVAILABLE", retry: waitTold,
		what: "The service cannot reach its data at the moment. It answers within 3 seconds, within 8 where something is to be changed.",
		causes: []string{
			"The database restarts, moves to another machine, is slow or has no room.",
			"A bulk waited for its turn when its server was asked to stop, before a new version, for example. Nothing was booked.",
			"Another change of the same record has not ended yet: an import of many, or one that was cut off and ends by itself within seconds.",
			"A page of a list, a search or the feed would take the database more than a second: ask for less, such as a shorter time or " +
				"another filter.",
			"Too many requests, of your address or of all, are sending their bodies slowly. This one was not read: send each body at once, " +
				"and fewer at a time.",
		},
		todo: []string{
			"Wait as long as `Retry-After` says, then send the same request again. With its `Idempotency-Key` you get the answer of the first one " +
				"if that was carried out after all.",
			"A change that was sent without a key: look at the record first.",
		},
	},
	{
		code: "INTERNAL_SERVER_ERROR", retry: backOff,
		what:   "Something failed on our side, and we do not know whether the request was carried out.",
		causes: []string{"A defect of ours. It is logged, and we look at it."},
		todo: []string{"Send the same request again: with its `Idempotency-Key` you get the answer of the first if it was carried out.",
			"If it stays, write to us with the `X-Request-ID` of the answer."},
	},
}
