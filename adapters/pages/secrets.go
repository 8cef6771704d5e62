package pages

import (
	"encoding/base64"
	"encoding/hex"
	stdhtml "html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/gin-gonic/gin"

	"waybill/domain"
)

// secretTaken is in the address of a page out of whose address a secret was taken.
const secretTaken = "secret"

// withoutSecrets leads to the address without what is a secret in its query, for every page
// and every parameter: browsers keep addresses, and pages show what was searched for. It
// reports whether the answer is on its way.
func (s *Site) withoutSecrets(c *gin.Context) bool {
	if c.Request.URL.RawQuery == "" || c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead ||
		c.FullPath() == s.o.Prefix+companyBack { // what an identity provider sends has any form
		return false
	}
	// A semicolon is an ordinary character: net/url would leave out the parameter it stands in.
	query, _ := url.ParseQuery(strings.ReplaceAll(c.Request.URL.RawQuery, ";", "%3B"))
	kept, found := url.Values{}, false
	for name, values := range query {
		for _, value := range values {
			if !isSecret(name) && !isSecret(value) {
				kept.Add(name, value)
				continue
			}
			found = true
			if end := domain.KeyEnd(strings.TrimSpace(value)); end != "" && s.o.FindsKeys != "" && c.FullPath() == s.o.FindsKeys {
				kept.Add(name, end)
			}
		}
	}
	if !found {
		return false
	}
	kept.Set(secretTaken, "1")
	c.Header("Location", "?"+kept.Encode()) // of the same path, whatever that is
	c.AbortWithStatus(http.StatusSeeOther)
	return true
}

// secretLink is a link that lets in once.
var secretLink = regexp.MustCompile(`/(enter|view)/[A-Za-z0-9_-]{43}`)

// encoded is a part of a text that may be base64 of something with a secret in it.
var encoded = regexp.MustCompile(`[A-Za-z0-9+/_-]{16,}`)

// hexed is a part of a text that may be a secret in hexadecimal.
var hexed = regexp.MustCompile(`[0-9A-Fa-f]{16,}`)

// mostEncoded is how often a text is decoded, which ends before where nothing changes any more.
const mostEncoded = 8

// isSecret reports whether a text has a secret in it, also that of a link or a session. Mail
// programs, search engines and pages encode a link within a link of theirs, each once more.
func isSecret(text string) bool {
	for range mostEncoded {
		// Words that are joined may look like a secret that has no prefix, so that is looked for
		// in the text as it is.
		if joined := visible(text); domain.HoldsBearerSecret(text) || holdsSecret(text) || joined != text && holdsSecret(joined) {
			return true
		}
		plain := stdhtml.UnescapeString(domain.Unescaped(text))
		if plain == text {
			return false
		}
		text = plain
	}
	return true // nobody encodes so often what others may read
}

// holdsSecret reports whether a text has a secret in it that its beginning tells, also in
// hexadecimal, or in base64 as a header for basic authentication has it.
func holdsSecret(text string) bool {
	if domain.HoldsSecret(text) || secretLink.MatchString(text) {
		return true
	}
	for _, word := range encoded.FindAllString(strings.NewReplacer("-", "+", "_", "/").Replace(text), -1) {
		for at := range 4 { // letters of something else may stand before it
			whole := word[at:]
			decoded, _ := base64.StdEncoding.DecodeString(whole[:len(whole)/4*4]) // of no more than these letters
			if domain.HoldsSecret(string(decoded)) {
				return true
			}
		}
	}
	for _, word := range hexed.FindAllString(text, -1) {
		for at := range 2 { // a digit of something else may stand before it
			decoded, _ := hex.DecodeString(word[at:]) // as far as it goes
			if domain.HoldsSecret(string(decoded)) || secretLink.Match(decoded) {
				return true
			}
		}
	}
	return false
}

// visible is a text without white space and what nobody sees, such as a soft hyphen.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf) {
			return -1
		}
		return r
	}, text)
}
