package pages

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"waybill/adapters/brand"
)

//go:embed parts
var parts embed.FS

// Link leads to another page.
type Link struct {
	Href, Text, Icon string
	// Current marks a menu entry: "page" on the page itself, "true" on pages below it, empty
	// elsewhere.
	Current string
}

// Who describes the signed-in person.
type Who struct{ Name, Role, Place, SignOut string }

// Search is the search field at the top of each page.
type Search struct{ Action, Label, Value string }

// Page holds what the layout shows.
type Page struct {
	Title  string
	Site   string      // the site's name, next to the company's
	Brand  brand.Brand // of the company
	Help   bool        // the page ends with the company's support contact
	Home   string      // link of the logo
	Place  string      // of the person, next to the role
	Banner *Banner     // above a page that staff see as a customer; nil: there is none
	Over   *Over       // above a page about one record; nil: there is none
	Menu   []MenuGroup // empty: a page without a menu, such as the sign-in page
	Wide   bool        // the content takes the width of the window
	Who    *Who
	Find   *Search  // search field at the top; nil: there is none
	Switch *Switch  // of the environment and the application; nil: there is none
	Warn   []Notice // above the content of every page
	Errors []Fault  // fields of a refused form; they have the focus
	Body   any      // data of the template "content"
}

// Switch chooses the environment and the application that the pages show.
type Switch struct {
	Live         bool
	Environments []Link // empty: the page is about one environment only
	Application  string // the name of the chosen one, or of all
	Applications []Link // empty: there is no choice
}

// Fault is a field of a refused form, with its message.
type Fault struct{ ID, Label, Message string }

// MenuGroup is a part of the menu. The first one may have no name.
type MenuGroup struct {
	Name  string
	Links []Link
}

// Over is the heading above pages about one record, such as a customer: name, state and other pages
// of the record.
type Over struct {
	Title, Href string
	Tag         string // for an unusual state; empty: none
	Tabs        Tabs
}

// Banner says that the page is a view, and has the form that ends it.
type Banner struct {
	Title, Reason  string
	Until          time.Time
	Action, Button string
}

// Field is a field of a form.
type Field struct {
	ID, Name, Label, Hint, Type, Value, Error, Autocomplete string
	Required                                                bool
	MinLength, MaxLength                                    int
	Options                                                 []Option
}

// describedBy returns the IDs of the elements that explain the field.
func describedBy(f Field) string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.ID+"-error")
	}
	return strings.Join(ids, " ")
}

// Option is a choice that a field offers.
type Option struct {
	Value, Text string
	Chosen      bool
}

// Notice holds a message at the top of a page, or in place of an empty list. The tone is good,
// warn, bad or empty.
type Notice struct {
	Tone, Title string
	Lines       []string
	Link        *Link
}

// Secret holds a secret that is shown only once.
type Secret struct{ Title, Note, Label, Secret string }

// Passkey is a form that a browser completes with a passkey.
type Passkey struct {
	Action string // address for the response, in the fields ceremony and passkey
	Ask    string // address of the WebAuthn options
	Origin string // of the pages; passkeys work only there
	Kept   []Kept
	Name   *Field // field for the name of the passkey; nil: none
	Button string
	Second bool // the page has another main button
	// Instead says what a reader without JavaScript does. Why says why passkeys do not work at this
	// address; empty: they do.
	Instead, Why string
}

// Kept is a hidden field of a form.
type Kept struct{ Name, Value string }

// Code is a text with a copy button.
type Code struct{ ID, Text string }

// Tabs lists pages of the same record.
type Tabs struct {
	Label string
	Tabs  []Link
}

// Count formats a number for people: 52,082.
func Count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Set holds the pages of a site. Each page is parsed when it is first shown. Every page has a copy
// of the parts: parsed up front, they would be most of the server's memory and of the work of each
// garbage collection.
type Set struct {
	byName map[string]func() (*template.Template, error)
}

// Reader says who reads the pages of a business.
type Reader bool

// The two readers: the people of the business, and staff.
const (
	ForReader Reader = false
	ForStaff  Reader = true
)

// Parse reads the pages of a site, the files in folders named html. Each defines "content" and may
// use the parts. The prefix is put before the site's paths and before /assets/, where the site
// calls ServeAsset. Templates write {{at "/path"}} for a path of the site, and {{if staff}} before
// text for staff only.
func Parse(prefix string, who Reader, edge ...fs.FS) (*Set, error) {
	kit, err := template.New("").Funcs(template.FuncMap{
		"asset":       func(file string) string { return prefix + "/assets/" + assets()[file].name },
		"at":          func(to string) string { return prefix + to },
		"count":       Count,
		"describedBy": describedBy,
		"staff":       func() bool { return who == ForStaff },
		"utc":         func(layout string, t time.Time) string { return t.UTC().Format(layout) },
		"zero":        time.Time.IsZero,
	}).ParseFS(parts, "parts/*.html")
	if err != nil {
		return nil, err
	}
	s := &Set{byName: map[string]func() (*template.Template, error){}}
	for _, files := range edge {
		names, err := fs.Glob(files, "html/*.html")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			s.byName[strings.TrimSuffix(path.Base(name), ".html")] = sync.OnceValues(func() (*template.Template, error) {
				page, err := kit.Clone()
				if err != nil {
					return nil, err
				}
				return page.ParseFS(files, name)
			})
		}
	}
	return s, nil
}

// Render renders a page, by the name of its file.
func (s *Set) Render(name string, p Page) ([]byte, error) { return s.RenderPart(name, "layout", p) }

// RenderPart renders a part of a page, by the name of its template.
func (s *Set) RenderPart(name, part string, data any) ([]byte, error) {
	parse, ok := s.byName[name]
	if !ok {
		return nil, fmt.Errorf("there is no page %s", name)
	}
	page, err := parse()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = page.ExecuteTemplate(&b, part, data)
	return b.Bytes(), err
}
