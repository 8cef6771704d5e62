package console

import (
	"net/http"
	"net/url"
	"strings"

	"waybill/adapters/pages"
	"waybill/application/people"
	"waybill/domain"
)

// businessesPerPage sets the page size of the customer list.
const businessesPerPage = 25

type businessesView struct {
	Notice    *pages.Notice
	Filters   *pages.Filters
	Customers []domain.Customer
	Newest    string
	Older     string
	Filtered  bool
	May       bool
}

func (p *Console) listBusinesses(c *call) error {
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
	values := url.Values{}
	for name, value := range map[string]string{"q": search.Text, "state": string(search.State)} {
		if value != "" {
			values.Set(name, value)
		}
	}
	state := pages.Field{ID: "state", Name: "state", Label: "State", Options: []pages.Option{{Text: "All"},
		{Value: string(domain.CustomerActive), Text: "Active", Chosen: search.State == domain.CustomerActive},
		{Value: string(domain.CustomerDisabled), Text: "Disabled", Chosen: search.State == domain.CustomerDisabled}}}
	v := businessesView{
		Notice: c.Told(), Filtered: len(values) > 0, May: c.May(domain.ActManageBusinesses),
		Filters: pages.NewFilters(c.At("/businesses"), values,
			&pages.Field{ID: "q", Name: "q", Label: "Name, ID, application or email", Value: search.Text}, []pages.Field{state}),
	}
	if request.After != nil {
		v.Newest = c.At("/businesses" + encoded(values))
	}
	if len(found) > businessesPerPage {
		found = found[:businessesPerPage]
		values.Set("after", string(found[len(found)-1].ID))
		v.Older = c.At("/businesses" + encoded(values))
	}
	v.Customers = found
	c.Widen()
	return p.Show(c, http.StatusOK, "businesses", "Customers", v)
}

type newBusinessView struct {
	Notice             *pages.Notice
	Once               string // ID of the customer that the form will create
	Name, Owner, Email pages.Field
}

func (p *Console) askCreateBusiness(c *call) error {
	return p.newBusinessPage(c, http.StatusOK, c.Told())
}

func (p *Console) newBusinessPage(c *call, status int, n *pages.Notice) error {
	return p.Show(c, status, "business_new", "Add customer", newBusinessView{
		Notice: n, Once: p.OnceShown(c, domain.PrefixBusiness, status),
		Name: c.Field(pages.Field{Name: "name", Label: "Name of the business", Hint: "Its people and the recipients of its deliveries see it.",
			Required: true, MaxLength: domain.NameRule.Most, Autocomplete: "off"}),
		Owner: c.Field(pages.Field{Name: "owner", Label: "Name of the owner", MaxLength: domain.NameRule.Most, Autocomplete: "off"}),
		Email: c.Field(pages.Field{Name: "email", Label: "Email of the owner", Type: "email", MaxLength: domain.MaxEmail, Autocomplete: "off"}),
	})
}

// createdView shows the invitation of an owner whom the console cannot send an email.
type createdView struct {
	Business domain.Business
	Link     pages.Secret
}

// createBusiness adds a customer and invites its owner, if one was named. The owner's fields are
// checked first. Where the invitation fails nevertheless, the customer exists without an owner, and
// its page says so.
func (p *Console) createBusiness(c *call) error {
	once := p.OnceSent(c, domain.PrefixBusiness)
	owner := people.Invitation{BusinessID: once, Name: c.Form.Get("owner"), Email: c.Form.Get("email"), Role: string(domain.RoleOwner)}
	named := strings.TrimSpace(owner.Name+owner.Email) != ""
	if named && c.Wrong(owner.Check()) {
		c.Faults["owner"] = c.Faults["name"]
		delete(c.Faults, "name")
		return p.newBusinessPage(c, http.StatusUnprocessableEntity, nil)
	}
	made, err := p.Tenants.CreateBusinessOnce(c.Ctx(), c.Actor(), once, c.Form.Get("name"), nil)
	switch {
	case c.Wrong(err):
		return p.newBusinessPage(c, http.StatusUnprocessableEntity, nil)
	case domain.HasCode(err, domain.CodeFormAlreadySent):
		return p.newBusinessPage(c, http.StatusConflict, &pages.Notice{Tone: "bad", Title: "The customer was already created",
			Lines: []string{pages.MessageOf(err)}, Link: &pages.Link{Href: c.At("/businesses/" + string(once)), Text: "Show the customer"}})
	case err != nil:
		return err
	}
	at := "/businesses/" + string(made.ID)
	if !named {
		return c.Lead(at + "?done=business-created")
	}
	issued, err := p.Directory.Invite(c.Ctx(), c.Actor(), owner)
	switch {
	case domain.HasCode(err, domain.CodeTooManyMails):
		return c.Lead(at + "?done=owner-mails")
	case domain.HasCode(err, domain.CodePersonDisabled):
		return c.Lead(at + "?done=owner-disabled")
	case err != nil:
		p.options.Log.WarnContext(c.Ctx(), "a customer was created, and its owner could not be invited", "request_id", c.RequestID(),
			"business_id", made.ID, "error", err)
		return c.Lead(at + "?done=owner-failed")
	case issued.MailOnly:
		return c.Lead(at + "?done=owner-invited")
	}
	return p.Show(c, http.StatusOK, "business_created", made.Name, createdView{Business: made, Link: pages.Secret{
		Title: "Invitation for " + issued.Member.Person.Name, Label: "The link", Secret: p.options.PortalBaseURL + "/enter/" + issued.Secret,
		Note: "Send this link to the owner. It works once, within 7 days, and is shown only now."}})
}
