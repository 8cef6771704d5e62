package views

import (
	"github.com/go-json-experiment/json/jsontext"

	"waybill/domain"
)

// Bulk is the response to a bulk create.
type Bulk struct {
	Created int              `json:"created"`
	Failed  int              `json:"failed"`
	Results []jsontext.Value `json:"results"` // a BulkResult for each item, as it was recorded
}

// BulkResult is the outcome of one item.
type BulkResult struct {
	Index    int        `json:"index"`
	Status   string     `json:"status"` // created or failed
	Delivery *Delivery  `json:"delivery,omitempty"`
	Error    *BulkError `json:"error,omitempty"`
}

// BulkError says why an item failed.
type BulkError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// NewBulkSuccess converts an item that became a delivery.
func NewBulkSuccess(index int, d Delivery) BulkResult {
	return BulkResult{Index: index, Status: "created", Delivery: &d}
}

// NewBulkFailure converts an item that was refused.
func NewBulkFailure(index int, e *domain.Error) BulkResult {
	return BulkResult{Index: index, Status: "failed", Error: &BulkError{Code: e.Code, Message: e.Message}}
}
