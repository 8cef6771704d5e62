package pages

import (
	"net/http"
	"regexp"
	"strings"

	"waybill/domain"
)

// ofBusiness is the field of a form that tells which business its page shows. A session
// shows one at a time, in all its windows: a page that is still open in another window may
// be of the one before.
const ofBusiness = "of_business"

var postForm = regexp.MustCompile(`<form [^>]*method="post"[^>]*>`)

// nameBusiness puts a business into each form of a page. Text of other people cannot look
// like a form there: the template has escaped it.
func nameBusiness(page []byte, b domain.ID) []byte {
	return postForm.ReplaceAll(page, []byte(`$0<input type="hidden" name="`+ofBusiness+`" value="`+string(b)+`">`))
}

// refuseOther answers a form of a page that shows another business than the session does
// now, and reports whether it was one. What belongs to the person is of no business.
func (s *Site) refuseOther(c *Call, r Route) bool {
	of := c.Form.Get(ofBusiness)
	if r.Method != http.MethodPost || of == "" || of == string(c.Business()) || strings.HasPrefix(r.Path, "/account") {
		return false
	}
	s.Notice(c, http.StatusConflict, Notice{Tone: "bad", Title: "This form is of another business", Lines: []string{
		"Since its page was opened, another window went on to another business of yours. Nothing was changed.",
		"To send the form, show its business again under Account, and open the page once more.",
	}, Link: &Link{Href: c.At("/account"), Text: "Go to Account"}})
	return true
}
