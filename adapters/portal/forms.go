package portal

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// onceSent is the ID that a form brings for what it makes, so that it is made once; one
// that is drawn now where it brings none.
func (p *Portal) onceSent(c *call, prefix domain.Prefix) domain.ID {
	id, err := domain.ParseID(prefix, c.form.Get("once"))
	if err != nil {
		id = p.options.Identifiers.ID(prefix)
	}
	return id
}

// onceShown is the ID that a form gets: that of the form that was sent, unless it is spent,
// as with a conflict.
func (p *Portal) onceShown(c *call, prefix domain.Prefix, status int) string {
	if status == http.StatusConflict {
		return string(p.options.Identifiers.ID(prefix))
	}
	return string(p.onceSent(c, prefix))
}

// versionSent is as of which change of a record its form was made.
func (c *call) versionSent() time.Time {
	if at := minuteOf(c.form.Get("version")); at != nil {
		return *at
	}
	return time.Time{}
}

// versionShown is the version that the form of a record gets. A form that is shown again
// keeps its own: only with a conflict its author is told of what has changed since.
func (c *call) versionShown(updatedAt time.Time, status int) string {
	if sent := c.form.Get("version"); sent != "" && status != http.StatusConflict {
		return sent
	}
	return domain.FormatTime(updatedAt)
}

// changedSince says what is stored where a form, made before, has something else.
func changedSince(typed []pages.Field, stored ...string) *pages.Notice {
	n := &pages.Notice{Tone: "warn", Title: "Nothing was saved: somebody else has changed this since you opened the form"}
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

// flashCookie has numbers for the notice of the page that a change leads to. They are not in
// its address: any link could tell others.
func (p *Portal) flashCookie() string {
	if p.secure {
		return "__Host-waybill_done"
	}
	return "waybill_done"
}

// flash keeps the numbers of what was done for the next page.
func (p *Portal) flash(c *call, done string, numbers ...int) {
	text := done
	for _, n := range numbers {
		text += "." + strconv.Itoa(n)
	}
	p.setFlash(c, text, int(time.Minute.Seconds()))
}

func (p *Portal) setFlash(c *call, text string, age int) {
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // Secure wherever the portal has https; dev has not
		Name: p.flashCookie(), Value: text, Path: "/", MaxAge: age, Secure: p.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// flashed are so many numbers that flash kept, which are told once; nil: there are none.
func (p *Portal) flashed(c *call, done string, n int) (numbers []int64) {
	cookie, err := c.Request.Cookie(p.flashCookie())
	if err != nil || c.Query("done") != done {
		return nil
	}
	p.setFlash(c, "", -1)
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
