package e2e

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// hide notes something that must never be logged.
func (s *server) hide(secrets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		if len(secret) >= 6 { // shorter ones occur by chance
			s.secrets[secret] = true
		}
	}
}

// sensitive are the fields of bodies and answers whose values are personal.
var sensitive = map[string]bool{
	"phone_number": true, "contact": true, "name": true, "address": true, "label": true,
	"municipality": true, "delivery_notes": true, "delivery_instructions": true, "external_id": true,
	"reference": true, "next_cursor": true, "secret": true,
}

// hideFields notes every sensitive value in a JSON document.
func (s *server) hideFields(value any) {
	switch v := value.(type) {
	case m:
		for name, inner := range v {
			if text, ok := inner.(string); ok && sensitive[name] {
				s.hide(text)
			}
			s.hideFields(inner)
		}
	case []any:
		for _, inner := range v {
			s.hideFields(inner)
		}
	}
}

// requestFields are all that the line of a request may have.
var requestFields = map[string]bool{
	"time": true, "level": true, "msg": true, "request_id": true, "environment": true, "method": true,
	"route": true, "status": true, "took_ms": true, "application_id": true,
	"client_request_id": true, "client_network": true, "key_id": true,
}

var (
	keyForm   = regexp.MustCompile(`svc_(live|test)_key_[0-9A-Za-z]`)
	wordForm  = regexp.MustCompile(`[\pL\pN_-]+`)
	phoneForm = regexp.MustCompile(`^(233|0)[2345][0-9]{8}$`) // of a whole word
)

// checkLogs reads all that the server has logged.
func (s *server) checkLogs(t testing.TB) {
	t.Helper()
	log, err := os.ReadFile(s.Log)
	if err != nil {
		t.Error(err)
		return
	}
	words := s.secretWords()
	complaints := 0
	for line := range strings.Lines(string(log)) {
		if complaints == 10 {
			t.Errorf("and more; see the log")
			return
		}
		if problem := s.checkLine(line, words); problem != "" {
			complaints++
			t.Errorf("the %s server logged %s:\n%s", s.dialect, problem, line)
		}
	}
}

// secretWords maps the first word of a secret to the secrets that begin with
// it: looking for each of thousands in each line would take minutes.
func (s *server) secretWords() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := map[string][]string{}
	for secret := range s.secrets {
		if found := wordForm.FindAllString(secret, 1); len(found) > 0 {
			words[found[0]] = append(words[found[0]], secret)
		}
	}
	return words
}

func (s *server) checkLine(line string, secrets map[string][]string) string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		return "a line that is not JSON"
	}
	switch fields["msg"] {
	case "panic":
		return "a panic"
	case "request":
		for name := range fields {
			if !requestFields[name] {
				return "the field " + name + ", which is not in the list"
			}
		}
	}
	if fields["level"] == "ERROR" {
		return "an error"
	}
	if keyForm.MatchString(line) {
		return "an API key"
	}
	for _, word := range wordForm.FindAllString(line, -1) {
		if phoneForm.MatchString(word) {
			return "a phone number"
		}
		for _, secret := range secrets[word] {
			if strings.Contains(line, secret) {
				return "the secret " + secret
			}
		}
	}
	return ""
}
