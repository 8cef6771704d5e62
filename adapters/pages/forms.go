package pages

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"waybill/domain"
)

// WholeOnce returns the ID of the record that the form makes, so that it is made once; false: the
// form brings nothing to make it from.
func (s *Site) WholeOnce(c *Call, prefix domain.Prefix) (domain.ID, bool) {
	id, err := domain.ParseFormID(prefix, c.Form.Get("once"), c.Principal.Person.ID, c.Business(), s.o.Clock.Now())
	return id, err == nil
}

// OnceSent is WholeOnce with an ID that is drawn now for a form that brings nothing.
func (s *Site) OnceSent(c *Call, prefix domain.Prefix) domain.ID {
	if id, whole := s.WholeOnce(c, prefix); whole {
		return id
	}
	return s.o.Identifiers.ID(prefix)
}

// OnceShown returns what a form gets for the ID of its record: that of the form that was sent,
// unless it is spent, as with a conflict.
func (s *Site) OnceShown(c *Call, prefix domain.Prefix, status int) string {
	if _, whole := s.WholeOnce(c, prefix); whole && status != http.StatusConflict {
		return c.Form.Get("once")
	}
	return string(s.o.Identifiers.ID(prefix))
}

// VersionSent is as of which change of a record its form was made.
func (c *Call) VersionSent() time.Time {
	if at := MomentOf(c.Form.Get("version")); at != nil {
		return *at
	}
	return time.Time{}
}

// VersionShown is the version that the form of a record gets. A form that is shown again
// keeps its own: only with a conflict its author is told of what has changed since.
func (c *Call) VersionShown(updatedAt time.Time, status int) string {
	if sent := c.Form.Get("version"); sent != "" && status != http.StatusConflict {
		return sent
	}
	return domain.FormatTime(updatedAt)
}

// ChangedSince says what is stored where a form, made before, has something else.
func ChangedSince(typed []Field, stored ...string) *Notice {
	n := &Notice{Tone: "warn", Title: "Nothing was saved: somebody else has changed this since you opened the form"}
	for i, f := range typed {
		switch {
		case f.Value == stored[i]:
		case stored[i] == "":
			n.Lines = append(n.Lines, f.Label+" is empty now.")
		default:
			n.Lines = append(n.Lines, f.Label+" is now: "+stored[i])
		}
	}
	n.Lines = append(n.Lines, "Below is what you typed. Mend it, or save it as it is.")
	return n
}

// Flash keeps the numbers of what was done for the notice of the page that a change leads
// to. They are not in its address: any link could tell others.
func (s *Site) Flash(c *Call, done string, numbers ...int) {
	text := done
	for _, n := range numbers {
		text += "." + strconv.Itoa(n)
	}
	s.keep(c, ofNotice, text, time.Minute)
}

// Flashed are so many numbers that Flash kept, which are told once; nil: there are none.
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

// OfMinute is how a browser writes what is typed into a field for a day and a time.
const OfMinute = "2006-01-02T15:04"

// MomentOf reads a time as a field for a day and a time has it, in UTC, or one as the API writes it; nil: there is none.
func MomentOf(text string) *time.Time {
	for _, layout := range []string{OfMinute, OfMinute + ":05", time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return new(at.UTC())
		}
	}
	return nil
}

// MinuteField is a field for a day and a time, in UTC.
func MinuteField(name, label, value string) Field {
	if at := MomentOf(value); at != nil {
		value = at.Format(OfMinute)
	}
	return Field{ID: name, Name: name, Type: "datetime-local", Label: label, Value: value}
}
