package waybillapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrNotModified says that WithIfNoneMatch named the current answer.
var ErrNotModified = errors.New("waybillapi: not modified")

// ErrNoAnswer says that no answer came, or not whole: the caller cannot know whether
// the request arrived. The error that is this one wraps why.
var ErrNoAnswer = errors.New("waybillapi: no answer")

// Error is a call that was refused or failed. Branch on Code; Message is for
// people and its wording may change.
type Error struct {
	StatusCode int
	Code       ErrorCode // "" where the answer is not the API's, but a proxy's; its StatusCode may be 200 or 301 then
	Message    string
	Details    json.RawMessage // nil for none; DecodeDetails reads them
	RequestID  string          // to be quoted when you ask for help
	RetryAfter time.Duration   // 0 where nothing was said

	operation string
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "waybillapi: %s: %d", e.operation, e.StatusCode)
	if e.Code != "" {
		b.WriteString(" " + string(e.Code))
	}
	b.WriteString(": " + e.Message)
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	return b.String()
}

// DecodeDetails reads the details into a value, such as an ErrorDetails.
func (e *Error) DecodeDetails(into any) error {
	if len(e.Details) == 0 {
		return fmt.Errorf("waybillapi: %s carries no details", e.Code)
	}
	if err := json.Unmarshal(e.Details, into); err != nil {
		return fmt.Errorf("waybillapi: the details of %s: %w", e.Code, err)
	}
	return nil
}

// HasCode reports whether err is a failure with this code.
func HasCode(err error, code ErrorCode) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// failure reads an answer that is no success.
func failure(made call, res *http.Response, text []byte) *Error {
	e := &Error{StatusCode: res.StatusCode, RequestID: res.Header.Get("X-Request-ID"), operation: made.name}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	var body struct {
		Message string `json:"message"`
		Error   struct {
			Code    ErrorCode       `json:"code"`
			Details json.RawMessage `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(text, &body); err == nil && body.Error.Code != "" {
		e.Message, e.Code, e.Details = body.Message, body.Error.Code, body.Error.Details
		return e
	}
	e.Message = notOurs(res.StatusCode, text)
	if to := res.Header.Get("Location"); to != "" {
		e.Message = http.StatusText(res.StatusCode) + ", a redirect to " + to + ", which is not followed; use the base URL of the API itself"
	}
	return e
}

// foreign is a success by its status in which nothing of the API stands.
func (s *sending) foreign(text []byte) *Error {
	return &Error{StatusCode: s.answer.StatusCode, RequestID: s.answer.RequestID, operation: s.name,
		Message: notOurs(s.answer.StatusCode, text)}
}

// notOurs tells of an answer that the API did not give.
func notOurs(status int, text []byte) string {
	const shown = 200
	excerpt := strings.Join(strings.Fields(strings.ToValidUTF8(string(text[:min(len(text), shown)]), "")), " ")
	return fmt.Sprintf("%s, and not in the form of the API: %q", http.StatusText(status), excerpt)
}
