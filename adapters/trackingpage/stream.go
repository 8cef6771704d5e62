package trackingpage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"waybill/application/deliveries"
	"waybill/domain"
)

// The timing of a stream. It ends after streamLife in any case, and the browser opens another
// one. If a delivery failed and is not tried again within patience, it ends for good.
const (
	heartbeat    = 15 * time.Second
	writeTimeout = 10 * time.Second
	reconnect    = 3 * time.Second
	streamLife   = time.Hour
	patience     = 30 * time.Minute
)

// stream sends every change as it happens. Last-Event-ID or, at first, the query names the
// state that the client has seen.
func (p *Pages) stream(c *gin.Context) {
	reference := c.Param("reference")
	found, ok := p.look(c, reference)
	if !ok {
		return
	}
	if c.Request.Method == http.MethodHead {
		c.Header("Content-Type", eventStream)
		c.Status(http.StatusOK)
		return
	}
	watch, err := p.watches.Watch(clientAddress(c), domain.Reference(reference), found)
	if errors.Is(err, deliveries.ErrTooManyWatches) {
		c.Header("Retry-After", "60")
		send(c, http.StatusServiceUnavailable, "text/plain; charset=utf-8",
			[]byte("Too many pages are open. This one does not update by itself. Refresh it.\n"))
		return
	}
	defer watch.Close()
	p.options.Metrics.streams.Inc()
	defer p.options.Metrics.streams.Dec()

	ctx, cancel := context.WithTimeout(c.Request.Context(), streamLife)
	defer cancel()
	s := &stream{
		pages: p, in: p.edition(c), reference: domain.Reference(reference), watch: watch,
		writer: c.Writer, control: http.NewResponseController(c.Writer),
	}
	// A disconnected client shows as a failed write: nobody is left to read an error.
	_ = s.run(ctx, seen(c), &found)
	// The end is written too, and the last deadline may have passed.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
}

const eventStream = "text/event-stream; charset=utf-8"

// seen returns the sequence that the client shows, or 0 if it does not say.
func seen(c *gin.Context) int {
	text := c.GetHeader("Last-Event-ID")
	if text == "" {
		text = c.Query("seen")
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// stream is one open stream.
type stream struct {
	pages     *Pages
	in        edition
	reference domain.Reference
	watch     *deliveries.Watch
	writer    gin.ResponseWriter
	control   *http.ResponseController
}

func (s *stream) run(ctx context.Context, sequence int, found *domain.Tracking) error {
	h := s.writer.Header()
	h.Set("Content-Type", eventStream)
	h.Set("X-Accel-Buffering", "no") // keeps proxies from buffering
	if err := s.write(fmt.Sprintf("retry: %d\n\n", reconnect.Milliseconds())); err != nil {
		return err
	}
	if found.Over() && found.Sequence <= sequence {
		return s.end()
	}
	given := patienceFor(found.Status)
	for {
		next, err := s.next(ctx, sequence, given)
		switch {
		case err != nil && ctx.Err() == nil:
			return s.end() // patience is over
		case err != nil:
			return err
		}
		sequence, given = next.Sequence, patienceFor(next.Status)
		if err := s.tell(&next); err != nil {
			return err
		}
		if next.Over() {
			return s.end()
		}
	}
}

func patienceFor(s domain.Status) time.Duration {
	if s == domain.Failed {
		return patience
	}
	return 2 * streamLife // the stream ends before
}

// next waits for a change, and sends heartbeats meanwhile.
func (s *stream) next(ctx context.Context, sequence int, given time.Duration) (domain.Tracking, error) {
	ctx, cancel := context.WithTimeout(ctx, given)
	defer cancel()
	for {
		beat, stop := context.WithTimeout(ctx, heartbeat)
		next, err := s.watch.Next(beat, sequence)
		stop()
		if err == nil || ctx.Err() != nil {
			return next, err
		}
		if err := s.write(": still here\n\n"); err != nil {
			return domain.Tracking{}, err
		}
	}
}

func (s *stream) tell(t *domain.Tracking) error {
	data, err := s.pages.render.change(show(s.in, s.reference, t))
	if err != nil {
		return err
	}
	return s.write(fmt.Sprintf("id: %d\nevent: change\ndata: %s\n\n", t.Sequence, data))
}

// end tells the script not to reconnect.
func (s *stream) end() error { return s.write("event: end\ndata: {}\n\n") }

func (s *stream) write(text string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.writer.WriteString(text); err != nil {
		return err
	}
	return s.control.Flush()
}
