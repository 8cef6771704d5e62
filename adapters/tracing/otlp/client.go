package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"waybill/domain"
)

const maxReply = 64 << 10 // bytes of an answer of the collector, which the log may show

// retries are for a collector that says it is busy. The batcher gives up after
// OTEL_BSP_EXPORT_TIMEOUT, 30 s where it is not set.
var retries = domain.RetrySchedule{5 * time.Second, 10 * time.Second, 20 * time.Second}

// client brings spans to the collector as OTLP over HTTP, in protobuf.
type client struct {
	settings
	http    http.Client
	running context.Context // ends with the program
	stop    context.CancelFunc
}

var _ otlptrace.Client = (*client)(nil)

func newClient(s settings) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = s.tls
	running, stop := context.WithCancel(context.Background())
	return &client{settings: s, http: http.Client{Transport: transport, Timeout: s.timeout}, running: running, stop: stop}
}

// Start connects to nothing: the first batch does.
func (c *client) Start(context.Context) error { return nil }

// Stop ends what is being sent.
func (c *client) Stop(context.Context) error {
	c.stop()
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends a batch, and once more where the collector asks for it, until ctx ends.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans}) // on the wire the same as a request to export
	if err != nil {
		return err
	}
	if c.packed {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(body) // a buffer takes everything
		_ = w.Close()
		body = b.Bytes()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.running, cancel)()
	for failures := 1; ; failures++ {
		retryAfter, busy, err := c.post(ctx, body)
		if !busy {
			return err
		}
		wait, some := retries.Wait(failures, retryAfter, rand.Float64()) //nolint:gosec // spreads retries
		if !some {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// post sends a body once. busy asks for another try, after retryAfter at least.
func (c *client) post(ctx context.Context, body []byte) (retryAfter time.Duration, busy bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return 0, false, err
	}
	request.Header = c.header.Clone()
	response, err := c.http.Do(request)
	if err != nil {
		return 0, false, err
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if response.StatusCode/100 == 2 {
		if rejected, why := partialSuccess(reply); rejected > 0 {
			err = fmt.Errorf("the collector rejected %d spans of a batch: %s", rejected, why)
		}
		return 0, false, err
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		busy = true
	}
	return time.Duration(seconds) * time.Second, busy,
		fmt.Errorf("the collector answers %s: %q", response.Status, strings.TrimSpace(string(reply)))
}

// partialSuccess reads how many spans the answer of a collector says it rejected: the first
// field of a message that is the first field of the answer.
func partialSuccess(reply []byte) (rejected uint64, why string) {
	for field, value := range fields(reply) {
		if field != 1 {
			continue
		}
		for field, value := range fields(value) {
			switch field {
			case 1:
				rejected, _ = protowire.ConsumeVarint(value)
			case 2:
				why = string(value)
			}
		}
	}
	return rejected, why
}

// fields are those of a message up to the first that cannot be read, without what stands
// before their content.
func fields(message []byte) func(yield func(protowire.Number, []byte) bool) {
	return func(yield func(protowire.Number, []byte) bool) {
		for len(message) > 0 {
			number, kind, n := protowire.ConsumeTag(message)
			if n < 0 {
				return
			}
			length := protowire.ConsumeFieldValue(number, kind, message[n:])
			if length < 0 {
				return
			}
			value := message[n : n+length]
			if kind == protowire.BytesType {
				value, _ = protowire.ConsumeBytes(value)
			}
			if message = message[n+length:]; !yield(number, value) {
				return
			}
		}
	}
}
