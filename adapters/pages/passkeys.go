package pages

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"waybill/application/people"
	"waybill/domain"
)

const withoutScripts = "Use your password or a link."

// passkeyForm fills in the shared fields of passkey forms and adds hidden fields.
func (s *Site) passkeyForm(f Passkey, with ...Kept) Passkey {
	f.Kept, f.Action, f.Ask = append(f.Kept, with...), s.o.Prefix+f.Action, s.o.Prefix+f.Ask
	f.Origin, f.Instead = s.origin, withoutScripts
	if _, err := s.o.Passkeys.Host(); err != nil {
		f.Why = MessageOf(err)
	}
	return f
}

// prompt sends the options of a WebAuthn prompt to the page's script.
func (s *Site) prompt(c *Call, prompt people.Prompt, err error) error {
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, struct {
		Ceremony domain.ID       `json:"ceremony"`
		Options  json.RawMessage `json:"options"`
	}{prompt.Ceremony, prompt.Options})
	return nil
}

// answered returns the browser's passkey response from the form.
func (c *Call) answered() (ceremony domain.ID, answer []byte) {
	return domain.ID(c.Form.Get("ceremony")), []byte(c.Form.Get("passkey"))
}

// refusedPasskey reports whether the error is about a passkey that proves nothing.
func refusedPasskey(err error) bool {
	return domain.HasCode(err, domain.CodePasskeyRefused) || domain.HasCode(err, domain.CodeCeremonyOver) ||
		domain.HasCode(err, domain.CodePasskeyUnusable)
}

func (s *Site) askToSignInByPasskey(c *Call) error {
	prompt, err := s.o.Passkeys.AskToSignIn()
	return s.prompt(c, prompt, err)
}

func (s *Site) askToConfirmByPasskey(c *Call) error {
	prompt, err := s.o.Passkeys.AskToConfirm(c.Ctx(), c.Principal)
	return s.prompt(c, prompt, err)
}

func (s *Site) askToAddPasskey(c *Call) error {
	prompt, err := s.o.Passkeys.AskToAdd(c.Ctx(), c.Principal)
	return s.prompt(c, prompt, err)
}

// passkeysView holds the account page's part about passkeys.
type passkeysView struct {
	List []passkeyView
	Add  *Passkey // nil: the sign-in is too old
}

type passkeyView struct {
	ID, Name, Elsewhere   string // Elsewhere: the host of the passkey, if it is not ours
	Syncs                 bool
	CreatedAt, LastUsedAt time.Time
}

func (s *Site) passkeyView(k domain.Passkey) passkeyView {
	v := passkeyView{ID: string(k.ID), Name: k.Name, Syncs: k.Syncs, CreatedAt: k.CreatedAt}
	if host, _ := s.o.Passkeys.Host(); host != k.Host { // no host: it is for another one
		v.Elsewhere = k.Host
	}
	if k.LastUsedAt != nil {
		v.LastUsedAt = *k.LastUsedAt
	}
	return v
}

func (s *Site) passkeysView(c *Call, fresh bool) (v passkeysView, err error) {
	known, err := s.o.Passkeys.List(c.Ctx(), c.Principal)
	if err != nil {
		return v, err
	}
	for _, k := range known {
		v.List = append(v.List, s.passkeyView(k))
	}
	if fresh {
		name := c.Field(passkeyName("passkey-name"))
		add := s.passkeyForm(Passkey{Action: "/account/passkeys", Ask: "/account/passkeys/ask", Name: &name, Button: "Add a passkey",
			Second: true})
		v.Add = &add
	}
	return v, nil
}

func passkeyName(id string) Field {
	return Field{ID: id, Name: "name", Label: "Name of the passkey", Hint: "For example, the name of the device.",
		MaxLength: domain.NameRule.Most}
}

func (s *Site) addPasskey(c *Call) error {
	ceremony, answer := c.answered()
	_, err := s.o.Passkeys.Add(c.Ctx(), c.Principal, c.RequestID(), ceremony, answer, c.Form.Get("name"))
	s.noteRefusal(c, err)
	var e *domain.Error
	switch {
	case err == nil:
		return c.Lead("/account?done=passkey-added")
	case c.Wrong(err):
		return s.accountPage(c, http.StatusUnprocessableEntity, nil)
	case refusedPasskey(err) || errors.As(err, &e) && e.Kind == domain.KindConflict:
		return s.accountPage(c, StatusOf(err), &Notice{Tone: "bad", Title: "The passkey was not added", Lines: []string{MessageOf(err)}})
	}
	return err
}

type onePasskeyView struct {
	Passkey passkeyView
	Name    Field
	Last    bool // without it only a link lets the person in
}

func (s *Site) showPasskey(c *Call) error { return s.passkeyPage(c, http.StatusOK) }

func (s *Site) passkeyPage(c *Call, status int) error {
	known, err := s.o.Passkeys.List(c.Ctx(), c.Principal)
	if err != nil {
		return err
	}
	for _, k := range known {
		if string(k.ID) != c.Param("passkey") {
			continue
		}
		name := passkeyName("name")
		name.Value = k.Name
		return s.Show(c, status, "passkey", "Passkey "+k.Name, onePasskeyView{
			Passkey: s.passkeyView(k), Name: c.Field(name), Last: len(known) == 1 && c.Principal.Person.PasswordHash == "",
		})
	}
	return domain.ErrNotFound
}

func (s *Site) renamePasskey(c *Call) error {
	err := s.o.Passkeys.Rename(c.Ctx(), c.Principal, c.RequestID(), domain.ID(c.Param("passkey")), c.Form.Get("name"))
	if c.Wrong(err) {
		return s.passkeyPage(c, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return c.Lead("/account?done=passkey-renamed")
}

func (s *Site) removePasskey(c *Call) error {
	if err := s.o.Passkeys.Remove(c.Ctx(), c.Principal, c.RequestID(), domain.ID(c.Param("passkey"))); err != nil {
		return err
	}
	return c.Lead("/account?done=passkey-removed")
}

// askToConfirm asks for a recent sign-in, and then opens the account.
func (s *Site) askToConfirm(c *Call) error { return s.askAgain(c, http.StatusOK, nil) }

func (s *Site) confirmed(c *Call) error { return c.Lead("/account") }
