package httpapi

import (
	"fmt"
	"testing"

	"waybill/adapters/web"
	"waybill/adapters/web/views"
	"waybill/domain"
)

func TestRecordedEntriesStandInTheAnswerAsIfTheyWereRenderedWithIt(t *testing.T) {
	t.Parallel()
	var results []views.BulkResult
	var entries [][]byte
	for i := range 3 {
		of := views.NewBulkFailure(i, &domain.Error{Code: domain.CodeExternalIDConflict, Message: "<taken> & \u2028 \"quoted\""})
		results, entries = append(results, of), append(entries, web.Render(of))
	}
	for n := range len(entries) + 1 {
		got := bulkAnswer(0, n, entries[:n])
		message := fmt.Sprintf("0 of %d deliveries booked. data.results says which failed and why; send those again under a new "+
			"Idempotency-Key.", n)
		if n == 0 {
			message = "0 deliveries booked."
		}
		want := web.Success(got.Status, message, views.Bulk{Failed: n, Results: results[:n]})
		if string(got.Body) != string(want) {
			t.Errorf("of %d entries the answer is\n%s\nwant\n%s", n, got.Body, want)
		}
	}
}
