package admin

import (
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/term"
	"waybill/application/people"
	"waybill/domain"
)

// personView is a person as one business, or the staff, sees them.
type personView struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Email      string  `json:"email"`
	Role       string  `json:"role"`
	State      string  `json:"state"`
	BusinessID *string `json:"business_id"` // null: the staff
	CreatedAt  string  `json:"created_at"`
	AcceptedAt *string `json:"accepted_at"` // null: the invitation was not used yet
}

func showPerson(m domain.Member) personView {
	v := personView{
		ID: string(m.Person.ID), Name: m.Person.Name, Email: string(m.Person.Email), Role: string(m.Membership.Role),
		State:     string(m.Person.State),
		CreatedAt: domain.FormatTime(m.Membership.CreatedAt), AcceptedAt: term.Moment(m.Membership.AcceptedAt),
	}
	if m.Membership.BusinessID != "" {
		business := string(m.Membership.BusinessID)
		v.BusinessID = &business
	}
	if m.Membership.AcceptedAt == nil && m.Person.State != domain.PersonDisabled {
		v.State = string(domain.PersonInvited)
	}
	return v
}

// linkView is a sign-in link. It is shown only once.
type linkView struct {
	personView
	Link      string `json:"link"`
	ExpiresAt string `json:"expires_at"`
}

func (p *Commands) showLink(o *UseCases, issued people.Issued) error {
	base := p.PortalURL(o.Config)
	if issued.Site() == domain.Console {
		base = p.ConsoleURL(o.Config)
	}
	v := linkView{personView: showPerson(issued.Member), Link: base + "/enter/" + issued.Secret,
		ExpiresAt: domain.FormatTime(issued.ExpiresAt)}
	return p.Show(v, func(w io.Writer) {
		term.Row(w, "ID", v.ID)
		term.Row(w, "E-mail", v.Email)
		term.Row(w, "Role", v.Role)
		term.Row(w, "Link", v.Link+"   (works once, until "+v.ExpiresAt+")")
	})
}

func (p *Commands) person() *cobra.Command {
	return term.Group("person", "People of a customer: invite, make a link, list, remove, end sessions, disable, enable",
		p.invite(domain.Portal), p.personLink(domain.Portal), p.personList(domain.Portal), p.personRemove(domain.Portal), p.personEndSessions(),
		p.personDisable(), p.personEnable())
}

func (p *Commands) staff() *cobra.Command {
	return term.Group("staff", "People of the delivery company: invite, make a link, list, remove, disable, enable",
		p.invite(domain.Console), p.personLink(domain.Console), p.personList(domain.Console), p.personRemove(domain.Console),
		p.personDisable(), p.personEnable())
}

// business is the --business of a command for the portal. The staff has none.
type business struct {
	site domain.Site
	text string
}

func (b *business) flag(cmd *cobra.Command) *cobra.Command {
	if b.site == domain.Portal {
		cmd.Flags().StringVar(&b.text, "business", "", "ID of the customer")
	}
	return cmd
}

// required requires the flags, with --business if there is one, and returns the business.
func (b *business) required(cmd *cobra.Command, names ...string) (domain.ID, error) {
	if b.site == domain.Console {
		return "", term.Required(cmd, names...)
	}
	if err := term.Required(cmd, append([]string{"business"}, names...)...); err != nil {
		return "", err
	}
	return term.ParseID(cmd, "a business", domain.PrefixBusiness, b.text)
}

func (b *business) usage() string {
	if b.site == domain.Portal {
		return " --business ID"
	}
	return ""
}

func rolesOf(s domain.Site) string {
	var names []string
	for _, role := range domain.Roles(s) {
		names = append(names, string(role))
	}
	return strings.Join(names, ", ")
}

func (p *Commands) invite(site domain.Site) *cobra.Command {
	of := &business{site: site}
	var email, name, role string
	cmd := &cobra.Command{
		Use: "invite" + of.usage() + " --email E --name N --role ROLE", Short: "Invite a person, with a link that works once and for 7 days",
		Long: "Invite a person. The link that is printed lets them in once, for 7 days; it is shown this once.\n" +
			"Where the address has an account with a password or passkey, or one of the staff, the link asks for\n" +
			"the sign-in of that account, and changes nothing of it. To invite the same person again makes\n" +
			"another link, which replaces the one before.",
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := of.required(cmd, "email", "name", "role")
			if err != nil {
				return err
			}
			if _, err := domain.ParseRole(site, role); err != nil {
				return term.Usagef(cmd, "--role is %q; it is %s", role, rolesOf(site))
			}
			if _, err := domain.ParseEmail(email); err != nil {
				return term.Usagef(cmd, "--email is %q; it is an address such as ama@example.com", email)
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				issued, err := o.People.Invite(cmd.Context(), p.OperatorHere(), people.Invitation{BusinessID: id, Email: email, Name: name, Role: role})
				if err != nil {
					return term.Unknown(err, "business", id)
				}
				return p.showLink(o, issued)
			})
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "e-mail address, by which the person is known")
	cmd.Flags().StringVar(&name, "name", "", "name of the person, 1 to 128 characters")
	cmd.Flags().StringVar(&role, "role", "", "what they may do: "+rolesOf(site))
	return of.flag(cmd)
}

