package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
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

const (
	maxReply = 64 << 10 // bytes of an answer of the collector
	maxTold  = 1000     // of these in the log
)

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
	transport.MaxResponseHeaderBytes = maxReply
	running, stop := context.WithCancel(context.Background())
	return &client{settings: s, running: running, stop: stop, http: http.Client{
		Transport: transport, Timeout: s.timeout,
		// Elsewhere the headers, which may be secrets, are for others.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
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
	if c.header.Get("Content-Encoding") == "gzip" {
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
		if end, bounded := ctx.Deadline(); !some || bounded && time.Until(end) < wait {
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
		var slow net.Error
		return 0, errors.As(err, &slow) && slow.Timeout() && ctx.Err() == nil, err
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if response.StatusCode/100 == 2 {
		if rejected, why := partialSuccess(reply); rejected > 0 && response.Header.Get("Content-Type") == protobufType {
			err = fmt.Errorf("the collector rejected %d spans of a batch: %q", rejected, why)
		}
		return 0, false, err
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		busy = true
	}
	return retryAfterOf(response.Header.Get("Retry-After")), busy, fmt.Errorf("the collector answers %d %s: %q", response.StatusCode,
		http.StatusText(response.StatusCode), strings.TrimSpace(string(reply[:min(len(reply), maxTold)])))
}

// retryAfterOf reads seconds or a date; 0 is none that can be read.
func retryAfterOf(value string) time.Duration {
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return time.Until(at)
	}
	return 0
}

// partialSuccess reads how many spans the answer of a collector says it rejected: the first
// field of a message that is the first field of the answer.
func partialSuccess(reply []byte) (rejected int64, why string) {
	for f := range fields(reply) {
		if f.number != 1 || f.kind != protowire.BytesType {
			continue
		}
		for f := range fields(f.content) {
			switch {
			case f.number == 1 && f.kind == protowire.VarintType:
				n, _ := protowire.ConsumeVarint(f.content)
				rejected = int64(n) //nolint:gosec // it was made of one
			case f.number == 2 && f.kind == protowire.BytesType:
				why = string(f.content)
			}
		}
	}
	return rejected, why[:min(len(why), maxTold)]
}

type wireField struct {
	number  protowire.Number
	kind    protowire.Type
	content []byte // without what stands before it
}

// fields are those of a message up to the first that cannot be read.
func fields(message []byte) iter.Seq[wireField] {
	return func(yield func(wireField) bool) {
		for len(message) > 0 {
			number, kind, n := protowire.ConsumeTag(message)
			if n < 0 {
				return
			}
			length := protowire.ConsumeFieldValue(number, kind, message[n:])
			if length < 0 {
				return
			}
			f := wireField{number, kind, message[n : n+length]}
			if kind == protowire.BytesType {
				f.content, _ = protowire.ConsumeBytes(f.content)
			}
			if message = message[n+length:]; !yield(f) {
				return
			}
		}
	}
}
