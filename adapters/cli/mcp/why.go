package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

type whyInput struct {
	RequestID string `json:"request_id,omitempty" jsonschema:"X-Request-ID of the answer"`
	Body      any    `json:"body,omitempty" jsonschema:"the body of the answer as it came, an object or a text"`
	Code      string `json:"code,omitempty" jsonschema:"error.code of the answer, if the body is not at hand"`
	Status    int    `json:"status,omitempty" jsonschema:"HTTP status of the answer, if nothing more is known"`
}

type whyOutput struct {
	Summary     string       `json:"summary"`
	Explanation *explanation `json:"explanation,omitempty" jsonschema:"what the documentation says about the code"`
	Fields      []field      `json:"fields,omitempty" jsonschema:"what is wrong with the request"`
	SeenHere    *failure     `json:"seen_here,omitempty" jsonschema:"the request, if a tool of this server made it"`
	Candidates  []string     `json:"candidates,omitempty" jsonschema:"codes that have this status, where the code is not known"`
	KeyScopes   []string     `json:"key_scopes,omitempty" jsonschema:"what the key of this server may do, where scopes matter"`
	Next        []string     `json:"next"`
}

type field struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (s *server) addWhyTool() {
	add(s, tool{
		name: "why_did_this_request_fail", title: "Find out why a request failed",
		description: "Why a request to the API was refused and what to do. Give the answer's body; or its request ID if a tool of this server " +
			"made it; or the code or status alone. The public API keeps no requests to look up by their ID: the developer portal has those.",
	}, s.why)
}

// answered holds what is known of the response.
type answered struct {
	status        int
	code, message string
	details       json.RawMessage
}

func (s *server) why(ctx context.Context, in whyInput) (whyOutput, error) {
	out := whyOutput{SeenHere: s.remembered(in.RequestID), Next: []string{}}
	a, err := in.answer(out.SeenHere)
	if err != nil {
		return out, err
	}
	portal := "The developer portal has every request of your keys by its ID, under Requests."
	if in.RequestID != "" {
		portal = "The developer portal has " + in.RequestID + ", if it reached the API, under Requests; a person can look it up."
	}
	if a.code == "" {
		return s.withoutCode(ctx, a, out, portal)
	}
	e, err := s.explain(ctx, a.code)
	if err != nil {
		return out, err
	}
	out.Explanation = &e
	out.Summary = strings.TrimSpace(fmt.Sprintf("%s (HTTP %d). %s %s", e.Code, e.Status, a.message, e.Meaning))
	var details struct{ Fields []field }
	_ = json.Unmarshal(a.details, &details) // other details have no fields
	out.Fields = details.Fields
	out.Next = append(out.Next, e.Todo...)
	out.Next = append(out.Next, "Send it again? "+e.Retry)
	if e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized {
		for _, scope := range s.keyScopes(ctx) {
			out.KeyScopes = append(out.KeyScopes, string(scope))
		}
	}
	if out.SeenHere == nil {
		out.Next = append(out.Next, portal)
	}
	return out, nil
}

// answer returns the response that the caller has, or what this server stored of the request.
func (in whyInput) answer(seen *failure) (answered, error) {
	a := answered{status: in.Status, code: in.Code}
	if seen != nil {
		a = answered{status: seen.Status, code: seen.Code, message: seen.Message, details: seen.raw}
	}
	if in.Body != nil {
		text, isText := in.Body.(string)
		if !isText {
			encoded, err := json.Marshal(in.Body)
			if err != nil {
				return a, err
			}
			text = string(encoded)
		}
		var body struct {
			StatusCode int
			Message    string
			Error      struct {
				Code    string
				Details json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(text), &body); err != nil || body.Error.Code == "" {
			return a, errors.New("the body is no error of the Waybill API: {\"statusCode\": ..., \"message\": ..., \"error\": {\"code\": ...}}. " +
				"A proxy may have answered; check the address, and look for the request in the developer portal: what is not there never arrived")
		}
		a = answered{status: body.StatusCode, code: body.Error.Code, message: body.Message, details: body.Error.Details}
	}
	if a.code == "" && a.status == 0 && in.RequestID == "" {
		return a, errors.New("give the body of the answer, or its request ID, its code or its status")
	}
	return a, nil
}

// withoutCode says what a status allows, or where to look.
func (s *server) withoutCode(ctx context.Context, a answered, out whyOutput, portal string) (whyOutput, error) {
	out.Summary = "No tool of this server made a request with this ID, and the public API does not tell about requests by their ID."
	out.Next = append(out.Next, portal, "Or call this again with the body of the answer: its error.code says what happened.")
	if a.status == 0 {
		return out, nil
	}
	pages, err := s.docs.read(ctx)
	if err != nil {
		return out, err
	}
	for _, p := range pages {
		if p.isAboutCode() && p.explanation().Status == a.status {
			out.Candidates = append(out.Candidates, p.title)
		}
	}
	slices.Sort(out.Candidates)
	out.Summary = fmt.Sprintf("Of HTTP %d alone no more can be said than that its code is one of %d.", a.status, len(out.Candidates))
	if len(out.Candidates) == 0 {
		out.Summary = fmt.Sprintf("No error of the API has HTTP %d; a proxy may have answered.", a.status)
	}
	return out, nil
}
