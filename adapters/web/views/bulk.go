package views

import (
	"github.com/go-json-experiment/json/jsontext"

	"waybill/domain"
)

// Bulk is the answer to a bulk create.
type Bulk struct {
	Created int              `json:"created"`
	Failed  int              `json:"failed"`
	Results []jsontext.Value `json:"results"` // one BulkResult per item, as it was recorded
}

// NewBulk puts recorded results together.
func NewBulk(created, failed int, results [][]byte) Bulk {
	b := Bulk{Created: created, Failed: failed, Results: make([]jsontext.Value, 0, len(results))}
	for _, r := range results {
		b.Results = append(b.Results, r)
	}
	return b
}

// BulkResult is the outcome of one item.
type BulkResult struct {
	Index    int        `json:"index"`
	Status   string     `json:"status"` // created or failed
	Delivery *Delivery  `json:"delivery,omitempty"`
	Error    *BulkError `json:"error,omitempty"`
}

// BulkError is why an item failed.
type BulkError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// NewBulkSuccess shows an item that became a delivery.
func NewBulkSuccess(index int, d Delivery) BulkResult {
	return BulkResult{Index: index, Status: "created", Delivery: &d}
}

// NewBulkFailure shows an item that was refused.
func NewBulkFailure(index int, e *domain.Error) BulkResult {
	return BulkResult{Index: index, Status: "failed", Error: &BulkError{Code: e.Code, Message: e.Message}}
}
