package backend

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

// DexVisitor is a browser without scripts at the pages of a Dex.
type DexVisitor struct{ client *http.Client }

// NewDexVisitor has no cookies yet.
func NewDexVisitor() *DexVisitor {
	jar, _ := cookiejar.New(nil) // fails never without options
	return &DexVisitor{client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

var formAction = regexp.MustCompile(`<form method="post" action="([^"]*)"`)

// SignIn opens an address of the provider, signs in where it is asked to, grants access,
// and returns the address to which the provider sends the browser; asked tells whether
// the password was asked for.
func (v *DexVisitor) SignIn(ctx context.Context, address, email string) (back *url.URL, asked bool, err error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, false, err
	}
	provider, form := at.Host, url.Values(nil)
	for range 12 {
		if at.Host != provider {
			return at, asked, nil
		}
		page, next, err := v.open(ctx, at, form)
		form = nil
		switch {
		case err != nil:
			return nil, asked, err
		case next != nil:
			at = next
		case strings.Contains(page, `name="password"`):
			if asked {
				return nil, asked, fmt.Errorf("%s was not let in at %s", email, at)
			}
			found := formAction.FindStringSubmatch(page)
			if found == nil {
				return nil, asked, fmt.Errorf("the page at %s has no form", at)
			}
			if at, err = at.Parse(html.UnescapeString(found[1])); err != nil {
				return nil, asked, err
			}
			asked, form = true, url.Values{"login": {email}, "password": {DexPassword}, "remember_me": {"on"}}
		case strings.Contains(page, `value="approve"`):
			form = url.Values{"req": {at.Query().Get("req")}, "approval": {"approve"}}
		default:
			return nil, asked, fmt.Errorf("the page at %s is not known: %.2000s", at, page)
		}
	}
	return nil, asked, fmt.Errorf("the provider leads from page to page, last to %s", at)
}

// open gets a page, or posts a form to it; next is where it leads.
func (v *DexVisitor) open(ctx context.Context, at *url.URL, form url.Values) (page string, next *url.URL, err error) {
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, at.String(), strings.NewReader(body))
	if err != nil {
		return "", nil, err
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := v.client.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return "", nil, err
	}
	if answer.StatusCode >= 300 && answer.StatusCode < 400 {
		next, err = answer.Location()
	} else if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %.500s", at, answer.Status, text)
	}
	return string(text), next, err
}
