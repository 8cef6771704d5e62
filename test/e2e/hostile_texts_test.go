package e2e

import (
	"strings"
	"testing"
)

// hostileText is text for the fields that people fill in. It is kept as it
// was sent, or refused.
type hostileText struct {
	name, text string
	line       bool // fit for a name
	lines      bool // fit for a field of several
	long       bool // too long for a name
}

var hostileTexts = []hostileText{
	{name: "a right-to-left override", text: "Ama \u202egnp.exe"},
	{name: "a family of joiners", text: "👩‍👩‍👧‍👦 and 🏳️‍🌈", line: true, lines: true},
	{name: "128 characters that combine", text: "e" + strings.Repeat("\u0301", 127), line: true, lines: true},
	{name: "500 emoji", text: strings.Repeat("🛵", 500), lines: true, long: true},
	{name: "501 emoji", text: strings.Repeat("🛵", 501), long: true},
	{name: "500 ligatures of eighteen letters", text: strings.Repeat("\ufdfa", 500), lines: true, long: true},
	{name: "500 different ideographs", text: ideographs(500), lines: true, long: true},
	{name: "plane 16", text: "\U0010fffd\U0010ffff", line: true, lines: true},
	{name: "full width", text: "ＡＭＡ　１２", line: true, lines: true},
	{name: "a line separator", text: "Ama\u2028Dede\u2029x", line: true, lines: true},

	{name: "line feeds", text: "Ama\nDede", lines: true},
	{name: "carriage returns", text: "Ama\r\nSet-Cookie: a=b", lines: true},
	{name: "tabs", text: "Ama\tDede", lines: true},
	{name: "a terminal sequence", text: "\x1b]0;owned\a\x1b[2JAma"},
	{name: "a delete", text: "Ama\x7fDede"},

	{name: "white space", text: " \t\r\n "},
	{name: "nothing", text: ""},

	{name: "an end of a statement", text: "'; DROP TABLE deliveries; --", line: true, lines: true},
	{name: "a union", text: "') UNION SELECT secret_hash FROM api_keys--", line: true, lines: true},
	{name: "a dollar quote", text: "$$; SELECT 1; $$ $1 ?1 :name @p1", line: true, lines: true},
	{name: "placeholders", text: "?, $1, %s, :id, @x, {0}, {{.}}", line: true, lines: true},
	{name: "wildcards", text: `%_\%_\\[a-z]*`, line: true, lines: true},
	{name: "markup", text: `<script>alert("x")</script><img src=x onerror=alert(1)>`, line: true, lines: true},
	{name: "a formula", text: `=HYPERLINK("http://x.invalid","a")`, line: true, lines: true},
	{name: "JSON", text: `{"a":[1,"\u0000"]}`, line: true, lines: true},
	{name: "129 letters", text: strings.Repeat("a", 129), lines: true, long: true},
	{name: "50,000 letters", text: strings.Repeat("a", 50_000), long: true},
}

func ideographs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteRune(0x20000 + rune(i)*83)
	}
	return b.String()
}

// texts sends odd text in each kind of field, reads it back, and searches it.
func (g *siege) texts(t *testing.T) {
	verdict := func(fit bool) string {
		if fit {
			return "2xx"
		}
		return wrongValue
	}
	for _, c := range hostileTexts {
		person := g.hit(t, "name: "+c.name, verdict(c.line), "POST", "/recipients", m{"phone_number": newPhone(), "name": c.text})
		keeps(t, person, "data.name", c.text)
		home := g.hit(t, "address: "+c.name, verdict(c.lines), "POST", "/recipients/"+g.name["{rcp}"]+"/addresses",
			anAddress(set("address", c.text)))
		if home != nil && home.status == 201 { // and not one that it matches
			keeps(t, home, "data.address", c.text)
		}
		g.hit(t, "pickup location: "+c.name, verdict(c.lines), "POST", "/pickup-locations", aPlace(set("address", c.text)))
		// What is blank is as good as absent here.
		blank := strings.TrimSpace(c.text) == ""
		noted := g.hit(t, "instructions: "+c.name, verdict(c.lines || blank), "POST", "/deliveries",
			anOrder(set("delivery_instructions", c.text)))
		if !blank {
			keeps(t, noted, "data.delivery_instructions", c.text)
		}
		g.hit(t, "phone number: "+c.name, wrongValue, "POST", "/recipients", m{"phone_number": c.text})
		ordered := g.hit(t, "external ID: "+c.name, "201|"+wrongValue, "POST", "/deliveries", anOrder(set("external_id", c.text)))
		keeps(t, ordered, "data.external_id", c.text)
		if ordered != nil && ordered.status == 201 {
			g.finds(t, "external ID: "+c.name, "/deliveries"+escaped("external_id", c.text), ordered.id())
		}
		g.hit(t, "external ID twice: "+c.name, wrongItems, "POST", "/deliveries/bulk",
			aBulk(anOrder(set("external_id", c.text)), anOrder(set("external_id", c.text))))
		if len(c.text) > 5_000 {
			continue // no request line has room for it
		}
		found := g.hit(t, "search: "+c.name, "200|"+wrongValue, "GET", "/recipients"+escaped("search", c.text, "limit", "100"), nil)
		if c.line && found != nil && strings.TrimSpace(c.text) != "" && !strings.Contains(strings.Join(found.ids(), " "), person.id()) {
			t.Errorf("search: %s: the recipient is not found", c.name)
		}
		g.hit(t, "search of places: "+c.name, "200|"+wrongValue, "GET", "/pickup-locations"+escaped("search", c.text), nil)
		g.hit(t, "status: "+c.name, wrongValue, "GET", "/deliveries"+escaped("status", c.text), nil)
	}
	// A page of all of it is still a page.
	for _, list := range []string{"/recipients", "/recipients/" + g.name["{rcp}"] + "/addresses", "/pickup-locations", "/deliveries"} {
		g.hit(t, "a list of hostile texts: "+list[:9], "200", "GET", list, nil)
	}
	g.healthy(t)
}

// keeps checks that a text that was taken came back as it was, but for the
// white space around it.
func keeps(t *testing.T, a *answer, path, text string) {
	t.Helper()
	if a == nil || a.status/100 != 2 {
		return
	}
	if got := a.text(path); got != strings.TrimSpace(text) {
		t.Errorf("%s: %q came back as %q", path, text, got)
	}
}

// finds checks that a list holds exactly one record.
func (g *siege) finds(t *testing.T, name, list, id string) {
	t.Helper()
	if a := g.hit(t, name+" (searched)", "200", "GET", list, nil); a != nil && strings.Join(a.ids(), " ") != id {
		t.Errorf("%s: found %v, want %s", name, a.ids(), id)
	}
}
