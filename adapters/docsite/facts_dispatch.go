package docsite

import (
	"strconv"

	"waybill/domain"
)

// outcomeRow describes an outcome of an item of a bulk move.
type outcomeRow struct{ Name, Means, Todo string }

func outcomeRows() []outcomeRow {
	explained := map[domain.MoveOutcome]outcomeRow{
		domain.MoveAdvanced:     {Means: "This request moved it.", Todo: "Nothing."},
		domain.MoveAlreadyThere: {Means: "It had that status before.", Todo: "Nothing."},
		domain.MoveRefused: {Means: "It may not take that step, or it could not be decided on. `error` has the `code`, and of an invalid step " +
			"the `allowed_statuses`.", Todo: "Look at `current_status`: a person or the customer was faster. Plan it anew, or tell a person."},
		domain.MoveNotFound:  {Means: "Nothing has this reference or ID.", Todo: "Tell a person."},
		domain.MoveDuplicate: {Means: "An earlier item is the same delivery.", Todo: "Take that item's outcome."},
	}
	rows := make([]outcomeRow, 0, len(explained))
	for _, o := range domain.MoveOutcomes() {
		row := explained[o]
		row.Name = string(o)
		rows = append(rows, row)
	}
	return rows
}

// dispatchLimits lists the limits of the operations API.
func dispatchLimits(d *description) []limitRow {
	return []limitRow{
		{"Deliveries in one request", strconv.Itoa(domain.MaxMoves)},
		{"Body of a request", "64 KiB"},
		{"Characters of an Idempotency-Key", "8 to 255, printable ASCII"},
		{"How long a key is remembered", duration(domain.MoveRunKept)},
		{"Events on one page", strconv.Itoa(d.limit.Maximum) + ", and " + strconv.Itoa(d.limit.Default) + " by default"},
		{"Events that a page with a filter looks through; it may be empty and have more", "5000"},
		{"How long events are kept", duration(domain.RecoverableFor)},
		{"Failed authentications from one address; a valid token still works", "60 in 1 minute"},
	}
}
