package pages

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"waybill/domain"
)

// WholeOnce returns the ID of the record that the form creates, so that a retry creates no second
// one. It returns false if the form has no valid ID.
func (s *Site) WholeOnce(c *Call, prefix domain.Prefix) (domain.ID, bool) {
	id, err := domain.ParseFormID(prefix, c.Form.Get("once"), c.Principal.Person.ID, c.Business(), s.o.Clock.Now())
	return id, err == nil
}

// OnceSent returns the ID of WholeOnce, or a new ID if the form has none.
func (s *Site) OnceSent(c *Call, prefix domain.Prefix) domain.ID {
	if id, whole := s.WholeOnce(c, prefix); whole {
		return id
	}
	return s.o.Identifiers.ID(prefix)
}

// OnceShown returns the record ID for a form that is shown. It keeps the ID that was sent, unless a
// conflict used it up.
func (s *Site) OnceShown(c *Call, prefix domain.Prefix, status int) string {
	if _, whole := s.WholeOnce(c, prefix); whole && status != http.StatusConflict {
		return c.Form.Get("once")
	}
	return string(s.o.Identifiers.ID(prefix))
}

// VersionSent returns the version of the record from which its form was made; zero: none.
func (c *Call) VersionSent() time.Time {
	if at := MomentOf(c.Form.Get("version")); at != nil {
		return *at
	}
	return time.Time{}
}

// VersionShown returns the version for a record's form. A form that is shown again keeps its
// version. After a conflict it gets the new one, because its author reads what has changed.
func (c *Call) VersionShown(updatedAt time.Time, status int) string {
	if sent := c.Form.Get("version"); sent != "" && status != http.StatusConflict {
		return sent
	}
	return domain.FormatTime(updatedAt)
}

// ChangedSince lists the stored values that differ from the form.
func ChangedSince(typed []Field, stored ...string) *Notice {
	n := &Notice{Tone: "warn", Title: "Not saved: someone else changed this after you opened the form"}
	for i, f := range typed {
		switch {
		case f.Value == stored[i]:
		case stored[i] == "":
			n.Lines = append(n.Lines, f.Label+" is empty now.")
		default:
			n.Lines = append(n.Lines, f.Label+" is now: "+stored[i])
		}
	}
	n.Lines = append(n.Lines, "What you typed is below. Edit it, or save it as it is.")
	return n
}

// Flash stores numbers for the notice of the page after a change. They are not in its address,
// because anybody can write a link with false numbers.
func (s *Site) Flash(c *Call, done string, numbers ...int) {
	text := done
	for _, n := range numbers {
		text += "." + strconv.Itoa(n)
	}
	s.keep(c, ofNotice, text, time.Minute)
}

// Flashed returns the n numbers that Flash stored, and deletes them; nil: there are none.
func (s *Site) Flashed(c *Call, done string, n int) (numbers []int64) {
	cookie, err := c.Request.Cookie(s.cookie(ofNotice))
	if err != nil || c.Query("done") != done {
		return nil
	}
	s.keep(c, ofNotice, "", 0)
	parts := strings.Split(cookie.Value, ".")
	if len(parts) != 1+n || parts[0] != done {
		return nil
	}
	for _, part := range parts[1:] {
		number, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return nil
		}
		numbers = append(numbers, int64(number))
	}
	return numbers
}

// OfMinute holds the layout of a datetime-local field.
const OfMinute = "2006-01-02T15:04"

// MomentOf parses a datetime-local field, in UTC, or a time as the API writes it; nil: there is
// none.
func MomentOf(text string) *time.Time {
	for _, layout := range []string{OfMinute, OfMinute + ":05", time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return new(at.UTC())
		}
	}
	return nil
}

// MinuteField returns a datetime-local field, in UTC.
func MinuteField(name, label, value string) Field {
	if at := MomentOf(value); at != nil {
		value = at.Format(OfMinute)
	}
	return Field{ID: name, Name: name, Type: "datetime-local", Label: label, Value: value}
}
