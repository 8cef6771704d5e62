package contract

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing/iotest"
)

// Transport checks every answer under /v1 that passes through base (nil: the
// default one) and hands what is wrong to report, such as func(err error) {
// t.Error(err) }. The caller gets the response as it came, its body already
// read and buffered. An answer that breaks off in its body is not judged.
func (d *Document) Transport(base http.RoundTripper, report func(error)) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return transport{doc: d, base: base, report: report}
}

type transport struct {
	doc    *Document
	base   http.RoundTripper
	report func(error)
}

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if _, ours := relative(req.URL.Path); !ours {
		return res, nil
	}
	body, err := io.ReadAll(res.Body)
	closeErr := res.Body.Close()
	if err != nil {
		res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), iotest.ErrReader(err)))
		return res, nil
	}
	if closeErr != nil {
		return nil, fmt.Errorf("close response body: %w", closeErr)
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if err := t.doc.Check(req, res, body); err != nil {
		t.report(err)
	}
	return res, nil
}
