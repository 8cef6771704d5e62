package pages

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"waybill/domain"
)

// Time limits of a streamed table and of each part, and how often the session is checked meanwhile.
const (
	tableTime  = 10 * time.Minute
	partTime   = 5 * time.Second
	checkTable = 3 * time.Second
	// mostTables limits concurrent tables per process, and tablesPerPerson those of one person.
	// Each table takes a database connection again and again.
	mostTables      = 4
	tablesPerPerson = 2
)

// StreamCSV sends a CSV table of any length. next writes some rows and returns whether there are
// more. An error of the first part is shown as a page. The file is cut off if a later part fails,
// the session ends or its role changes. Then the last line says so and the connection is aborted,
// so that no browser takes the file for complete.
func (s *Site) StreamCSV(c *Call, name string,
	next func(ctx context.Context, write func(cells ...string) error) (more bool, err error)) error {
	crowded := &domain.Error{Kind: domain.KindUnavailable, Code: domain.CodeServiceUnavailable, RetryAfter: time.Minute,
		Message: "Too many files are being downloaded at the moment. Try again in a minute."}
	leave, err := s.tablesOf.take(c.Ctx(), c.Principal.Reader(), tablesPerPerson, 0)
	if err != nil {
		return crowded
	}
	defer leave()
	select {
	case s.tables <- struct{}{}:
		defer func() { <-s.tables }()
	default:
		return crowded
	}
	t := &tableWriter{site: s, call: c, next: next, asked: s.o.Clock.Now()}
	more, err := t.part()
	if err != nil {
		return err
	}
	c.goesOn()
	c.Header("Content-Disposition", `attachment; filename="`+name+`"`)
	c.Header("Content-Type", "text/csv; charset=utf-8")
	c.Status(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return nil // the client gets no rows
	}
	for end := time.Now().Add(tableTime); ; {
		if err := t.send(); err != nil {
			panic(http.ErrAbortHandler) // the client has disconnected
		}
		if !more {
			return nil
		}
		switch {
		case time.Now().After(end):
			t.cut("it took too long: choose fewer days")
		case !t.allowed():
			t.cut("the session has ended, or its role has changed, or neither could be asked")
		}
		if more, err = t.part(); err != nil {
			s.o.Log.WarnContext(c.open, "dependency unavailable", "request_id", c.RequestID(), "route", s.named(c.Context), "error", err)
			t.cut("the database did not answer")
		}
	}
}

// tableWriter is a table that is being sent.
type tableWriter struct {
	site  *Site
	call  *Call
	next  func(ctx context.Context, write func(cells ...string) error) (more bool, err error)
	rows  bytes.Buffer
	asked time.Time // when the session was last checked
}

// part reads some rows.
func (t *tableWriter) part() (more bool, err error) {
	ctx, cancel := context.WithTimeout(t.call.open, partTime)
	defer cancel()
	return t.next(ctx, func(cells ...string) error {
		_, err := t.rows.WriteString(csvLine(cells)) // into memory
		return err
	})
}

// send writes the rows of a part to the client.
func (t *tableWriter) send() error {
	control := http.NewResponseController(t.call.Writer)
	if err := control.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_, err := t.call.Writer.Write(t.rows.Bytes())
	t.rows.Reset()
	return err
}

// cut ends the file early, with a last line that says why.
func (t *tableWriter) cut(why string) {
	t.rows.Reset()
	t.rows.WriteString(csvLine([]string{"cut off: this file is not whole, for " + why}))
	if t.send() == nil {
		t.call.Writer.Flush()
	}
	panic(http.ErrAbortHandler)
}

// allowed reports whether the session continues. It checks every few seconds.
func (t *tableWriter) allowed() bool {
	now := t.site.o.Clock.Now()
	if now.Sub(t.asked) < checkTable {
		return true
	}
	t.asked = now
	ctx, cancel := context.WithTimeout(t.call.open, partTime)
	defer cancel()
	was := t.call.Principal
	live, err := t.site.o.Access.Follow(ctx, t.site.o.Site, []domain.ID{was.Session.ID})
	is, goesOn := live[was.Session.ID]
	return err == nil && goesOn && is.Session.BusinessID == was.Session.BusinessID && is.Role == was.Role
}
