package portal

import (
	"waybill/adapters/pages"
	"waybill/domain"
)

// Route is a route as tests go through them.
type Route struct{ Method, Path string }

// Routes are all there are.
func Routes() (all []Route) {
	p := &Portal{Site: pages.Described(pages.Options{Site: domain.Portal, People: members})}
	for _, r := range append(p.Site.Routes(), p.routes()...) {
		all = append(all, Route{r.Method, r.Path})
	}
	return all
}

// DrawMachine is the state machine as a page shows it.
var DrawMachine = drawMachine

// Samples are a call in all languages.
func Samples(method, url string, body any) (texts []string) {
	call, err := apiCall{Method: method, URL: url, Headers: [][2]string{{"Idempotency-Key", "sample-1"}}}.withBody(body)
	if err != nil {
		panic(err)
	}
	for _, s := range call.samples("x") {
		texts = append(texts, s.Text)
	}
	return texts
}

// ReferenceIn is what a row of the inbox is called by.
var ReferenceIn = referenceIn
