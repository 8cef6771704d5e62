package portal

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"waybill/adapters/pages"
	"waybill/application/deliveries"
	"waybill/domain"
)

// maxSought limits the search text. No name is longer.
const maxSought = 256

type searchView struct {
	Text     string
	Long     bool
	Groups   []hitGroup
	Requests string // the request list with this text as its filter
	Document string // the documentation of an error code
	Unread   string // what could not be searched; empty: everything was
}

// hitGroup holds the hits of one kind.
type hitGroup struct {
	Title string
	Hits  []hit
}

// hit is a record that was found. Href links to its page; empty: it has none, and Call gets it.
type hit struct {
	ID, Text, Note, Environment string
	Href                        string
	Call                        string
}

const searchPath = "/search"

// search opens the only match of a text, or lists all matches.
func (p *Portal) search(c *call) error {
	typed := strings.TrimSpace(c.Query("q"))
	if len(typed) > maxSought {
		return p.Show(c, http.StatusOK, "search", "Search", searchView{Text: typed[:40] + "…", Long: true})
	}
	text := deliveries.Sought(typed)
	if text != typed {
		return c.Lead(searchPath + "?" + url.Values{"q": {text}}.Encode())
	}
	found, err := p.Handling.Find(c.Ctx(), c.Business(), text)
	if err != nil {
		return err
	}
	groups, err := p.hits(c, &found)
	if err != nil {
		return err
	}
	if len(groups) == 1 && len(groups[0].Hits) == 1 && groups[0].Hits[0].Href != "" {
		return c.Lead(groups[0].Hits[0].Href)
	}
	v := searchView{Text: text, Groups: groups, Requests: pages.AddressOf("/requests", url.Values{"q": {text}})}
	if errorCode.MatchString(text) {
		v.Document = p.document(text)
	}
	if found.Unlogged {
		v.Unread = "The request log cannot be read right now, so no requests were searched."
	}
	return p.Show(c, http.StatusOK, "search", "Search", v)
}

// errorCode matches error codes.
var errorCode = regexp.MustCompile(`^[A-Z]+(_[A-Z]+)+$`)

// hits returns the groups that have any hits.
func (p *Portal) hits(c *call, f *deliveries.FoundOfBusiness) (groups []hitGroup, err error) {
	names := map[domain.ID]string{}
	if len(f.Requests)+len(f.Endpoints)+len(f.Sent)+len(f.Keys) > 0 {
		apps, err := p.Tenants.Applications(c.Ctx(), c.Business())
		if err != nil {
			return nil, err
		}
		for _, a := range apps {
			names[a.ID] = a.Name
		}
	}
	add := func(title string, hits []hit) {
		if len(hits) > 0 {
			groups = append(groups, hitGroup{title, hits})
		}
	}
	var hits []hit
	for _, d := range f.Deliveries {
		row := rowOf(d)
		hits = append(hits, hit{ID: row.ID, Text: "Delivery " + row.Reference, Note: listed(row.Status, row.ExternalID),
			Environment: row.Environment, Href: "/deliveries/" + row.ID})
	}
	add("Deliveries", hits)
	hits = nil
	for i := range f.Requests {
		r := pages.ShowRequest(&f.Requests[i], names)
		hits = append(hits, hit{ID: r.ID, Text: r.Method + " " + r.Path, Note: listed(r.Application,
			strconv.Itoa(r.Status), r.Code), Environment: r.Environment, Href: r.Href})
	}
	add("Requests", hits)
	hits = nil
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		hits = append(hits, hit{ID: string(e.ID), Text: "Webhook endpoint at " + e.Host(), Note: names[e.Tenant.ApplicationID] + ", " +
			string(e.Status()), Environment: string(e.Tenant.Environment), Href: "/webhooks/" + string(e.ID)})
	}
	for i := range f.Sent {
		e := &f.Sent[i].Endpoint
		hits = append(hits, hit{ID: string(f.Sent[i].ID), Text: "Webhook sent to " + e.Host(), Note: names[e.Tenant.ApplicationID],
			Environment: string(e.Tenant.Environment), Href: sentPath(e.ID, f.Sent[i].ID)})
	}
	add("Webhooks", hits)
	hits = nil
	for i := range f.Keys {
		k := &f.Keys[i]
		hits = append(hits, hit{ID: string(k.ID), Text: "Key …" + k.LastFour, Note: names[k.ApplicationID],
			Environment: string(k.Environment), Href: "/apps/" + string(k.ApplicationID) + "/" + string(k.Environment) + "/keys"})
	}
	add("Keys", hits)
	hits = nil
	for i := range f.Locations {
		l := &f.Locations[i]
		hits = append(hits, hit{ID: string(l.ID), Text: l.Name, Note: l.Address, Environment: string(l.Environment),
			Href: pickupsAt + "/" + string(l.Environment) + "/" + string(l.ID)})
	}
	add("Pickup locations", hits)
	hits = nil
	for i := range f.Recipients {
		r := &f.Recipients[i]
		hits = append(hits, hit{ID: string(r.ID), Text: r.Name, Note: "a recipient; the API has all of it", Environment: string(r.Environment),
			Call: `curl -H "Authorization: Bearer $WAYBILL_API_KEY" ` + p.baseURL(r.Environment) + "/recipients/" + string(r.ID)})
	}
	add("Recipients", hits)
	hits = nil
	for _, a := range f.Applications {
		hits = append(hits, hit{ID: string(a.ID), Text: a.Name, Href: "/apps/" + string(a.ID)})
	}
	add("Applications", hits)
	return groups, nil
}

// listed joins the texts that are not empty.
func listed(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), ", ")
}

// searchBox returns the search field at the top of each page.
func searchBox(c *call) *pages.Search {
	box := &pages.Search{Action: searchPath, Label: "Search for an ID, a reference, an external_id or the last four of a key"}
	if c.FullPath() == box.Action {
		box.Value = deliveries.Sought(c.Query("q"))
		box.Value = box.Value[:min(len(box.Value), maxSought)]
	}
	return box
}

// sentPath returns the page of a webhook that was sent to an endpoint.
func sentPath(endpoint, sent domain.ID) string {
	return "/webhooks/" + string(endpoint) + "/sent/" + string(sent)
}
