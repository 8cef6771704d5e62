package trackingpage_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

// event is one event of a stream. A comment has only its text.
type event struct{ id, name, data, comment string }

// listener reads a stream.
type listener struct {
	response *http.Response
	lines    *bufio.Reader
	hangUp   context.CancelFunc
}

// listen opens the stream of a delivery for a client that has seen a sequence.
func (s *scene) listen(t *testing.T, r domain.Reference, address, query, lastEventID string) *listener {
	t.Helper()
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/"+string(r)+"/stream"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Forwarded-For", address)
	if lastEventID != "" {
		request.Header.Set("Last-Event-ID", lastEventID)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return &listener{response: response, lines: bufio.NewReader(response.Body), hangUp: cancel}
}

// next returns the next event, retry lines aside, or io.EOF when the stream is over.
func (l *listener) next(t *testing.T) (e event, err error) {
	t.Helper()
	for {
		line, err := l.lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case line == "\n" && e != event{}:
			return e, nil
		case field == "id":
			e.id = value
		case field == "event":
			e.name = value
		case field == "data":
			e.data = value
		case strings.HasPrefix(line, ":"):
			e.comment = line
		}
	}
}

func (l *listener) want(t *testing.T, id, name, part string) event {
	t.Helper()
	e, err := l.next(t)
	if err != nil || e.id != id || e.name != name || !strings.Contains(e.data, part) {
		t.Fatalf("%+v, %v; want %s %q with %q", e, err, name, id, part)
	}
	return e
}

func (l *listener) wantEnd(t *testing.T) {
	t.Helper()
	l.want(t, "", "end", "")
	if e, err := l.next(t); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %+v, %v", e, err)
	}
}

func TestAChangeComesToAllWatchers(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.book(t, domain.Sandbox, marked)
	// The server's request timeout, a second, passes before the change.
	one, two := s.listen(t, d.Reference, "192.0.2.1", "?seen=1", ""), s.listen(t, d.Reference, "192.0.2.2", "?seen=1", "")
	if h := one.response.Header; one.response.StatusCode != http.StatusOK || h.Get("Content-Type") != "text/event-stream; charset=utf-8" ||
		h.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d, %v", one.response.StatusCode, h)
	}
	if n := s.streams(t); n != 2 {
		t.Errorf("%v streams", n)
	}
	s.move(t, d, "", domain.Assigned)
	for _, l := range []*listener{one, two} {
		e := l.want(t, "2", "change", "")
		var change struct{ Title, HTML string }
		if err := json.Unmarshal([]byte(e.data), &change); err != nil ||
			!strings.Contains(change.HTML, "<h1>A rider will collect your parcel</h1>") ||
			change.Title != "A rider will collect your parcel - Adom Foods" {
			t.Errorf("%v: %+v", err, change)
		}
		wantNoMarkers(t, "an event", e.data, d)
	}
	s.move(t, d, "", domain.PickedUp, domain.InTransit, domain.Delivered)
	for _, l := range []*listener{one, two} {
		l.want(t, "5", "change", "Your parcel has arrived")
		l.wantEnd(t)
	}
	s.eventually(t, "no stream is left", func() bool { return s.streams(t) == 0 })
	looks := s.storage.looks.Load()
	if body := s.get(t, d.Reference).body; strings.Contains(body, "data-stream") || s.storage.looks.Load() != looks+1 {
		t.Errorf("what is over is still looked at: %d", s.storage.looks.Load()-looks)
	}
}

func TestAStreamBeginsWithWhatWasMissed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.book(t, domain.Live)
	s.move(t, d, "", domain.Assigned)
	for name, c := range map[string]struct{ query, last string }{
		"the page is older":           {"?seen=1", ""},
		"the stream broke":            {"?seen=0", "1"},
		"nothing is said":             {"", ""},
		"what is said is no sequence": {"?seen=x", "-1"},
	} {
		t.Run(name, func(t *testing.T) {
			s.listen(t, d.Reference, "192.0.2.1", c.query, c.last).want(t, "2", "change", "A rider will collect your parcel")
		})
	}
	s.move(t, d, "", domain.PickedUp, domain.InTransit, domain.Delivered)
	late := s.listen(t, d.Reference, "192.0.2.1", "", "2")
	late.want(t, "5", "change", "Your parcel has arrived")
	late.wantEnd(t)
	s.listen(t, d.Reference, "192.0.2.1", "?seen=5", "").wantEnd(t)
	s.listen(t, d.Reference, "192.0.2.1", "?seen=1", "5").wantEnd(t)
}

func TestOneAddressHasTenStreamsAndThePageStaysUsable(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.book(t, domain.Live)
	var open []*listener
	for range 10 {
		l := s.listen(t, d.Reference, "192.0.2.1", "", "")
		l.want(t, "1", "change", "")
		open = append(open, l)
	}
	refused := s.listen(t, d.Reference, "192.0.2.1", "", "")
	if refused.response.StatusCode != http.StatusServiceUnavailable || refused.response.Header.Get("Retry-After") == "" {
		t.Errorf("the eleventh: %d, %v", refused.response.StatusCode, refused.response.Header)
	}
	if got := s.ask(t, http.MethodGet, "/"+string(d.Reference), "192.0.2.1").StatusCode; got != http.StatusOK {
		t.Errorf("the page: %d", got)
	}
	s.listen(t, d.Reference, "192.0.2.2", "", "").want(t, "1", "change", "")
	open[0].hangUp()
	s.eventually(t, "who leaves makes room", func() bool {
		return s.listen(t, d.Reference, "192.0.2.1", "", "").response.StatusCode == http.StatusOK
	})
}

// eventually waits for a condition.
func (s *scene) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); <-time.After(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("not so after a minute: %s", what)
		}
	}
}
