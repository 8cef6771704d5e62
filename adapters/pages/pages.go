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
)

//go:embed parts
var parts embed.FS

// Link leads to another page.
type Link struct {
	Href, Text, Icon string
	// Current is how the entry of a menu is marked: "page" on the page itself, "true"
	// on those below it, empty elsewhere.
	Current string
}

// Who is the person with the session.
type Who struct{ Name, Role, Place, SignOut string }

// Search is a field in the head of each page that looks everywhere.
type Search struct{ Action, Label, Value string }

// Page is what the layout shows.
type Page struct {
	Title  string
	Site   string  // what stands beside the logo
	Home   string  // where the logo leads
	Place  string  // of the person, beside the role
	Banner *Banner // above the content of a page that is seen in another's place; nil: there is none
	Over   *Over   // above the content of a page about one record; nil: there is none
	Menu   []Link  // empty: a page by itself, such as that for signing in
	Who    *Who
	Find   *Search  // the field for searching in its head; nil: there is none
	Warn   []Notice // above what every page shows
	Body   any      // what the template "content" of the page gets
}

// Over stands above the pages about one record, such as a customer: its name, its state and
// what else there is of it.
type Over struct {
	Title, Href string
	Tag         string // of a state that is not the usual one; empty: none
	Tabs        Tabs
}

// Banner says in which way a page is seen, and has the form that ends this.
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

// describedBy are the IDs of the elements that explain the field.
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

// Option is one of those that a field offers.
type Option struct {
	Value, Text string
	Chosen      bool
}

// Notice tells something at the top of a page, or that a list is empty. The tone is
// good, warn, bad or empty.
type Notice struct {
	Tone, Title string
	Lines       []string
	Link        *Link
}

// Secret is shown once.
type Secret struct{ Title, Note, Label, Secret string }

// Passkey is a form that a browser answers with a passkey.
type Passkey struct {
	Action string // where the answer goes, in the fields ceremony and passkey
	Ask    string // where the browser asks for options
	Origin string // of the pages; browsers have passkeys there alone
	Kept   []Kept
	Name   *Field // for a name of the passkey; nil: none is asked for
	Button string
	Second bool // the button is not the first of the page
	// Instead is what a reader without JavaScript does, and Why, unless it is empty, the
	// reason why passkeys do not work at this address.
	Instead, Why string
}

// Kept is a field of a form that goes with it unseen.
type Kept struct{ Name, Value string }

// Code is a text to be copied.
type Code struct{ ID, Text string }

// Tabs are pages beside each other.
type Tabs struct {
	Label string
	Tabs  []Link
}

// Count is a number as people read it: 52,082.
func Count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Set are the pages of an edge. Each is parsed when it is first shown: with the parts, which
// every page has a copy of, all of them would be most of what a server holds in memory, and
// what it walks through for each collection of garbage.
type Set struct {
	byName map[string]func() (*template.Template, error)
}

// Reader is whom the pages of a business are for.
type Reader bool

// The two readers: the people of the business, and staff to whom its pages are shown.
const (
	ForReader Reader = false
	ForStaff  Reader = true
)

// Parse reads the pages of an edge, the files of folders named html: each of them defines
// "content" and may use the parts. The prefix is in front of the edge's paths, and of
// /assets/, below which it calls ServeAsset; pages write {{at "/path"}} for a path of the edge, and
// {{if staff}} before what they say to staff alone.
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

// Render makes a page, by the name of its file.
func (s *Set) Render(name string, p Page) ([]byte, error) { return s.RenderPart(name, "layout", p) }

// RenderPart makes a part of a page, by the name of its template.
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
