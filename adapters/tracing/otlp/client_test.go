package otlp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
)

// answers is a collector that gives one after the other, and the last one for good.
type answers struct {
	list  []http.Response
	calls []time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	a.calls = append(a.calls, time.Now())
	if len(a.list) == 0 { // hangs
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	response := a.list[0]
	if len(a.list) > 1 {
		a.list = a.list[1:]
	}
	if response.Body == nil {
		response.Body = http.NoBody
	}
	return &response, nil
}

func body(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

func upload(ctx context.Context, t *testing.T, a *answers) (*client, error) {
	t.Helper()
	s, err := read(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"})
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(s)
	c.http.Transport = a
	return c, c.UploadTraces(ctx, []*tracepb.ResourceSpans{{}})
}

func TestACollectorThatIsBusyIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []http.Response{
			{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"9"}}},
			{StatusCode: http.StatusServiceUnavailable},
			{StatusCode: http.StatusOK},
		}}
		if _, err := upload(t.Context(), t, a); err != nil {
			t.Fatal(err)
		}
		if len(a.calls) != 3 {
			t.Fatalf("%d requests, want 3", len(a.calls))
		}
		if first, second := a.calls[1].Sub(a.calls[0]), a.calls[2].Sub(a.calls[1]); first != 9*time.Second || second < 8*time.Second {
			t.Fatalf("waits of %v and %v, want what was asked for, and then the longer one", first, second)
		}
	})
}

func TestACollectorThatIsSilentIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, begun := &answers{}, time.Now()
		if _, err := upload(t.Context(), t, a); err == nil || len(a.calls) != 4 {
			t.Fatalf("%v, %d requests, want 4 that failed", err, len(a.calls))
		}
		if took := time.Since(begun); took < 40*time.Second || took > 2*time.Minute {
			t.Fatalf("given up after %v", took)
		}
	})
}

func TestWhenToTryAgainIsReadInBothForms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for value, want := range map[string]time.Duration{
			"7": 7 * time.Second, time.Now().Add(time.Minute).UTC().Format(http.TimeFormat): time.Minute, "": 0, "soon": 0, "99999999999": 0,
		} {
			if got := retryAfterOf(value); got != want {
				t.Errorf("%q: %v, want %v", value, got, want)
			}
		}
	})
}

func TestWhatACollectorRefusesIsNotSentAgain(t *testing.T) {
	t.Parallel()
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), "too old")
	partial = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
	protobuf := http.Header{"Content-Type": {protobufType}}
	for what, c := range map[string]struct {
		answer http.Response
		want   string
	}{
		"a batch": {http.Response{StatusCode: 400, Status: "400 Bad Request", Body: body("no spans\n")}, `400 Bad Request: "no spans"`},
		"some of a batch": {http.Response{StatusCode: 200, Header: protobuf, Body: body(string(partial))},
			`rejected 3 spans of a batch: "too old"`},
		"nothing":           {http.Response{StatusCode: 200}, ""},
		"what is no answer": {http.Response{StatusCode: 200, Header: protobuf, Body: body("\xff\xff")}, ""},
		"what is a page":    {http.Response{StatusCode: 200, Body: body(string(partial))}, ""},
		"another place":     {http.Response{StatusCode: 307, Header: http.Header{"Location": {"http://elsewhere/"}}}, "307 Temporary Redirect"},
		"with an essay":     {http.Response{StatusCode: 400, Body: body(strings.Repeat("x", 9000))}, "400 Bad Request"},
	} {
		a := &answers{list: []http.Response{c.answer}}
		_, err := upload(t.Context(), t, a)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
		if len(a.calls) != 1 {
			t.Errorf("%s: %d requests, want 1", what, len(a.calls))
		}
		if err != nil && len(err.Error()) > 1100 {
			t.Errorf("%s: an error of %d characters", what, len(err.Error()))
		}
	}
}

func TestACollectorThatStaysBusyIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if _, err := upload(t.Context(), t, &answers{list: []http.Response{{StatusCode: 503, Status: "503"}}}); err == nil {
			t.Fatal("it took nothing, and that is no error")
		}
		if took := time.Since(begun); took > time.Minute {
			t.Fatalf("given up after %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		_, err := upload(ctx, t, &answers{list: []http.Response{{StatusCode: 503, Status: "503"}}})
		if took := time.Since(begun); err == nil || took != 0 {
			t.Fatalf("%v after %v, want an error at once where the next try would come too late", err, took)
		}
	})
}

func TestTheEndOfTheProgramEndsWhatIsBeingSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := read(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"})
		if err != nil {
			t.Fatal(err)
		}
		c := newClient(s)
		c.http.Transport, c.http.Timeout = &answers{}, 0
		ended := make(chan error)
		go func() { ended <- c.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{}}) }()
		synctest.Wait()
		if err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, want that it is over", err)
		}
	})
}
