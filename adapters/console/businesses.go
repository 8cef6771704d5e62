package console

import (
	"net/http"
	"net/url"

	"waybill/adapters/pages"
	"waybill/domain"
)

// businessesPerPage sets the page size of the customer list.
const businessesPerPage = 25

type businessesView struct {
	Notice    *pages.Notice
	Q, State  pages.Field
	Customers []domain.Customer
	More      string // the next page; empty: there is none
	Filtered  bool
	May       bool
	Once      string // ID of the customer that the form will create
	Name      pages.Field
}

func (p *Console) listBusinesses(c *call) error { return p.businessesPage(c, http.StatusOK, c.Told()) }

func (p *Console) businessesPage(c *call, status int, n *pages.Notice) error {
	search := domain.ParseCustomerSearch(c.Query("q"), c.Query("state"))
	request := domain.PageRequest{Limit: businessesPerPage}
	if after, err := domain.ParseID(domain.PrefixBusiness, c.Query("after")); err == nil {
		last, err := p.Tenants.Business(c.Ctx(), after)
		if err != nil {
			return err
		}
		request.After = &domain.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	found, err := p.Tenants.Customers(c.Ctx(), search, request)
	if err != nil {
		return err
	}
	v := businessesView{
		Notice: n, Filtered: search != domain.CustomerSearch{} || request.After != nil, May: c.May(domain.ActManageBusinesses),
		Once: p.OnceShown(c, domain.PrefixBusiness, status),
		Q: pages.Field{ID: "q", Name: "q", Label: "Search", Type: "search", Value: search.Text, MaxLength: domain.MaxCustomerSearch,
			Hint: "Name, ID, application or e-mail address."},
		State: pages.Field{ID: "state", Name: "state", Label: "State", Options: []pages.Option{
			{Value: "", Text: "All"}, {Value: string(domain.CustomerActive), Text: "Active", Chosen: search.State == domain.CustomerActive},
			{Value: string(domain.CustomerDisabled), Text: "Disabled", Chosen: search.State == domain.CustomerDisabled},
		}},
		Name: c.Field(pages.Field{Name: "name", Label: "Name", Hint: "As its people and the recipients of its deliveries read it.",
			Required: true, MaxLength: domain.NameRule.Most}),
	}
	if len(found) > businessesPerPage {
		found = found[:businessesPerPage]
		next := url.Values{"after": {string(found[len(found)-1].ID)}}
		for name, value := range map[string]string{"q": search.Text, "state": string(search.State)} {
			if value != "" {
				next.Set(name, value)
			}
		}
		v.More = c.At("/businesses?" + next.Encode())
	}
	v.Customers = found
	return p.Show(c, status, "businesses", "Customers", v)
}

func (p *Console) createBusiness(c *call) error {
	made, err := p.Tenants.CreateBusinessOnce(c.Ctx(), c.Actor(), p.OnceSent(c, domain.PrefixBusiness), c.Form.Get("name"), nil)
	switch {
	case c.Wrong(err):
		return p.businessesPage(c, http.StatusUnprocessableEntity, nil)
	case domain.HasCode(err, domain.CodeFormAlreadySent):
		return p.businessesPage(c, http.StatusConflict, &pages.Notice{Tone: "bad", Title: "No second customer was made",
			Lines: []string{pages.MessageOf(err)}})
	case err != nil:
		return err
	}
	return c.Lead("/businesses/" + string(made.ID) + "?done=business-created")
}
