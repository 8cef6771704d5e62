package docsite

// stateErrors are about the state of records, limits and services.
var stateErrors = []explanation{
	{
		code: "IDEMPOTENCY_CONFLICT", retry: otherKey,
		what: "This `Idempotency-Key` was used for a different request. Your request was not carried out.",
		causes: []string{"The key is made from something that repeats, such as an order number or a date.",
			"The body changed between two attempts, such as a timestamp or a price in it."},
		todo: []string{"Use a new key for a new request.",
			"For a retry, store the body with the key and send both unchanged. `details.first_used_at` helps to find the first request in " +
				"your log."},
	},
	{
		code: "IDEMPOTENCY_IN_PROGRESS", retry: waitTold,
		what: "The first request with this key has not finished, or was interrupted and can be resumed.",
		causes: []string{"Your timeout is shorter than the call took, and you retried at once.",
			"Two of your workers process the same job.", "A bulk request was interrupted. It continues only when you send it again."},
		todo: []string{"Send the same request again after `Retry-After`. You get the response of the first request, or the bulk request " +
			"continues where it stopped.",
			"Do not change the key."},
	},
	{
		code: "EXTERNAL_ID_CONFLICT", retry: never,
		what: "Your application already has a delivery with this `external_id`. An `external_id` can never be used again, also after a " +
			"cancellation.",
		causes: []string{"The same order was sent again with a new `Idempotency-Key`.", "Two shops use the same order numbers."},
		todo: []string{"Read `details.delivery_id`. In most cases it is the delivery you wanted, and you are done.",
			"If you want a second delivery, use another `external_id`, such as `order-1001-2`."},
	},
	{
		code: "DELIVERY_NOT_CANCELLABLE", retry: never,
		what: "The goods were picked up, so the delivery cannot be cancelled any more. This includes a new attempt after a failure.",
		causes: []string{"The rider was faster. `details.status` is the current status.",
			"The delivery failed after pickup. A delivery that failed before pickup can be cancelled."},
		todo: []string{"Tell the person who asked. Follow the delivery to its end, and ask [support](/support) about a return."},
	},
	{
		code: "SANDBOX_TRANSITION_INVALID", retry: notInThis,
		what:   "The test helper cannot move the delivery from its current status to this one.",
		causes: []string{"A step was skipped, such as `booked` to `delivered`.", "The current status is final."},
		todo:   []string{"Use one of `details.allowed_statuses`. The [table of steps](/sandbox#move-one-step) has all of them."},
	},
	{
		code: "SIMULATION_RUNNING", retry: notInThis,
		what:   "A scenario is moving this delivery. Nothing else can move it until the scenario ends.",
		causes: []string{"The delivery was booked with a scenario, or one was started. `details` shows its progress."},
		todo:   []string{"Wait for its end, or stop it with `DELETE /test-helpers/deliveries/{delivery_id}/simulation`."},
	},
	{
		code: "SIMULATION_NOT_APPLICABLE", retry: notInThis,
		what:   "The scenario does not fit this delivery.",
		causes: []string{"`cod_refused` needs payment type `cod`.", "A scenario can start only while the delivery is `booked`."},
		todo:   []string{"Choose one of `details.applicable_scenarios`, or book a new delivery."},
	},
	{
		code: "SIMULATION_LIMIT", retry: waitTold,
		what: "Your application has the maximum number of running simulations.",
		causes: []string{"A load test uses slow scenarios. A simulation runs for `step_seconds` times its steps.",
			"Simulations were never stopped."},
		todo: []string{"Wait until one ends, use a smaller `step_seconds`, or stop some. Deliveries without a scenario do not count."},
	},
	{
		code: "WEBHOOK_URL_NOT_ALLOWED", retry: mendFirst,
		what: "We do not send events to this URL.",
		causes: []string{"On live: not `https`, a port other than 443 and 8443, an IP address instead of a host name, a private name such as " +
			"`.local`, or a user, password or fragment in the URL. The sandbox also accepts `http` on ports 80 and 8080.",
			"The host name does not resolve now, or resolves to a private address."},
		todo: []string{"The receiver is on your own machine? You need no endpoint in the sandbox: run " +
			"`waybill listen --forward-to http://localhost:3000/webhooks/waybill`. See [Testing locally](/testing).",
			"Otherwise read `details.fields`. See [URL rules](/webhooks#url-rules)."},
	},
	{
		code: "WEBHOOK_ENDPOINT_LIMIT", retry: never,
		what:   "Your application has the maximum number of webhook endpoints in this environment.",
		causes: []string{"Tests create endpoints and do not delete them."},
		todo: []string{"Delete unused ones: `GET /webhook-endpoints`, then `DELETE /webhook-endpoints/{id}`. One endpoint can receive all " +
			"event types."},
	},
	{
		code: "WEBHOOK_ENDPOINT_DISABLED", retry: notInThis,
		what: "The endpoint is disabled, so nothing can be sent to it.",
		causes: []string{"`details.disabled_reason` is `by_caller` (you disabled it), `gone` (it answered 410) or `failing` (it failed for " +
			"days)."},
		todo: []string{"Fix the receiver. Enable the endpoint: `PATCH /webhook-endpoints/{id}` with `{\"enabled\": true}`. Then " +
			"[recover](/webhooks#recover-after-an-outage) the webhooks that were held."},
	},
	{
		code: "RECOVERY_RUNNING", retry: notInThis,
		what: "A recovery of this endpoint is running. There can be one at a time.",
		causes: []string{"Some webhooks of the first recovery have not been attempted yet.",
			"The endpoint is paused after many failures. The webhooks wait for the end of the pause."},
		todo: []string{"Wait for its end. `GET /webhook-endpoints/{id}/deliveries?status=pending` shows what is left.",
			"To end a pause, send `PATCH /webhook-endpoints/{id}` with `{\"enabled\": true}`."},
	},
	{
		code: "CURSOR_EXPIRED", retry: anew,
		what: "Events after this cursor of the events feed are deleted. Continuing from it would skip events.",
		causes: []string{
			"The cursor was not used for longer than we keep events, which is 30 days.",
			"The service was restored from a backup that is older than the cursor.",
		},
		todo: []string{
			"Start again without a cursor and ignore events whose `id` you have stored. `details.oldest_available_at` is the time of the oldest " +
				"event.",
			"For older events, list deliveries with `created_after` and read their timelines. Timelines are kept.",
		},
	},
	{
		code: "RATE_LIMIT_EXCEEDED", retry: waitTold,
		what: "There were more requests than a limit allows. This request was not carried out.",
		causes: []string{
			"`details.scope` names the limit: `key`, `business`, `concurrency` (requests, lists or bulk requests at the same time), `address` " +
				"(failed authentications from one address) or `endpoint` (test events).",
			"Your program polls each delivery instead of receiving webhooks or reading the events feed.",
		},
		todo: []string{"Wait, then send fewer requests. The `RateLimit-` headers of every response show what is left.",
			"Create in bulk, and poll with `If-None-Match`. See [Limits](/limits)."},
	},
	{
		code: "QUOTE_UNAVAILABLE", retry: waitTold,
		what: "There is no price for this trip at the moment. Nothing was booked. We never invent a price.",
		causes: []string{"The pricing service or the routing service does not answer, or has no answer for this trip. Other trips can have a " +
			"price."},
		todo: []string{"Keep the order and send it again with the same key and body. A shop can offer delivery without showing a price " +
			"meanwhile."},
	},
	{
		code: "SERVICE_UNAVAILABLE", retry: waitTold,
		what: "The service cannot reach its data at the moment. This error comes within 3 seconds for reads and 8 seconds for changes.",
		causes: []string{
			"The database restarts, fails over, is slow or is full.",
			"A bulk request waited for its turn while its server was stopped, such as for an update. Nothing was booked.",
			"Another change of the same record is running, such as an import. It ends by itself within seconds.",
			"A page of a list, a search or the events feed would take more than a second of the database. Ask for less, such as a shorter " +
				"period or another filter.",
			"Too many requests send their bodies slowly. This one was not read. Send each body at once, and fewer at a time.",
		},
		todo: []string{
			"Wait for `Retry-After`, then send the same request again. With its `Idempotency-Key` you get the first response if the request was " +
				"carried out.",
			"If you sent a change without a key, read the record first.",
		},
	},
	{
		code: "INTERNAL_SERVER_ERROR", retry: backOff,
		what:   "Something failed on our side. We do not know whether the request was carried out.",
		causes: []string{"A defect in our software. It is logged, and we look at it."},
		todo: []string{"Send the same request again. With its `Idempotency-Key` you get the first response if the request was carried out.",
			"If it fails again, send us the `X-Request-ID`. See [Support](/support)."},
	},
}
