package waybillapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Request is a call by its method and path. A method of Client is the better way
// wherever there is one; this is for an operation that is newer than the package,
// and for programs that show or keep answers as they came.
type Request struct {
	Method string
	// Path begins with a slash, comes after the base URL, and has the query:
	// /deliveries?limit=10. IDs in it have to be escaped by the caller.
	Path string
	// Body becomes JSON; a json.RawMessage is sent as it is; nil for none.
	Body any
	// IdempotencyKey makes a write safe to be sent again; "" for none.
	IdempotencyKey string
	// Repeatable says that a write without a key may be sent twice all the same. A
	// GET always may.
	Repeatable bool
}

// Response is a success: the parts of its envelope as they came.
type Response struct {
	Message string
	Data    json.RawMessage
	Meta    json.RawMessage // where a list goes on; nil for what is no list
}

// Do makes any call, with the retries and the errors of every other.
func (c *Client) Do(ctx context.Context, request Request, options ...CallOption) (*Response, error) {
	path, _, _ := strings.Cut(request.Path, "?")
	made := call{
		name: request.Method + " " + path, method: request.Method, target: request.Path, body: request.Body,
		key: request.IdempotencyKey, repeatable: request.Repeatable || request.Method == http.MethodGet,
	}
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "/../") || strings.HasSuffix(path, "/..") {
		return nil, fmt.Errorf("waybillapi: %q is no path after the base URL, such as /deliveries", request.Path)
	}
	got, err := decoded[json.RawMessage](ctx, c, made, options)
	if err != nil {
		return nil, err
	}
	return &Response{Message: got.Message, Data: got.Data, Meta: got.Meta}, nil
}

// Decode reads the data into a value, such as a Delivery.
func (r *Response) Decode(into any) error {
	if err := json.Unmarshal(r.Data, into); err != nil {
		return fmt.Errorf("waybillapi: the data of the answer: %w", err)
	}
	return nil
}
