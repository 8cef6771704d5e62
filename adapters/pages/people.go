package pages

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"waybill/application/people"
	"waybill/domain"
)

// People describes the pages about the people who may sign in.
type People struct {
	Path, Title, Lead string
	Act               domain.Act             // needed to change them
	Others            string                 // shown to readers who may not change them
	Losing            string                 // what a removed person loses, and what stays
	Roles             map[domain.Role]string // what each role may do
	First             domain.Role            // preselected in the form
}

// people returns the routes about people, below the path of their list.
func (s *Site) people(read func(*Call) domain.Act, texts People) []Route {
	const get, post = http.MethodGet, http.MethodPost
	at, manage := texts.Path, Always(texts.Act)
	routes := []Route{
		{Method: get, Path: at, Act: read, Handle: s.listPeople},
		{Method: post, Path: at, Act: manage, Handle: s.invite},
		{Method: get, Path: at + "/new", Act: read, Handle: s.askInvite},
		{Method: get, Path: at + "/:person/role", Act: read, Handle: s.listPeopleAround},
		{Method: post, Path: at + "/:person/role", Act: manage, Handle: s.setRole},
		{Method: get, Path: at + "/:person/link", Act: read, Handle: s.listPeopleAround},
		{Method: post, Path: at + "/:person/link", Act: manage, Handle: s.makeLink},
		{Method: get, Path: at + "/:person/sessions", Act: read, Handle: s.listPeopleAround},
		{Method: post, Path: at + "/:person/sessions", Act: manage, Handle: s.endSessionsOf},
		{Method: get, Path: at + "/:person/remove", Act: manage, Handle: s.askRemove},
		{Method: post, Path: at + "/:person/remove", Act: manage, Handle: s.remove},
	}
	if s.o.Site == domain.Console { // an account belongs to all sites, and staff disable it
		routes = append(routes,
			Route{Method: get, Path: at + "/:person/disable", Act: manage, Handle: s.askDisable},
			Route{Method: post, Path: at + "/:person/disable", Act: manage, Handle: s.setDisabled(true)},
			Route{Method: get, Path: at + "/:person/enable", Act: read, Handle: s.listPeopleAround},
			Route{Method: post, Path: at + "/:person/enable", Act: manage, Handle: s.setDisabled(false)},
		)
	}
	return routes
}

// people returns the texts of the pages about people and the site where these people sign in. A
// mount has its own: its people sign in to the portal.
func (c *Call) people() (People, domain.Site) {
	if c.mount != nil {
		return c.mount.People, domain.Portal
	}
	return c.site.o.People, c.site.o.Site
}

func (c *Call) peoplePath() string {
	texts, _ := c.people()
	return texts.Path
}

type peopleView struct {
	Texts             People
	Notice            *Notice
	Link              *Secret
	People            []memberView
	May               bool
	Everywhere        bool // signing out ends sessions at all sites, and accounts may be disabled
	Name, Email, Role Field
}

type memberView struct {
	ID, Name, Email, Role, State string
	Me                           bool
	JoinedAt                     time.Time
	Roles                        []Option
	person                       domain.ID // pages use ID
}

// showMember returns a member as the people of the site may see it. A business must not learn that
// an address that it invited already has an account, nor that this account is disabled.
func (s *Site) showMember(m domain.Member, me domain.ID) memberView {
	v := memberView{
		ID: string(m.Reference()), person: m.Person.ID, Name: m.Person.Name, Email: string(m.Person.Email), Role: string(m.Membership.Role),
		State: string(m.Person.State),
		Me:    m.Person.ID == me, JoinedAt: m.Membership.CreatedAt,
	}
	if m.Membership.AcceptedAt == nil && (m.Person.State != domain.PersonDisabled || s.o.Site == domain.Portal) {
		v.State = string(domain.PersonInvited)
	}
	for _, role := range domain.Roles(m.Membership.Site()) {
		v.Roles = append(v.Roles, Option{Value: string(role), Text: string(role), Chosen: role == m.Membership.Role})
	}
	return v
}

func (s *Site) listPeople(c *Call) error {
	if c.resumed && c.Form.Has("email") {
		return s.askInvite(c) // what was typed belongs there
	}
	return s.peoplePage(c, http.StatusOK, peopleView{Notice: c.Told()})
}

