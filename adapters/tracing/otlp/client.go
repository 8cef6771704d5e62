package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	tries    = 3
	pause    = 200 * time.Millisecond // before the second try; then twice as long
	maxReply = 64 << 10
)

// client posts spans to one collector.
type client struct {
	settings
	http *http.Client
}

func newClient(s settings) *client {
	return &client{settings: s, http: &http.Client{
		Timeout: s.timeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.tls, ForceAttemptHTTP2: true,
			MaxIdleConns: 2, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: s.timeout,
		},
		// Headers may hold a secret that is for the collector alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start connects to nothing: the first spans do.
func (c *client) Start(context.Context) error { return nil }

// Stop closes the connections that are kept.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces posts the spans, up to three times while the collector is busy or
// does not answer.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// On the wire this is an ExportTraceServiceRequest; that one is declared
	// beside its gRPC service.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	if c.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(body) // to memory
		_ = w.Close()
		body = packed.Bytes()
	}
	for try := 1; ; try++ {
		again, err := c.post(ctx, body)
		if err == nil || !again || try == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause << (try - 1)):
		}
	}
}

// post posts once, and tells whether to try again makes sense.
func (c *client) post(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the address of the collector cannot be used")
	}
	req.Header = c.header.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "waybill")
	if c.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := c.http.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address, which may hold a password
		}
		return true, fmt.Errorf("the collector does not answer: %w", err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxReply)) // so that the connection is kept
	switch {
	case res.StatusCode/100 == 2:
		return false, nil
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 502 && res.StatusCode <= 504:
		return true, fmt.Errorf("the collector answered %d", res.StatusCode)
	}
	return false, fmt.Errorf("the collector answered %d", res.StatusCode)
}
