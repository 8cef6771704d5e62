package mail

import (
	"embed"
	"fmt"
	htmltemplate "html/template"
	"regexp"
	"strings"
	"text/template"
	"time"

	"waybill/adapters/brand"
	"waybill/ports"
)

//go:embed mail.txt mail.html
var files embed.FS

var (
	plain = template.Must(template.ParseFS(files, "mail.txt"))
	html  = htmltemplate.Must(htmltemplate.ParseFS(files, "mail.html"))
)

var _ ports.MailRenderer = Renderer{}

// Renderer implements ports.MailRenderer.
type Renderer struct{ Brand brand.Brand }

// Render returns the text of a mail.
func (r Renderer) Render(l ports.Letter) (m ports.MailMessage, err error) {
	say, there := kinds[l.Kind]
	if !there {
		return m, fmt.Errorf("there is no text for a mail of the kind %q", l.Kind)
	}
	// People type these, so they may contain an advertisement or a link.
	for _, name := range []*string{&l.Name, &l.By, &l.Business, &l.App, &l.Passkey, &l.Device} {
		*name = named(*name)
	}
	c := say(input{l, r.Brand.Name()})
	c.Greeting, c.Brand = "Hello "+l.Name+",", r.Brand
	var text, page strings.Builder
	if err := plain.Execute(&text, c); err != nil {
		return m, fmt.Errorf("a mail of the kind %q: %w", l.Kind, err)
	}
	if err := html.Execute(&page, c); err != nil {
		return m, fmt.Errorf("a mail of the kind %q: %w", l.Kind, err)
	}
	return ports.MailMessage{ID: l.ID, Kind: l.Kind, To: l.To, Name: l.Name, Subject: c.Subject, Text: text.String(), HTML: page.String()}, nil
}

// content holds the text of a mail.
type content struct {
	Brand    brand.Brand
	Subject  string
	Greeting string
	Lines    []string // before the facts
	Facts    []fact
	Action   *action
	After    []string
	Why      string // the recipient gets it
}

type fact struct{ Name, Value string }

// action is the page to open.
type action struct{ Text, URL string }

func open(text, url string) *action {
	if url == "" {
		return nil
	}
	return &action{text, url}
}

// when formats a time for people anywhere.
func when(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04") + " UTC" }

// span returns the hour that a summary covers.
func span(l input) string {
	if l.Since == nil {
		return "the hour before " + when(l.At)
	}
	return l.Since.UTC().Format("2 January 2006, 15:04") + " to " + l.At.UTC().Format("15:04") + " UTC"
}

// mostName limits the characters of a name that an email shows.
const mostName = 48

// joint finds a dot before another character, which email programs turn into a link.
var joint = regexp.MustCompile(`([.。．｡])([^\s.。．｡])`)

// named returns a name as an email shows it: short, and no link in any email program.
func named(name string) string {
	name = joint.ReplaceAllString(strings.ReplaceAll(strings.TrimSpace(name), "://", ":// "), "$1 $2")
	if runes := []rune(name); len(runes) > mostName {
		name = strings.TrimSpace(string(runes[:mostName-1])) + "…"
	}
	return name
}

// lasting returns a duration in words.
func lasting(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
	return fmt.Sprintf("%d minutes", int(d.Minutes()))
}