// listPeopleAround shows the list at the path of a form about one person.
func (s *Site) listPeopleAround(c *Call) error {
	if _, err := s.member(c); err != nil {
		return err
	}
	return s.listPeople(c)
}

func (s *Site) peoplePage(c *Call, status int, v peopleView) error {
	members, err := s.o.Directory.Members(c.Ctx(), c.Business())
	if err != nil {
		return err
	}
	texts, _ := c.people()
	v.Texts, v.May, v.Everywhere = texts, c.May(texts.Act), s.o.Site == domain.Console
	for _, m := range members {
		v.People = append(v.People, s.showMember(m, c.Principal.Person.ID))
	}
	return s.Show(c, status, "people", texts.Title, v)
}

func (s *Site) askInvite(c *Call) error {
	return s.invitePage(c, http.StatusOK, peopleView{Notice: c.WelcomeBack()})
}

// invitePage shows the form for an invitation.
func (s *Site) invitePage(c *Call, status int, v peopleView) error {
	texts, of := c.people()
	v.Texts, v.May = texts, c.May(texts.Act)
	first := texts.First
	if c.mount != nil { // staff invite the first owner of a customer
		members, err := s.o.Directory.Members(c.Ctx(), c.Business())
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(members, func(m domain.Member) bool { return m.Membership.Role == domain.RoleOwner }) {
			first = domain.RoleOwner
		}
	}
	v.Name = c.Field(Field{Name: "name", Label: "Name", Required: true, MaxLength: domain.NameRule.Most, Autocomplete: "off"})
	v.Email = c.Field(Field{Name: "email", Label: "Email address", Type: "email", Required: true, MaxLength: domain.MaxEmail,
		Autocomplete: "off"})
	role := Field{Name: "role", Label: "Role"}
	for _, r := range domain.Roles(of) {
		role.Options = append(role.Options, Option{Value: string(r), Text: texts.Roles[r], Chosen: r == first})
	}
	v.Role = c.Field(role)
	return s.Show(c, status, "person_new", "Invite a person", v)
}

func (s *Site) invite(c *Call) error {
	return s.sendInvitation(c, people.Invitation{Email: c.Form.Get("email"), Name: c.Form.Get("name"), Role: c.Form.Get("role")})
}

// sendInvitation invites a person to the business, or repeats an invitation.
func (s *Site) sendInvitation(c *Call, i people.Invitation) error {
	i.BusinessID = c.Business()
	issued, err := s.o.Directory.Invite(c.Ctx(), c.Actor(), i)
	if err != nil {
		return s.peopleConflict(c, err)
	}
	c.Form = nil
	if issued.Purpose == domain.LinkSignIn { // they had accepted
		return s.peoplePage(c, http.StatusOK, s.signInLink(c, issued))
	}
	return s.peoplePage(c, http.StatusOK, s.issued(c, issued, issued.Member.Person.Name+" is invited",
		"The invitation goes to "+string(issued.Member.Person.Email)+" by email. It works only once, within 7 days.", "It works only once, within 7 days. "+
			s.alsoMailed("Send it to them where only they can read it. It is not shown again.")))
}

// signInLink shows the sign-in link of a person who has accepted.
func (s *Site) signInLink(c *Call, i people.Issued) peopleView {
	note := "It works only once, within 10 minutes. It is not shown again."
	if i.OneBusiness {
		note += " It opens only this business. The person cannot change their account with it."
	}
	return s.issued(c, i, "Sign-in link for "+i.Member.Person.Name, "It goes to "+string(i.Member.Person.Email)+
		" by email. It works only once, within 10 minutes.", note)
}

func (s *Site) makeLink(c *Call) error {
	m, err := s.member(c)
	if err != nil {
		return err
	}
	if m.State == string(domain.PersonInvited) {
		return s.sendInvitation(c, people.Invitation{Email: m.Email, Name: m.Name, Role: m.Role})
	}
	issued, err := s.o.Directory.LinkTo(c.Ctx(), c.Actor(), c.Business(), m.person)
	if err != nil {
		return s.peopleConflict(c, err)
	}
	return s.peoplePage(c, http.StatusOK, s.signInLink(c, issued))
}

// alsoMailed returns the note for an invitation link that is shown.
func (s *Site) alsoMailed(otherwise string) string {
	if s.o.Mails {
		return "They also get one by email. This one is not shown again."
	}
	return otherwise
}

