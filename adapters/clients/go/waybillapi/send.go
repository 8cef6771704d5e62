package waybillapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxAnswer is the most of an answer that is read. A page of the largest records
// has a hundredth of it.
const maxAnswer = 64 << 20

// Whether a call takes an Idempotency-Key.
const (
	unkeyed = iota
	optional
	required
)

// call is an operation with its arguments.
type call struct {
	name       string
	method     string
	path       string   // with %s for each ID
	ids        []string // as they are, before escaping
	query      any      // parameters with JSON tags, nil for none
	target     string   // in place of path and query, as it is; "" for none
	body       any      // nil for none
	key        string
	keyed      int
	repeatable bool // safe to send twice without a key
}

// sending is a call on its way.
type sending struct {
	call
	url     string
	header  http.Header
	content []byte
	answer  *Answer
	retries Retries
}

// envelope is the form of every success.
type envelope[T any] struct {
	Success bool            `json:"success"`
	Message string          `json:"message"`
	Data    T               `json:"data"`
	Meta    json.RawMessage `json:"meta"`
}

// one calls and returns the data.
func one[T any](ctx context.Context, c *Client, made call, options []CallOption) (*T, error) {
	got, err := decoded[T](ctx, c, made, options)
	if err != nil {
		return nil, err
	}
	return &got.Data, nil
}

func decoded[T any](ctx context.Context, c *Client, made call, options []CallOption) (*envelope[T], error) {
	s, text, err := c.send(ctx, made, options)
	if err != nil {
		return nil, err
	}
	var got envelope[T]
	if err := json.Unmarshal(text, &got); err != nil || !got.Success {
		return nil, s.foreign(text)
	}
	s.answer.Message = got.Message
	return &got, nil
}

// raw calls and returns the answer as it came.
func raw(ctx context.Context, c *Client, made call, options []CallOption) ([]byte, error) {
	_, text, err := c.send(ctx, made, options)
	return text, err
}

// send makes the call, again where that is safe and settled so, and returns a
// success.
func (c *Client) send(ctx context.Context, made call, options []CallOption) (*sending, []byte, error) {
	s, err := c.prepare(made, options)
	if err != nil {
		return nil, nil, err
	}
	begun := time.Now()
	for try := 1; ; try++ {
		s.answer.Tries = try
		text, err := c.try(ctx, s)
		if err == nil {
			return s, text, nil
		}
		if !s.retries.pause(ctx, begun, Retry{Operation: s.name, Tried: try, Cause: err, Safe: s.again(ctx, err)}) {
			return nil, nil, err
		}
	}
}

func (c *Client) prepare(made call, options []CallOption) (*sending, error) {
	s := &sending{call: made, header: http.Header{}, retries: c.retries}
	for _, option := range options {
		option(s)
	}
	if s.answer == nil {
		s.answer = new(Answer)
	}
	*s.answer = Answer{}
	target, err := s.where()
	if err != nil {
		return nil, fmt.Errorf("waybillapi: %s: %w", s.name, err)
	}
	s.url = c.base.String() + target
	if s.body != nil {
		content, err := encoded(s.body)
		if err != nil {
			return nil, fmt.Errorf("waybillapi: %s: the body: %w", s.name, err)
		}
		s.content = content
		s.header.Set("Content-Type", "application/json")
	}
	if s.keyed == required && s.key == "" {
		return nil, fmt.Errorf("waybillapi: %s: the idempotency key is empty; NewIdempotencyKey makes one", s.name)
	}
	if s.keyed == optional && s.key == "" {
		s.key = NewIdempotencyKey()
	}
	if s.key != "" {
		s.header.Set("Idempotency-Key", s.key)
	}
	s.header.Set("Authorization", "Bearer "+c.key)
	s.header.Set("Accept", "application/json, application/yaml")
	s.header.Set("User-Agent", c.agent)
	return s, nil
}

// where returns the path and query of a call, escaped.
func (made call) where() (string, error) {
	if made.target != "" {
		return made.target, nil
	}
	ids := make([]any, 0, len(made.ids))
	for _, id := range made.ids {
		if id == "" || id == "." || id == ".." {
			return "", fmt.Errorf("%q is no ID", id)
		}
		ids = append(ids, url.PathEscape(id))
	}
	path := fmt.Sprintf(made.path, ids...)
	query, err := queryOf(made.query)
	if len(query) > 0 {
		path += "?" + query
	}
	return path, err
}

// queryOf returns parameters as a query: their JSON, without the quotation marks.
func queryOf(params any) (string, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return "", err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return "", err
	}
	query := url.Values{}
	for name, value := range fields {
		plain := string(value)
		if plain[0] == '"' {
			if err := json.Unmarshal(value, &plain); err != nil {
				return "", err
			}
		}
		query.Set(name, plain)
	}
	return query.Encode(), nil
}

// encoded is a body as it is sent: JSON is sent unchanged, to the byte.
func encoded(body any) ([]byte, error) {
	if ready, ok := body.(json.RawMessage); ok {
		return ready, nil
	}
	return json.Marshal(body)
}

// try sends the call once.
func (c *Client) try(ctx context.Context, s *sending) ([]byte, error) {
	var body io.Reader
	if s.content != nil {
		body = bytes.NewReader(s.content)
	}
	r, err := http.NewRequestWithContext(ctx, s.method, s.url, body)
	if err != nil {
		return nil, fmt.Errorf("waybillapi: %s: %w", s.name, err)
	}
	r.Header = s.header.Clone()
	res, err := c.http.Do(r)
	if err != nil {
		return nil, &lost{s.name, err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, &lost{s.name, err}
	}
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("waybillapi: %s: the answer is larger than %d bytes", s.name, maxAnswer)
	}
	tries := s.answer.Tries
	*s.answer = Answer{
		StatusCode: res.StatusCode, RequestID: res.Header.Get("X-Request-ID"), ETag: res.Header.Get("ETag"),
		Replayed: res.Header.Get("Idempotent-Replayed") == "true", Tries: tries, Header: res.Header,
	}
	switch {
	case res.StatusCode == http.StatusNotModified:
		return nil, ErrNotModified
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, failure(s.call, res, text)
	}
	return text, nil
}

// lost is a try whose answer did not come, or not whole. It is an ErrNoAnswer.
type lost struct {
	name string
	err  error
}

func (l *lost) Error() string {
	text := l.err.Error()
	if e, ok := l.err.(*url.Error); ok { //nolint:errorlint // what net/http returns, as it is
		text = e.Err.Error() // without the address, which the caller knows
	}
	return "waybillapi: " + l.name + ": no answer: " + text
}

func (l *lost) Unwrap() error { return l.err }

func (l *lost) Is(target error) bool { return target == ErrNoAnswer }

// again reports whether the same request may be sent once more after err. A
// request that was refused before anything was done always may; one that may have
// been carried out, only where it is idempotent.
func (s *sending) again(ctx context.Context, err error) bool {
	safe := s.repeatable || s.key != ""
	if errors.Is(err, ErrNoAnswer) {
		return safe && ctx.Err() == nil
	}
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable:
		return safe || e.Code == CodeQuoteUnavailable // any other may have been carried out
	case http.StatusConflict:
		return e.Code == CodeIdempotencyInProgress
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return safe
	}
	return false
}

// present is the body of a call that may go without one.
func present[T any](body *T) any {
	if body == nil {
		return nil
	}
	return body
}
