package pages

import (
	"net/url"
	"slices"
)

// Filters is the line above a list: a search field, the active filters, each with a link that
// removes it, and the form with all filters, which is folded.
type Filters struct {
	Action string
	Search *Field  // nil: the list has no search
	Fields []Field // of the form
	Kept   []Kept  // other parameters of the page, such as its tab
	Active []Link
	Clear  string // link to the list without filters; empty: none is active

	Refused bool // a field has an error, so the form is open

	query url.Values
}

// NewFilters returns the filters of a list. The address of the list has the query. kept names the
// parameters that are no filters.
func NewFilters(action string, query url.Values, search *Field, fields []Field, kept ...string) *Filters {
	f := &Filters{Action: action, Search: search, Fields: fields, query: query}
	for _, name := range kept {
		if value := query.Get(name); value != "" {
			f.Kept = append(f.Kept, Kept{name, value})
		}
	}
	for i, field := range fields {
		f.Refused = f.Refused || field.Error != ""
		// A field may have a value already, in the layout that browsers expect of its type. A refused
		// value may not be one that browsers accept.
		text := query.Get(field.Name)
		if field.Value == "" && field.Error == "" {
			fields[i].Value = text
		}
		if text == "" {
			continue
		}
		if at := slices.IndexFunc(field.Options, func(o Option) bool { return o.Value == text }); at >= 0 {
			text = field.Options[at].Text
		}
		f.Active = append(f.Active, Link{Text: field.Label + ": " + text, Href: f.without(field.Name)})
	}
	if len(f.Active) > 0 || search != nil && search.Value != "" {
		names := []string{"q"}
		for _, field := range fields {
			names = append(names, field.Name)
		}
		f.Clear = f.without(names...)
	}
	return f
}

// without returns the address of the list without some parameters, from its first page on.
func (f *Filters) without(names ...string) string {
	left := url.Values{}
	for name, values := range f.query {
		if !slices.Contains(names, name) && name != "after" && name != "at" {
			left[name] = values
		}
	}
	if len(left) == 0 {
		return f.Action
	}
	return f.Action + "?" + left.Encode()
}

// SearchKeeps returns the hidden fields of the search form: all filters stay.
func (f *Filters) SearchKeeps() []Kept {
	kept := slices.Clone(f.Kept)
	for _, field := range f.Fields {
		if field.Value != "" {
			kept = append(kept, Kept{field.Name, field.Value})
		}
	}
	return kept
}

// FormKeeps returns the hidden fields of the form with the filters: the search text stays.
func (f *Filters) FormKeeps() []Kept {
	if f.Search == nil || f.Search.Value == "" {
		return f.Kept
	}
	return append(slices.Clone(f.Kept), Kept{f.Search.Name, f.Search.Value})
}
