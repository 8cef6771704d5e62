package webhooks

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"waybill/domain"
)

// SignatureTolerance is the clock difference that a receiver accepts.
const SignatureTolerance = 5 * time.Minute

// SignatureStep is one step of a receiver's verification.
type SignatureStep string

// The steps, in their order.
const (
	StepHeaders   SignatureStep = "headers"
	StepTimestamp SignatureStep = "timestamp"
	StepSecret    SignatureStep = "secret"
	StepBody      SignatureStep = "body"
)

// StepOutcome is the outcome of a step.
type StepOutcome string

// The outcomes.
const (
	StepPassed  StepOutcome = "passed"
	StepFailed  StepOutcome = "failed"
	StepUnknown StepOutcome = "unknown" // an earlier step must pass first
)

// StepResult is a step with its finding.
type StepResult struct {
	Step    SignatureStep
	Outcome StepOutcome
	Text    string
}

// PossibleSecret is a secret that may have signed.
type PossibleSecret struct {
	Bytes []byte
	// Name describes the secret after "the", such as "secret that was pasted".
	Name    string
	Pasted  bool       // by the person who asks
	EndedAt *time.Time // when the receiver's secret was replaced by a rotation; nil: it signs now
}

// ReceivedRequest is a webhook as it was received.
type ReceivedRequest struct {
	Headers string // as lines
	Body    []byte
	Raw     bool // the body is exact; otherwise a browser has made each line break a CRLF
	At      time.Time
	Secrets []PossibleSecret // those of the receiver, and others that may have signed
	Sent    []byte           // the body as it was sent; nil: unknown
	// Alike is the body of another event, for the order of its keys; nil: none.
	Alike []byte
}

// SignatureVerdict is the result.
type SignatureVerdict struct {
	Results  []StepResult
	Verified bool // the receiver's secret verifies the signature
}

// SignedEventID returns the webhook-id of headers; empty: there is none.
func SignedEventID(headers string) domain.ID {
	return domain.ID(parseHeaders(headers)[domain.HeaderWebhookID])
}

// parseHeaders reads lines such as "Webhook-Id: evt_...", also as curl, PHP, Python and JSON write
// them.
func parseHeaders(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.Trim(line, " \t\r\n,<>*{}")
		name, value, some := strings.Cut(line, ":")
		if equals := strings.Index(line, "="); equals >= 0 && (!some || equals < len(name)) {
			value = strings.TrimPrefix(line[equals+1:], ">")
			name = line[:equals]
		}
		name = strings.ToLower(strings.ReplaceAll(strings.Trim(strings.TrimSpace(name), `"'[]`), "_", "-"))
		name = strings.TrimPrefix(name, "http-")
		found[name] = strings.Trim(strings.TrimSpace(value), `"'`)
	}
	return found
}

// headers holds the three headers of a signature.
type headers struct {
	id         string
	stamp      int64
	signatures [][]byte
}

// readHeaders returns the headers, and a message if one is missing or malformed.
func readHeaders(text string) (h headers, problem string) {
	found := parseHeaders(text)
	var missing []string
	for _, name := range []string{domain.HeaderWebhookID, domain.HeaderWebhookTimestamp, domain.HeaderWebhookSignature} {
		if found[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return h, "Missing: " + strings.Join(missing, ", ") + ". Frameworks and proxies rename or drop headers they do not " +
			"know; look at what your " +
			"program is handed."
	}
	h.id = found[domain.HeaderWebhookID]
	if _, err := domain.ParseID(domain.PrefixEvent, h.id); err != nil {
		return h, "webhook-id is no ID of an event: it begins with evt_ and has 32 hexadecimal digits behind that."
	}
	stamp := found[domain.HeaderWebhookTimestamp]
	var err error
	if h.stamp, err = strconv.ParseInt(stamp, 10, 64); err != nil || h.stamp < 1e9 {
		return h, "webhook-timestamp is no number of seconds since 1970, such as 1773489600."
	}
	if h.stamp > 1e11 {
		return h, "webhook-timestamp is in milliseconds. It was sent in seconds, and is signed as it was sent."
	}
	for _, part := range strings.Fields(strings.ReplaceAll(found[domain.HeaderWebhookSignature], ", v1", " v1")) {
		version, code, _ := strings.Cut(part, ",")
		sum, err := base64.StdEncoding.DecodeString(code)
		if version != "v1" {
			continue
		}
		if err != nil || len(sum) != sha256.Size {
			return h, "webhook-signature is malformed: behind v1, there are 44 characters of base64. It may have been cut off " +
				"or decoded as a URL, " +
				"which turns + into a space."
		}
		h.signatures = append(h.signatures, sum)
	}
	if len(h.signatures) == 0 {
		return h, "webhook-signature has no signature that begins with v1,."
	}
	return h, ""
}

// signs returns the position of the header's signature that a secret makes over a body; -1: none.
func (h headers) signs(secret, body []byte) int {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(h.id + "." + strconv.FormatInt(h.stamp, 10) + "."))
	mac.Write(body)
	sum := mac.Sum(nil)
	for i, s := range h.signatures {
		if hmac.Equal(s, sum) {
			return i
		}
	}
	return -1
}

