package pages

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"waybill/domain"
)

// The pace of a stream. It ends after streamLife in any case, and the browser opens
// another one.
const (
	heartbeat      = 15 * time.Second
	streamWrite    = 10 * time.Second // a reader that takes nothing for so long is gone
	reconnectAfter = 2 * time.Second
	streamLife     = time.Hour
)

const eventStream = "text/event-stream"

// WantsStream reports that the reader takes a stream of server-sent events. Where it does
// not, the answer is on its way: a HEAD ends at once, and a reader that wants a page is led
// to instead, a path of the site.
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

// Stream sends events to the reader until the reader, the session, the role or the server
// ends. next waits for what is new, and gives it as the text of events; after an error of
// it the stream stays open and says nothing more. It runs in one goroutine of its own,
// which ends with the context that it gets.
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
	// The end is written too, and the last time may have been a while ago.
	_ = w.control.SetWriteDeadline(time.Now().Add(streamWrite))
	return nil
}

// streamWriter is a stream that is open.
type streamWriter struct {
	site    *Site
	call    *Call
	place   *stream
	control *http.ResponseController
}

// run ends when the reader, the session or the server does; each of them shows as an error
// of what is done next, and there is no reader to tell.
func (w *streamWriter) run(ctx context.Context, next func(context.Context) (string, error)) {
	h := w.call.Writer.Header()
	h.Set("Content-Type", eventStream+"; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // proxies pass it on at once
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
			_ = w.write("event: end\ndata: session\n\n") // the reader may have gone
			return
		case <-w.place.unknown:
			return // the browser comes again by itself, and is asked who it is
		case <-w.place.displaced:
			_ = w.write("event: end\ndata: displaced\n\n")
			return
		case <-w.site.streams.closing:
			return // the browser comes again, to another process
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
