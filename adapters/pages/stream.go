package pages

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"waybill/domain"
)

// The timing of a stream. It always ends after streamLife, and the browser opens another one.
const (
	heartbeat      = 15 * time.Second
	streamWrite    = 10 * time.Second // a reader that takes nothing for so long is gone
	reconnectAfter = 2 * time.Second
	streamLife     = time.Hour
)

const eventStream = "text/event-stream"

// WantsStream reports whether the client accepts server-sent events. If not, it sends the response:
// a HEAD ends at once, and other clients are redirected to the page instead, a path of the site.
func (c *Call) WantsStream(instead string) bool {
	switch {
	case c.Request.Method == http.MethodHead:
		c.Header("Content-Type", eventStream+"; charset=utf-8")
	case c.GetHeader("Accept") != eventStream:
		_ = c.Lead(instead) // never fails
	default:
		return true
	}
	return false
}

// Stream sends events until the client, the session, the role or the server ends. next waits for
// changes and returns them as the text of events. After an error of next the stream stays open and
// sends only heartbeats. next runs in one goroutine of its own and must return when its context
// ends.
func (s *Site) Stream(c *Call, next func(context.Context) (events string, err error)) error {
	place, err := s.streams.enter(c.Principal)
	if err != nil {
		return err
	}
	defer place.leave()
	c.goesOn()
	ctx, cancel := context.WithTimeout(c.open, streamLife)
	defer cancel()
	w := &streamWriter{site: s, call: c, place: place, control: http.NewResponseController(c.Writer)}
	w.run(ctx, next)
	// The end is written too, so the deadline must not be over.
	_ = w.control.SetWriteDeadline(time.Now().Add(streamWrite))
	return nil
}

// streamWriter is an open stream.
type streamWriter struct {
	site    *Site
	call    *Call
	place   *stream
	control *http.ResponseController
}

// run sends events until the client, the session or the server ends. Each end shows as an error of
// the next step. There is no one to report it to.
func (w *streamWriter) run(ctx context.Context, next func(context.Context) (string, error)) {
	h := w.call.Writer.Header()
	h.Set("Content-Type", eventStream+"; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // keeps proxies from buffering
	if w.write("retry: "+strconv.FormatInt(reconnectAfter.Milliseconds(), 10)+"\n\n") != nil {
		return
	}
	news := make(chan string)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for {
			var events string
			err := domain.Safely(func() (err error) {
				events, err = next(ctx)
				return err
			})
			if domain.HasCode(err, domain.CodeInternal) {
				w.site.o.Log.ErrorContext(ctx, "a stream of events failed", "route", w.site.named(w.call.Context), "error", err)
			}
			if err != nil {
				return
			}
			select {
			case news <- events:
			case <-ctx.Done():
				return
			}
		}
	}()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case events := <-news:
			err = w.write(events)
		case <-beat.C:
			err = w.write(": still here\n\n")
		case <-w.place.ended:
			_ = w.write("event: end\ndata: session\n\n") // the client may have disconnected
			return
		case <-w.place.unknown:
			return // the browser reconnects and is identified again
		case <-w.place.displaced:
			_ = w.write("event: end\ndata: displaced\n\n")
			return
		case <-w.site.streams.closing:
			return // the browser reconnects to another process
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (w *streamWriter) write(text string) error {
	if err := w.control.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := w.call.Writer.WriteString(text); err != nil {
		return err
	}
	return w.control.Flush()
}
