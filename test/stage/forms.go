package stage

import (
	"html"
	"net/url"
	"regexp"
	"strings"
)

var (
	formTag     = regexp.MustCompile(`(?s)<form[^>]*method="post"[^>]*>.*?</form>`)
	formAction  = regexp.MustCompile(`^[^>]*action="([^"]*)"`)
	inputTag    = regexp.MustCompile(`<input[^>]*>`)
	anAttribute = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// Form is a form of a page that changes something.
type Form struct {
	Action string // empty: the page's own address
	Fields url.Values
	text   string
}

// Forms returns the forms of a page, with their hidden and filled fields.
func Forms(page string) (all []Form) {
	for _, text := range formTag.FindAllString(page, -1) {
		f := Form{Fields: url.Values{}, text: text}
		if m := formAction.FindStringSubmatch(text); m != nil {
			f.Action = html.UnescapeString(m[1])
		}
		for _, input := range inputTag.FindAllString(text, -1) {
			attributes := map[string]string{}
			for _, m := range anAttribute.FindAllStringSubmatch(input, -1) {
				attributes[m[1]] = m[2]
			}
			if attributes["type"] != "checkbox" || strings.Contains(input, " checked") {
				f.Fields.Add(attributes["name"], html.UnescapeString(attributes["value"]))
			}
		}
		all = append(all, f)
	}
	return all
}

// Has reports whether the form has a button or another element whose text begins so.
func (f Form) Has(text string) bool { return strings.Contains(f.text, ">"+text) }

// RouteOf returns the route that a method and a path lead to, of those in a table by method and
// pattern: the one with the fewest parameters where several match, and none if it is empty.
func RouteOf[R any](table map[string]R, method, path string) (route string) {
	path, _, _ = strings.Cut(path, "?")
	given := strings.Split(path, "/")
	for key := range table {
		verb, pattern, _ := strings.Cut(key, " ")
		parts := strings.Split(pattern, "/")
		fits := verb == method && len(parts) == len(given)
		for i := 0; fits && i < len(parts); i++ {
			fits = strings.HasPrefix(parts[i], ":") || parts[i] == given[i]
		}
		if fits && (route == "" || strings.Count(key, ":") < strings.Count(route, ":")) {
			route = key
		}
	}
	return route
}
