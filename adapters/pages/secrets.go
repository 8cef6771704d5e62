package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

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

// word is a part of a text that may be the secret of a link or a session.
var word = regexp.MustCompile(`[A-Za-z0-9_-]+`)

// isSecret reports whether a text has a secret in it, also that of a link or a session.
func isSecret(text string) bool {
	return domain.HoldsSecret(text) || secretLink.MatchString(text) || slices.ContainsFunc(word.FindAllString(text, -1), domain.IsBearerSecret)
}
