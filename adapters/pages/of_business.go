package pages

import (
	"net/http"
	"regexp"
	"strings"

	"waybill/domain"
)

// ofBusiness names the form field with the business that the page shows. A session shows one
// business at a time, in all its windows. A page in another window may still show the previous one.
const ofBusiness = "of_business"

var postForm = regexp.MustCompile(`<form [^>]*method="post"[^>]*>`)

// nameBusiness adds the business to each form of a page. Text of other people cannot match: the
// template escapes it.
func nameBusiness(page []byte, b domain.ID) []byte {
	return postForm.ReplaceAll(page, []byte(`$0<input type="hidden" name="`+ofBusiness+`" value="`+string(b)+`">`))
}

// refuseOther refuses a form of a page that shows another business than the session does now. It
// reports whether it did. Forms of the person's account are exempt.
func (s *Site) refuseOther(c *Call, r Route) bool {
	of := c.Form.Get(ofBusiness)
	if r.Method != http.MethodPost || of == "" || of == string(c.Business()) || strings.HasPrefix(r.Path, "/account") {
		return false
	}
	s.Notice(c, http.StatusConflict, Notice{Tone: "bad", Title: "This form belongs to another business", Lines: []string{
		"You switched to another business in another window after you opened this page. Nothing was changed.",
		"To send the form, switch back to its business in Account, then open the page again.",
	}, Link: &Link{Href: c.At("/account"), Text: "Go to Account"}})
	return true
}