// ParseSecret reads a secret as receivers configure it. problem describes what is wrong with it.
// The secret may still be usable without the characters around it.
func ParseSecret(text string) (secret []byte, problem string) {
	clean := strings.Trim(strings.TrimSpace(text), `"'`)
	if clean != text {
		problem = "There are spaces, line breaks or quotes around the secret. A program that is configured so signs with them."
	}
	code, prefixed := strings.CutPrefix(clean, "whsec_")
	secret, err := base64.StdEncoding.DecodeString(code)
	switch {
	case err != nil || len(secret) != domain.SigningSecretBytes:
		return nil, "This is no signing secret: it begins with whsec_ and has 44 characters of base64 behind that. An API key is another thing."
	case !prefixed:
		problem = "The secret lacks whsec_ at its beginning. Take that off in your program, not in its settings."
	}
	return secret, problem
}

// ExamineSignature goes through the steps.
func ExamineSignature(q ReceivedRequest) (v SignatureVerdict) {
	add := func(s SignatureStep, o StepOutcome, text string) {
		v.Results = append(v.Results, StepResult{s, o, text})
	}
	h, problem := readHeaders(q.Headers)
	if problem != "" {
		add(StepHeaders, StepFailed, problem)
		for _, s := range []SignatureStep{StepTimestamp, StepSecret, StepBody} {
			add(s, StepUnknown, "Looked at once the headers are right.")
		}
		return v
	}
	add(StepHeaders, StepPassed, "All three are there and readable.")
	add(timestamp(h, q.At))
	by, how := match(h, q)
	if by == nil {
		outcome, body := StepFailed, StepUnknown
		text, about := "None of the secrets makes this signature, over the body as it is or as it may have been.",
			"Whether the body was changed can be told once the secret is right."
		if q.Sent != nil {
			text = "Wrong secret: none of the secrets makes this signature over the body that was sent. Look whether the endpoint, the " +
				"environment and the headers belong together."
			if bytes.Equal(trimmed(q), q.Sent) {
				body, about = StepPassed, "It is byte for byte what was sent."
			} else {
				body, about = StepFailed, "It is not what was sent: "+difference(trimmed(q), q.Sent)
			}
		}
		if len(q.Secrets) == 0 {
			outcome, text = StepUnknown, "There was no secret to try: paste one, or choose an endpoint."
		}
		add(StepSecret, outcome, text)
		add(StepBody, body, about)
		return v
	}
	ok, text := judgeSecret(q, by)
	v.Verified = ok && how == ""
	add(StepSecret, map[bool]StepOutcome{true: StepPassed, false: StepFailed}[ok], text)
	if how == "" {
		add(StepBody, StepPassed, "It is byte for byte what was signed.")
	} else {
		add(StepBody, StepFailed, how)
	}
	return v
}

func timestamp(h headers, at time.Time) (SignatureStep, StepOutcome, string) {
	off := at.Sub(time.Unix(h.stamp, 0)).Round(time.Second)
	if off.Abs() <= SignatureTolerance {
		return StepTimestamp, StepPassed, "It is off by " + off.Abs().String() + ", within the 5 minutes that a receiver allows."
	}
	if off > 0 {
		return StepTimestamp, StepFailed, "It is off by " + off.String() +
			": the webhook is older than that, or the clock of the receiver is ahead. A " +
			"receiver that looks now has to refuse it; enter when yours got it to judge that moment."
	}
	return StepTimestamp, StepFailed, "It is off by " + off.Abs().String() + ": the clock of the receiver is behind. Let it follow a time server."
}

// match finds the secret that has signed and what changed the body; empty: nothing did. Pasted
// secrets come first.
func match(h headers, q ReceivedRequest) (by *PossibleSecret, how string) {
	for _, c := range bodies(q) {
		for _, pasted := range []bool{true, false} {
			for i, s := range q.Secrets {
				if s.Pasted == pasted && h.signs(s.Bytes, c.body) >= 0 {
					return &q.Secrets[i], c.how
				}
			}
		}
	}
	return nil, ""
}

// judgeSecret reports whether the receiver has the secret that signed.
func judgeSecret(q ReceivedRequest, by *PossibleSecret) (ok bool, text string) {
	var pasted *PossibleSecret
	for i, s := range q.Secrets {
		if s.Pasted {
			pasted = &q.Secrets[i]
		}
	}
	ended := func(s *PossibleSecret) string {
		if s.EndedAt.After(q.At) {
			return "the one before the last rotation. It signs until " + inUTC(*s.EndedAt) + ": bring the new one to your program before."
		}
		return "the one before the last rotation, and has not signed since " + inUTC(*s.EndedAt) + ". Bring the new one to your program."
	}
	for i, s := range q.Secrets {
		if pasted != nil && !s.Pasted && s.EndedAt != nil && bytes.Equal(s.Bytes, pasted.Bytes) {
			return by == pasted && s.EndedAt.After(q.At), "The secret that was pasted is " + ended(&q.Secrets[i])
		}
	}
	switch {
	case by.Pasted || pasted == nil && by.EndedAt == nil && by == &q.Secrets[0]:
		return true, "The " + by.Name + " has signed it."
	case pasted == nil && by.EndedAt != nil:
		return by.EndedAt.After(q.At), "It was signed with " + ended(by)
	}
	return false, "Wrong secret: this was signed with the " + by.Name + "."
}

func inUTC(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }
