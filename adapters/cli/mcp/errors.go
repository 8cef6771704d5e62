package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"waybill/adapters/clients/go/waybillapi"
)

// failure is a request of this server that the API refused.
type failure struct {
	Tool      string          `json:"tool" jsonschema:"the tool that made the call"`
	At        string          `json:"at" jsonschema:"when, in UTC"`
	RequestID string          `json:"request_id"`
	Status    int             `json:"status"`
	Code      string          `json:"code,omitempty"`
	Message   string          `json:"message"`
	Details   map[string]any  `json:"details,omitempty" jsonschema:"in the form that its code has"`
	raw       json.RawMessage // the details
}

// mostFailures limits the stored failures.
const mostFailures = 200

// remember stores a failure for a later question about its cause.
func (s *server) remember(tool string, e *waybillapi.Error) {
	f := failure{Tool: tool, At: time.Now().UTC().Format(time.RFC3339), RequestID: e.RequestID, Status: e.StatusCode, Code: string(e.Code),
		Message: e.Message, raw: e.Details}
	_ = json.Unmarshal(e.Details, &f.Details) // there may be none
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, f)
	if len(s.failed) > mostFailures {
		s.failed = s.failed[1:]
	}
}

// remembered returns the failure with a request ID.
func (s *server) remembered(requestID string) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.failed {
		if s.failed[i].RequestID == requestID && requestID != "" {
			f := s.failed[i]
			return &f
		}
	}
	return nil
}

// explained returns an error for an agent: what happened, and what to do next.
func (s *server) explained(ctx context.Context, tool string, err error) error {
	var refused *waybillapi.Error
	switch {
	case errors.As(err, &refused) && refused.Code != "":
		s.remember(tool, refused)
		return errors.New(s.refusal(refused))
	case refused != nil:
		return fmt.Errorf("NOT_WAYBILL: what answers at %s is not the Waybill API: %s. Check the address that this server was started with",
			s.BaseURL, refused.Message)
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return fmt.Errorf("NO_ANSWER: %s did not answer within %s. Whether a write arrived is not known. %s", s.BaseURL, s.Timeout, sameAgain)
	case errors.Is(err, waybillapi.ErrNoAnswer):
		return fmt.Errorf("NO_ANSWER: no answer from %s: %w. If it is a sandbox of this machine, start it with `waybill dev`. %s",
			s.BaseURL, rootOf(err), sameAgain)
	}
	return err
}

const sameAgain = "Then call the tool again with the same arguments: a booking is made once"

func rootOf(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}

// refusal describes an error of the API in words.
func (s *server) refusal(e *waybillapi.Error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (HTTP %d): %s", e.Code, e.StatusCode, e.Message)
	var details struct {
		Fields []struct{ Field, Message string }
		DocURL string `json:"doc_url"`
	}
	if len(e.Details) > 0 {
		_ = e.DecodeDetails(&details) // missing details are not shown
		fmt.Fprintf(&b, "\nDetails: %s", e.Details)
	}
	b.WriteString("\nWhat to do: " + s.todo(e))
	if details.DocURL != "" {
		b.WriteString("\nPage: " + details.DocURL)
	}
	if e.RequestID != "" {
		b.WriteString("\nRequest ID: " + e.RequestID)
	}
	return b.String()
}

func (s *server) todo(e *waybillapi.Error) string {
	explain := fmt.Sprintf("Call explain_error with %s for causes and cure.", e.Code)
	switch {
	case e.StatusCode == http.StatusUnauthorized:
		return "The key is refused; it is set in " + s.KeyFrom + ". Ask the person who runs this server for another one. " + explain
	case e.StatusCode == http.StatusForbidden:
		return "The key's scopes do not allow this. Ask the person for a key with the scope named above, or do without this tool."
	case e.RetryAfter > 0:
		return fmt.Sprintf("Wait %s, then call the tool again with the same arguments.", e.RetryAfter)
	case e.StatusCode >= http.StatusInternalServerError:
		return "It passes by itself. Call the tool again with the same arguments after a pause. " + explain
	case e.StatusCode == http.StatusNotFound:
		return "Check the ID and its environment: this server sees what its key made, and nothing of the other environment."
	}
	return "Change the arguments; the same ones are refused again. " + explain
}
