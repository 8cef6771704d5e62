package webhooks_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// outdated is how long a sender at work may still sign with the former secret
// after a change: it reads the endpoint anew every two seconds, and sends nothing
// four seconds after its last successful read. A sender that begins later reads
// it first.
const outdated = 4 * time.Second

// parcel is a webhook as it came.
type parcel struct {
	came   time.Time
	before time.Time // when the attempt before came, if this is not the first
	header http.Header
	body   []byte
}

// signedFrom is a moment before which it was not signed: the event had not
// happened, or the second of the signature had not begun.
func (p parcel) signedFrom() (time.Time, error) {
	var event struct {
		ID        string
		Timestamp time.Time
	}
	if err := json.Unmarshal(p.body, &event); err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(p.header.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
	if err == nil && event.ID != p.header.Get(standardwebhooks.HeaderWebhookID) {
		err = fmt.Errorf("the body is of %s", event.ID)
	}
	return slices.MaxFunc([]time.Time{event.Timestamp, time.Unix(seconds, 0), p.before}, time.Time.Compare), err
}

// changed is a copy of which a header is another.
func (p parcel) changed(header, value string) parcel {
	p.header = p.header.Clone()
	p.header.Set(header, value)
	return p
}

// forgeries are what an attacker without the secret could make of it.
func (p parcel) forgeries() map[string]parcel {
	id, at := p.header.Get(standardwebhooks.HeaderWebhookID), p.header.Get(standardwebhooks.HeaderWebhookTimestamp)
	last := "0"
	if strings.HasSuffix(id, last) {
		last = "1"
	}
	seconds, _ := strconv.Atoi(at) // it was read before
	otherBody := p
	otherBody.body = slices.Clone(p.body)
	otherBody.body[int(p.came.UnixNano()/1000)%len(p.body)] ^= 1
	return map[string]parcel{
		"another byte in the body": otherBody,
		"another id":               p.changed(standardwebhooks.HeaderWebhookID, id[:len(id)-1]+last),
		"another timestamp":        p.changed(standardwebhooks.HeaderWebhookTimestamp, strconv.Itoa(seconds+1)),
	}
}

// epoch is a time in which the same secrets sign.
type epoch struct {
	secrets []string  // the newest first
	from    time.Time // before it they did not
	over    time.Time // after it they no longer should; zero: they still do
	gone    time.Time // after it they do not
}

// history is what an endpoint's secrets were, as its owner was told.
type history struct {
	epochs    []*epoch
	secrets   []string // all, the newest first
	verifiers map[string]*standardwebhooks.Webhook
}

// rotated notes a new secret. The service was asked for it at one moment and had
// answered at the other.
func (h *history) rotated(t *testing.T, secret string, overlap time.Duration, asked, answered time.Time) {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil || h.verifiers[secret] != nil {
		t.Fatalf("the secret is none, or not new: %v", err)
	}
	h.verifiers[secret] = verifier
	h.secrets = append([]string{secret}, h.secrets...)
	h.end(answered)
	if overlap > 0 {
		h.epochs = append(h.epochs, &epoch{secrets: h.secrets[:2], from: asked})
		h.end(answered.Add(overlap))
	}
	// Their times are cut to milliseconds.
	h.epochs = append(h.epochs, &epoch{secrets: h.secrets[:1], from: asked.Add(overlap).Truncate(time.Millisecond)})
}

// end is when what signs ceases to, unless it does so earlier.
func (h *history) end(at time.Time) {
	for _, e := range h.epochs {
		if e.over.IsZero() || e.over.After(at) {
			e.over, e.gone = at, at.Add(outdated)
		}
	}
}

// quiet notes that no sender is at work: the next one has still to read the
// endpoint.
func (h *history) quiet() {
	now := time.Now()
	for _, e := range h.epochs {
		if !e.over.IsZero() && e.over.Before(now) && e.gone.After(now) {
			e.gone = now
		}
	}
}

// judge asks the library about a parcel under every secret there was: those that
// sign at its time, and they alone, have to verify it, and nothing forged.
func (h *history) judge(p parcel) error {
	from, err := p.signedFrom()
	if err != nil {
		return err
	}
	var signers []string
	for _, secret := range h.secrets {
		switch err := h.verifiers[secret].Verify(p.body, p.header); {
		case err == nil:
			signers = append(signers, secret)
		case !errors.Is(err, standardwebhooks.ErrNoMatchingSignature):
			return err
		}
	}
	if n := len(strings.Split(p.header.Get(standardwebhooks.HeaderWebhookSignature), " ")); n != len(signers) {
		return fmt.Errorf("%d signatures, and the library takes it under %d secrets", n, len(signers))
	}
	for _, secret := range signers {
		for what, forged := range p.forgeries() {
			if err := h.verifiers[secret].Verify(forged.body, forged.header); !errors.Is(err, standardwebhooks.ErrNoMatchingSignature) {
				return fmt.Errorf("with %s: %v", what, err)
			}
		}
	}
	return h.place(p, signers, from)
}

// place puts a parcel into the epoch of its signers, if that was then.
func (h *history) place(p parcel, signers []string, from time.Time) error {
	i := slices.IndexFunc(h.epochs, func(e *epoch) bool { return slices.Equal(e.secrets, signers) })
	if i < 0 {
		return fmt.Errorf("signed under the secrets %v, which never sign together", h.numbers(signers))
	}
	e := h.epochs[i]
	switch {
	case p.came.Before(e.from):
		return fmt.Errorf("signed under the secrets %v, %s before they did", h.numbers(signers), e.from.Sub(p.came))
	case !e.over.IsZero() && from.After(e.gone):
		return fmt.Errorf("signed under the secrets %v, %s after they ceased to", h.numbers(signers), from.Sub(e.over))
	}
	return nil
}

// numbers are which secrets these are, from 1 on.
func (h *history) numbers(secrets []string) (numbers []int) {
	for _, s := range secrets {
		numbers = append(numbers, len(h.secrets)-slices.Index(h.secrets, s))
	}
	return numbers
}