// issued shows a link, unless it goes only to the person's mailbox.
func (s *Site) issued(c *Call, i people.Issued, title, mailed, note string) peopleView {
	if i.MailOnly {
		return peopleView{Notice: &Notice{Tone: "good", Title: title, Lines: []string{mailed}}}
	}
	enter := s.o.BaseURL + c.At("/enter/")
	if c.mount != nil {
		enter = c.mount.BaseURL + "/enter/"
	}
	return peopleView{Link: &Secret{Title: title, Note: note, Label: "The link", Secret: enter + i.Secret}}
}

// peopleConflict shows the page again with the reason why nothing changed.
func (s *Site) peopleConflict(c *Call, err error) error {
	var e *domain.Error
	page := s.peoplePage
	if c.Form.Has("email") { // an invitation
		page = s.invitePage
	}
	switch {
	case c.Wrong(err):
		return page(c, http.StatusUnprocessableEntity, peopleView{})
	case errors.As(err, &e) && (e.Kind == domain.KindConflict || e.Code == domain.CodeTooManyMails):
		s.noteRefusal(c, err)
		c.RetryAfter(err)
		return page(c, StatusOf(err),
			peopleView{Notice: &Notice{Tone: "bad", Title: "Nothing was changed", Lines: []string{e.Message}}})
	}
	return err
}

func (s *Site) setRole(c *Call) error {
	m, err := s.member(c)
	if err != nil {
		return err
	}
	if _, err := s.o.Directory.SetRole(c.Ctx(), c.Actor(), c.Business(), m.person, c.Form.Get("role")); err != nil {
		c.Form = nil // the form below has another role field
		return s.peopleConflict(c, err)
	}
	return c.Lead(c.peoplePath() + "?done=role")
}

// member returns the person in the address.
func (s *Site) member(c *Call) (memberView, error) {
	members, err := s.o.Directory.Members(c.Ctx(), c.Business())
	if err != nil {
		return memberView{}, err
	}
	for _, m := range members {
		if string(m.Reference()) == c.Param("person") {
			return s.showMember(m, c.Principal.Person.ID), nil
		}
	}
	return memberView{}, domain.ErrNotFound
}

// endSessionsOf signs a person out: an owner in their business, staff everywhere.
func (s *Site) endSessionsOf(c *Call) error {
	m, err := s.member(c)
	if err != nil {
		return err
	}
	if _, err := s.o.Directory.EndSessions(c.Ctx(), c.Actor(), m.person); err != nil {
		return err
	}
	if s.o.Site == domain.Console {
		return c.Lead(c.peoplePath() + "?done=sessions-all")
	}
	return c.Lead(c.peoplePath() + "?done=sessions")
}

type removeView struct {
	Texts  People
	Notice *Notice
	Person memberView
}

func (s *Site) askRemove(c *Call) error {
	m, err := s.member(c)
	if err != nil {
		return err
	}
	texts, _ := c.people()
	return s.Show(c, http.StatusOK, "remove", "Remove "+m.Name, removeView{Texts: texts, Notice: c.Told(), Person: m})
}

func (s *Site) remove(c *Call) error {
	m, err := s.member(c)
	if err != nil {
		return err
	}
	if _, err := s.o.Directory.Remove(c.Ctx(), c.Actor(), c.Business(), m.person); err != nil {
		return s.peopleConflict(c, err)
	}
	return c.Lead(c.peoplePath() + "?done=removed")
}

func (s *Site) askDisable(c *Call) error {
	m, err := s.member(c)
	if err != nil {
		return err
	}
	texts, _ := c.people()
	return s.Show(c, http.StatusOK, "disable_person", "Disable "+m.Name, removeView{Texts: texts, Notice: c.Told(), Person: m})
}

// setDisabled returns a handler that disables or enables a person's account.
func (s *Site) setDisabled(disabled bool) func(*Call) error {
	return func(c *Call) error {
		m, err := s.member(c)
		if err != nil {
			return err
		}
		if _, err := s.o.Directory.SetDisabled(c.Ctx(), c.Actor(), m.person, disabled); err != nil {
			return s.peopleConflict(c, err)
		}
		if disabled {
			return c.Lead(c.peoplePath() + "?done=person-disabled")
		}
		return c.Lead(c.peoplePath() + "?done=person-enabled")
	}
}
