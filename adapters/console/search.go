package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"waybill/adapters/pages"
	"waybill/domain"
	"waybill/ports"
)

const (
	searchAt     = "/search"
	maxSought    = 256 // bytes of a search text; no name is longer
	mostOfAKind  = 10  // hits of one kind on the page
	shortestHost = 3   // bytes of a part of a host name
)

// searchView holds what a text of the search field names, in any customer's records.
type searchView struct {
	Text     string
	NoPhones bool // the text is a phone number, and was not searched as one
	Unread   bool // the request log does not answer
	Groups   []hitGroup
}

// hitGroup holds the hits of one kind. More leads to the list with all of them; empty: these are all.
type hitGroup struct {
	Title, More string
	Hits        []hit
}

// hit is a record that was found.
type hit struct{ ID, Text, Href, Note, Environment string }

// search opens the only match of a text, or lists the matches.
func (p *Console) search(c *call) error {
	v := searchView{Text: strings.TrimSpace(c.Query("q"))}
	if v.Text == "" || len(v.Text) > maxSought || domain.HoldsSecret(v.Text) {
		v.Text = v.Text[:min(len(v.Text), 40)]
		return p.Show(c, http.StatusOK, "search", "Search", searchView{Text: strings.ToValidUTF8(v.Text, "")})
	}
	for _, find := range []func(*call, *searchView) error{p.findDeliveries, p.findCustomers, p.findRequests, p.findEndpoints} {
		if err := find(c, &v); err != nil && !errors.Is(err, domain.ErrNotFound) {
			return err
		}
	}
	if len(v.Groups) == 1 && len(v.Groups[0].Hits) == 1 {
		return c.Lead(v.Groups[0].Hits[0].Href)
	}
	for _, group := range v.Groups {
		for i := range group.Hits {
			group.Hits[i].Href = c.At(group.Hits[i].Href)
		}
	}
	return p.Show(c, http.StatusOK, "search", "Search", v)
}

// add adds a group unless it is empty. list leads to all hits, where there are more.
func (v *searchView) add(c *call, title, list string, hits []hit) {
	g := hitGroup{Title: title, Hits: hits}
	if len(hits) == 0 {
		return
	}
	if len(hits) > mostOfAKind {
		g.Hits, g.More = hits[:mostOfAKind], c.At(list)+"?"+url.Values{"q": {v.Text}}.Encode()
	}
	v.Groups = append(v.Groups, g)
}

func (p *Console) findDeliveries(c *call, v *searchView) error {
	a, err := p.ask(c)
	if err != nil {
		return err
	}
	v.NoPhones = a.noPhones
	a.search = domain.DeliverySearch{NewestFirst: true} // the other parameters are those of the list
	found, err := p.Operations.Find(c.Ctx(), a.typed, a.search, domain.PageRequest{Limit: mostOfAKind})
	if err != nil {
		return err
	}
	names, err := p.Operations.BusinessNames(c.Ctx(), found.Deliveries)
	var hits []hit
	for _, d := range found.Deliveries {
		row := rowOf(d, names)
		hits = append(hits, hit{ID: row.ID, Text: row.Reference, Href: deliveriesAt + "/" + row.ID, Note: row.Status + ", " + row.Business,
			Environment: row.Environment})
	}
	v.add(c, "Deliveries", deliveriesAt, hits)
	return err
}

func (p *Console) findCustomers(c *call, v *searchView) error {
	found, err := p.Tenants.Customers(c.Ctx(), domain.ParseCustomerSearch(v.Text, ""), domain.PageRequest{Limit: mostOfAKind})
	var hits []hit
	for i := range found {
		state := "active"
		if found[i].Disabled {
			state = "disabled"
		}
		hits = append(hits, hit{ID: string(found[i].ID), Text: found[i].Name, Href: "/businesses/" + string(found[i].ID), Note: state})
	}
	v.add(c, "Customers", "/businesses", hits)
	return err
}

// findRequests finds a request by its ID or by the ID that the caller sent. Other records are found
// even if the request log does not answer.
func (p *Console) findRequests(c *call, v *searchView) error {
	var found []domain.RequestRecord
	id, err := domain.ParseID(domain.PrefixRequest, v.Text)
	if err == nil {
		var one domain.RequestRecord
		one, err = p.Requests.OfAny(c.Ctx(), id)
		found = []domain.RequestRecord{one}
	} else {
		found, _, err = p.Requests.Look(c.Ctx(), domain.RequestFilter{ClientID: v.Text}, domain.PageRequest{Limit: mostOfAKind})
	}
	if v.Unread = ports.StorageUnavailable(err); v.Unread {
		return nil
	}
	if err != nil {
		return err
	}
	lines, err := p.requestLines(c, found)
	var hits []hit
	for i := range lines {
		r := &lines[i]
		hits = append(hits, hit{ID: r.ID, Text: r.Method + " " + r.Path, Href: requestsAt + "/" + r.ID,
			Note: strings.TrimSpace(strconv.Itoa(r.Status)+" "+r.Code) + ", " + r.Business, Environment: r.Environment})
	}
	v.add(c, "Requests", requestsAt, hits)
	return err
}

func (p *Console) findEndpoints(c *call, v *searchView) error {
	if id, err := domain.ParseID(domain.PrefixWebhookEndpoint, v.Text); err == nil {
		e, err := p.Machinery.Endpoint(c.Ctx(), id)
		if err == nil {
			v.add(c, "Webhook endpoints", "/webhooks", []hit{{ID: string(id), Text: e.Host(), Href: "/webhooks/" + string(id),
				Environment: string(e.Tenant.Environment)}})
		}
		return err
	}
	if len(v.Text) < shortestHost || strings.ContainsAny(v.Text, " @+") {
		return nil
	}
	found, err := p.Machinery.Endpoints(c.Ctx(), domain.EndpointFilter{Host: v.Text}, nil, mostOfAKind)
	var hits []hit
	for _, e := range found {
		hits = append(hits, hit{ID: string(e.ID), Text: pages.ShownURL(e.URL), Href: "/webhooks/" + string(e.ID),
			Note: standings[e.Standing][0] + ", " + e.Business, Environment: string(e.Tenant.Environment)})
	}
	v.add(c, "Webhook endpoints", "/webhooks", hits)
	return err
}

// searchBox returns the search field of every page.
func searchBox(c *call) *pages.Search {
	box := &pages.Search{Action: searchAt, Label: "Search for a reference, ID, phone number, customer or webhook host"}
	if text := c.Query("q"); c.FullPath() == Prefix+searchAt && len(text) <= maxSought {
		box.Value = text
	}
	return box
}
