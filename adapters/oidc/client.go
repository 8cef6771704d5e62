package oidc

import (
	"io"
	"net"
	"net/http"
	"time"
)

// newClient returns an HTTP client with a deadline for every step and a limit for every
// response.
func newClient() *http.Client {
	return &http.Client{
		Timeout: answerTimeout,
		Transport: bounded{&http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 3 * time.Second}).DialContext, TLSHandshakeTimeout: 3 * time.Second,
			ResponseHeaderTimeout: answerTimeout, MaxIdleConns: 4, MaxConnsPerHost: 8, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
		}},
		// A redirect would take the code and the secret along.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded cuts responses at maxAnswer: the library reads them whole.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	return answer, nil
}
