package portal

import (
	"errors"
	"net/http"
	"time"

	"waybill/adapters/pages"
	"waybill/application/people"
	"waybill/domain"
)

// roleTexts say what a role may do.
var roleTexts = map[domain.Role]string{
	domain.RoleOwner:     "Owner: people, live keys, everything",
	domain.RoleDeveloper: "Developer: sandbox keys, webhooks, audit log",
	domain.RoleViewer:    "Viewer: reads",
}

type peopleView struct {
	Notice            *pages.Notice
	Link              *pages.Secret
	People            []memberView
	May               bool
	Name, Email, Role pages.Field
}

type memberView struct {
	ID, Name, Email, Role, State string
	Me                           bool
	JoinedAt                     time.Time
	Roles                        []pages.Option
}

func showMember(m domain.Member, me domain.ID) memberView {
	v := memberView{
		ID: string(m.Person.ID), Name: m.Person.Name, Email: string(m.Person.Email), Role: string(m.Membership.Role),
		State: string(m.Person.State),
		Me:    m.Person.ID == me, JoinedAt: m.Membership.CreatedAt,
	}
	if m.Membership.AcceptedAt == nil {
		v.State = string(domain.PersonInvited)
	}
	for _, role := range domain.Roles(domain.Portal) {
		v.Roles = append(v.Roles, pages.Option{Value: string(role), Text: string(role), Chosen: role == m.Membership.Role})
	}
	return v
}

func (p *Portal) listPeople(c *call) error {
	return p.peoplePage(c, http.StatusOK, peopleView{Notice: c.Told()})
}

// listPeopleAround is the list for a form that was sent about one of them.
func (p *Portal) listPeopleAround(c *call) error {
	if _, err := p.member(c); err != nil {
		return err
	}
	return p.listPeople(c)
}

func (p *Portal) peoplePage(c *call, status int, v peopleView) error {
	members, err := p.Directory.Members(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	v.May = c.May(domain.ActManagePeople)
	for _, m := range members {
		v.People = append(v.People, showMember(m, c.Principal.Person.ID))
	}
	v.Name = c.Field(pages.Field{Name: "name", Label: "Name", Required: true, MaxLength: domain.NameRule.Most, Autocomplete: "off"})
	v.Email = c.Field(pages.Field{Name: "email", Label: "E-mail address", Type: "email", Required: true, MaxLength: domain.MaxEmail,
		Autocomplete: "off"})
	role := pages.Field{Name: "role", Label: "Role"}
	for _, r := range domain.Roles(domain.Portal) {
		role.Options = append(role.Options, pages.Option{Value: string(r), Text: roleTexts[r], Chosen: r == domain.RoleDeveloper})
	}
	v.Role = c.Field(role)
	return p.Show(c, status, "people", "People", v)
}

func (p *Portal) invite(c *call) error {
	return p.sendInvitation(c, people.Invitation{Email: c.Form.Get("email"), Name: c.Form.Get("name"), Role: c.Form.Get("role")})
}

// sendInvitation invites a person to the business, for the first time or again.
func (p *Portal) sendInvitation(c *call, i people.Invitation) error {
	i.BusinessID = c.Business()
	issued, err := p.Directory.Invite(c.Ctx(), c.Actor(), i)
	if err != nil {
		return p.peopleConflict(c, err)
	}
	c.Form = nil
	return p.peoplePage(c, http.StatusOK, p.issued(issued, issued.Member.Person.Name+" is invited", "It lets them in once, within 7 days. "+
		p.alsoMailed("Send it to them by a way that only they read; it is shown this once.")))
}

func (p *Portal) makeLink(c *call) error {
	m, err := p.member(c)
	if err != nil {
		return err
	}
	if m.State == string(domain.PersonInvited) {
		return p.sendInvitation(c, people.Invitation{Email: m.Email, Name: m.Name, Role: m.Role})
	}
	issued, err := p.Directory.Link(c.Ctx(), c.Actor(), domain.ID(m.ID), domain.Portal)
	if err != nil {
		return p.peopleConflict(c, err)
	}
	return p.peoplePage(c, http.StatusOK, p.issued(issued, "A link for "+issued.Member.Person.Name,
		"It lets them in once, within 10 minutes. It is shown this once."))
}

// alsoMailed is what to do with an invitation that is shown.
func (p *Portal) alsoMailed(otherwise string) string {
	if p.options.Mails {
		return "They get one by mail too; this one is shown this once."
	}
	return otherwise
}

// mailedAlone is how a person gets a link that is not shown.
func (p *Portal) mailedAlone() string {
	if p.options.Mails {
		return "It goes to them by mail."
	}
	return "The delivery company can make one for them."
}

// issued shows a link, unless it is for the person's own mailbox alone.
func (p *Portal) issued(i people.Issued, title, note string) peopleView {
	if i.MailOnly {
		return peopleView{Notice: &pages.Notice{Tone: "good", Title: title, Lines: []string{
			"They have an account elsewhere too, so that their link is not shown here. " + p.mailedAlone(),
		}}}
	}
	return peopleView{Link: &pages.Secret{Title: title, Note: note, Label: "The link", Secret: p.options.BaseURL + "/enter/" + i.Secret}}
}

// peopleConflict shows the page again with what stood in the way.
func (p *Portal) peopleConflict(c *call, err error) error {
	var e *domain.Error
	switch {
	case c.Wrong(err):
		return p.peoplePage(c, http.StatusUnprocessableEntity, peopleView{})
	case errors.As(err, &e) && e.Kind == domain.KindConflict:
		return p.peoplePage(c, http.StatusConflict,
			peopleView{Notice: &pages.Notice{Tone: "bad", Title: "Nothing was changed", Lines: []string{e.Message}}})
	}
	return err
}

func (p *Portal) setRole(c *call) error {
	role := c.Form.Get("role")
	_, err := p.Directory.SetRole(c.Ctx(), c.Actor(), c.Business(), domain.ID(c.Param("person")), role)
	if err != nil {
		c.Form = nil // the role is not the one of the form below
		return p.peopleConflict(c, err)
	}
	return c.Lead("/people?done=role")
}

// member is the person of the address.
func (p *Portal) member(c *call) (memberView, error) {
	members, err := p.Directory.Members(c.Ctx(), c.Business())
	if err != nil {
		return memberView{}, err
	}
	for _, m := range members {
		if string(m.Person.ID) == c.Param("person") {
			return showMember(m, c.Principal.Person.ID), nil
		}
	}
	return memberView{}, domain.ErrNotFound
}

type removeView struct {
	Notice *pages.Notice
	Person memberView
}

func (p *Portal) askRemove(c *call) error {
	m, err := p.member(c)
	if err != nil {
		return err
	}
	return p.Show(c, http.StatusOK, "remove", "Remove "+m.Name, removeView{Notice: c.Told(), Person: m})
}

func (p *Portal) remove(c *call) error {
	if _, err := p.Directory.Remove(c.Ctx(), c.Actor(), c.Business(), domain.ID(c.Param("person"))); err != nil {
		return p.peopleConflict(c, err)
	}
	return c.Lead("/people?done=removed")
}