// onPerson returns a command about one person, named by the ID.
func (p *Commands) onPerson(verb, short string, do func(cmd *cobra.Command, o *UseCases, id domain.ID) error) *cobra.Command {
	return &cobra.Command{
		Use: verb, Short: short, Args: term.Takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := term.ParseID(cmd, "a person", domain.PrefixPerson, args[0])
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error { return term.Unknown(do(cmd, o, id), "person", id) })
		},
	}
}

func (p *Commands) personLink(site domain.Site) *cobra.Command {
	return p.onPerson("link ID", "Make a link for signing in, which works once and for 10 minutes",
		func(cmd *cobra.Command, o *UseCases, id domain.ID) error {
			issued, err := o.People.Link(cmd.Context(), p.OperatorHere(), id, site)
			if err != nil {
				return err
			}
			return p.showLink(o, issued)
		})
}

func (p *Commands) personList(site domain.Site) *cobra.Command {
	of := &business{site: site}
	return of.flag(&cobra.Command{
		Use: "list" + of.usage(), Short: "List the people, those who were invited first on top", Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := of.required(cmd)
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				members, err := o.People.Members(cmd.Context(), id)
				if err != nil {
					return term.Unknown(err, "business", id)
				}
				views := make([]personView, 0, len(members))
				for _, m := range members {
					views = append(views, showPerson(m))
				}
				return p.Show(views, func(w io.Writer) {
					term.Row(w, "ID", "NAME", "E-MAIL", "ROLE", "STATE", "INVITED")
					for _, v := range views {
						term.Row(w, v.ID, v.Name, v.Email, v.Role, v.State, v.CreatedAt)
					}
				})
			})
		},
	})
}

func (p *Commands) personRemove(site domain.Site) *cobra.Command {
	of := &business{site: site}
	var id domain.ID
	cmd := p.onPerson("remove ID"+of.usage(), "Take a person out; sessions and links end at once",
		func(cmd *cobra.Command, o *UseCases, person domain.ID) error {
			removed, err := o.People.Remove(cmd.Context(), p.OperatorHere(), id, person)
			if err != nil {
				return err
			}
			v := showPerson(removed)
			return p.Show(v, func(w io.Writer) { term.Row(w, "Removed", v.ID, v.Name, v.Email) })
		})
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if id, err = of.required(cmd); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return of.flag(cmd)
}

// endedView says how many sessions there were.
type endedView struct {
	ID    string `json:"id"`
	Ended int    `json:"ended"`
}

func (p *Commands) personEndSessions() *cobra.Command {
	return p.onPerson("end-sessions ID", "Sign a person out everywhere; links that were not used end too",
		func(cmd *cobra.Command, o *UseCases, id domain.ID) error {
			ended, err := o.People.EndSessions(cmd.Context(), p.OperatorHere(), id)
			if err != nil {
				return err
			}
			return p.Show(endedView{ID: string(id), Ended: ended}, func(w io.Writer) { term.Row(w, "Sessions ended", strconv.Itoa(ended)) })
		})
}

// accountView is an account that was disabled or enabled.
type accountView struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
	State string `json:"state"`
}

func (p *Commands) personDisable() *cobra.Command {
	return p.setDisabled("disable ID", "Close the account of a person at the console and at every customer; sessions and links end", true)
}

func (p *Commands) personEnable() *cobra.Command {
	return p.setDisabled("enable ID", "Open the account of a person again", false)
}

func (p *Commands) setDisabled(verb, short string, disabled bool) *cobra.Command {
	return p.onPerson(verb, short, func(cmd *cobra.Command, o *UseCases, id domain.ID) error {
		person, err := o.People.SetDisabled(cmd.Context(), p.OperatorHere(), id, disabled)
		if err != nil {
			return err
		}
		v := accountView{ID: string(person.ID), Name: person.Name, Email: string(person.Email), State: string(person.State)}
		return p.Show(v, func(w io.Writer) { term.Row(w, v.ID, v.Name, v.Email, v.State) })
	})
}
