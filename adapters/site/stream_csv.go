package site

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"net/http"
	"time"

	"waybill/domain"
)

// How long a table that is sent as it is read may take, and each part of it.
const (
	tableTime = 10 * time.Minute
	partTime  = 5 * time.Second
)

// StreamCSV is CSV for a table of any length: next writes some rows and tells whether
// there are more. An error of the first ones is answered as a page; one of later rows
// cuts the connection, so that no browser takes the file for whole. The session is not
// asked again meanwhile.
func (s *Site) StreamCSV(c *Call, name string,
	next func(ctx context.Context, write func(cells ...string) error) (more bool, err error)) error {
	var rows bytes.Buffer
	w := csv.NewWriter(&rows)
	part := func() (more bool, err error) {
		ctx, cancel := context.WithTimeout(c.open, partTime)
		defer cancel()
		more, err = next(ctx, func(cells ...string) error {
			for i := range cells {
				cells[i] = harmless(cells[i])
			}
			return w.Write(cells)
		})
		w.Flush()
		return more, errors.Join(err, w.Error())
	}
	more, err := part()
	if err != nil {
		return err
	}
	c.Header("Content-Disposition", `attachment; filename="`+name+`"`)
	c.Header("Content-Type", "text/csv; charset=utf-8")
	c.Status(http.StatusOK)
	control := http.NewResponseController(c.Writer)
	for end := time.Now().Add(tableTime); ; {
		if err := control.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return domain.Internal(err)
		}
		if _, err := c.Writer.Write(rows.Bytes()); err != nil {
			panic(http.ErrAbortHandler) // the reader has left
		}
		rows.Reset()
		if !more {
			return nil
		}
		if more, err = part(); err != nil || time.Now().After(end) {
			s.o.Log.WarnContext(c.open, "dependency unavailable", "request_id", c.RequestID(), "route", s.named(c.Context), "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}
