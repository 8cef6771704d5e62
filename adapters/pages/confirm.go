package pages

import (
	"cmp"

	"waybill/domain"
)

// confirmField marks a form that was sent again with the password or a passkey.
const confirmField = "confirm"

// againView asks for the password or a passkey before a form continues.
type againView struct {
	Notice      Notice
	Problem     *Notice // with a passkey
	Action      string
	Kept        []Kept
	Pass        Field
	HasPassword bool
	Passkey     *Passkey // nil: the person has none
	Company     string   // link to the identity provider; empty: the person has no account there
	OneBusiness bool     // an operator's link opened the session
	Back        string
	Email       string // to which a sign-in link may be sent; empty: the site sends no emails
	Command     string // with which the operator creates a link
	AskLink     string // whom to ask for a link
}

// askAgain asks for the password or a passkey, and keeps the form as it was sent.
func (s *Site) askAgain(c *Call, status int, problem error) error {
	if c.Principal.Session.OneBusiness {
		if err := s.Show(c, status, "again", "Open the portal again", againView{OneBusiness: true, Back: c.At("/"),
			Notice: Notice{Title: "Open the portal again to continue", Lines: []string{
				"For this, you must have signed in within the last 10 minutes. Nothing was changed.",
				"Open the portal again from the website that led you here, or ask an owner of your business for a new link. " +
					"Or sign in yourself. Then send the form again."}},
		}); err != nil {
			return err
		}
		return ErrAnswered
	}
	known, err := s.o.Passkeys.List(c.Ctx(), c.Principal)
	if err != nil {
		return err
	}
	fields, whole := c.kept(c.Form)
	v := againView{
		Action: c.Request.URL.Path, Kept: fields, HasPassword: c.Principal.Person.PasswordHash != "",
		Back: c.At("/"), AskLink: s.o.Words.AskLink,
		Notice: Notice{Tone: "warn", Title: "Sign in again to continue",
			Lines: []string{"For this, you must have signed in within the last 10 minutes. What you sent is kept, and continues after you sign in."}},
		Pass: Field{ID: "password", Name: "password", Label: "Password", Type: "password", Autocomplete: "current-password", Required: true,
			MaxLength: domain.MaxPassword},
	}
	if s.o.Mails {
		v.Email = string(c.Principal.Person.Email)
	}
	v.Command = "waybill person link " + string(c.Principal.Person.ID)
	if s.o.Site == domain.Console {
		v.Command = "waybill staff link " + string(c.Principal.Person.ID)
	}
	if v.Company, err = s.confirmHref(c); err != nil {
		return err
	}
	here := s.here(c)
	if !whole {
		here = "/account/confirm" // a form that lost its fields is not sent
		v.Action = s.o.Prefix + here
		v.Notice.Lines = []string{"For this, you must have signed in within the last 10 minutes. The form was not kept, because it is too large or has a file. " +
			"Sign in here, then open the form again and send it."}
	}
	switch {
	case problem != nil && c.Form.Has("passkey"):
		v.Problem = &Notice{Tone: "bad", Title: "Sign-in failed", Lines: []string{MessageOf(problem)}}
	case problem != nil:
		v.Pass.Error = MessageOf(problem)
	}
	if len(known) > 0 {
		form := s.passkeyForm(Passkey{
			Action: here, Ask: "/account/confirm/passkey", Button: "Continue with a passkey", Second: v.HasPassword,
		}, append(v.Kept, Kept{Name: confirmField, Value: "1"})...)
		v.Passkey = &form
	}
	if err := s.Show(c, status, "again", "Sign in again", v); err != nil {
		return err
	}
	return ErrAnswered
}

// confirm checks the passkey or password of a form, and keeps the session.
func (s *Site) confirm(c *Call) (err error) {
	if c.Form.Has("passkey") {
		ceremony, answer := c.answered()
		err = s.o.Passkeys.ConfirmByPasskey(c.Ctx(), c.Browser(), c.Principal, ceremony, answer)
	} else {
		err = s.o.Access.Confirm(c.Ctx(), c.Browser(), c.Principal, cmp.Or(c.Form.Get("current_password"), c.Form.Get("password")))
	}
	if err != nil {
		s.noteRefusal(c, err)
		return err
	}
	return s.identify(c)
}
