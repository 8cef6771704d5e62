package portal

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"waybill/adapters/pages"
	"waybill/application/people"
	"waybill/domain"
)

const withoutScripts = "Use your password or a link."

// passkeyForm fills in what all forms for a passkey have, and the fields that go with it.
func (p *Portal) passkeyForm(f pages.Passkey, with ...keptField) pages.Passkey {
	for _, k := range with {
		f.Kept = append(f.Kept, pages.Kept(k))
	}
	f.Origin, f.Instead = p.origin, withoutScripts
	if _, err := p.Passkeys.Host(); err != nil {
		f.Why = messageOf(err)
	}
	return f
}

// prompt answers a script of ours with what the browser is asked.
func (p *Portal) prompt(c *call, prompt people.Prompt, err error) error {
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, struct {
		Ceremony domain.ID       `json:"ceremony"`
		Options  json.RawMessage `json:"options"`
	}{prompt.Ceremony, prompt.Options})
	return nil
}

// answered is the answer of a browser, in a form.
func (c *call) answered() (ceremony domain.ID, answer []byte) {
	return domain.ID(c.form.Get("ceremony")), []byte(c.form.Get("passkey"))
}

// refusedPasskey reports a passkey that proves nothing, and notes why.
func (p *Portal) refusedPasskey(c *call, err error) bool {
	if !domain.HasCode(err, domain.CodePasskeyRefused) && !domain.HasCode(err, domain.CodeCeremonyOver) &&
		!domain.HasCode(err, domain.CodePasskeyUnusable) {
		return false
	}
	p.options.Log.InfoContext(c.ctx(), "a passkey was refused", "request_id", requestID(c.Context), "error", err)
	return true
}

func (p *Portal) askToSignInByPasskey(c *call) error {
	prompt, err := p.Passkeys.AskToSignIn(c.ctx(), c.browser())
	return p.prompt(c, prompt, err)
}

func (p *Portal) askToConfirmByPasskey(c *call) error {
	prompt, err := p.Passkeys.AskToConfirm(c.ctx(), c.principal)
	return p.prompt(c, prompt, err)
}

func (p *Portal) askToAddPasskey(c *call) error {
	prompt, err := p.Passkeys.AskToAdd(c.ctx(), c.principal)
	return p.prompt(c, prompt, err)
}

// passkeysView is the part of the account page about passkeys.
type passkeysView struct {
	List []passkeyView
	Add  *pages.Passkey // nil: the sign-in is too old
}

type passkeyView struct {
	ID, Name, Elsewhere   string // Elsewhere: the host that it is for, where that is not ours
	Syncs                 bool
	CreatedAt, LastUsedAt time.Time
}

func (p *Portal) passkeyView(k domain.Passkey) passkeyView {
	v := passkeyView{ID: string(k.ID), Name: k.Name, Syncs: k.Syncs, CreatedAt: k.CreatedAt}
	if host, _ := p.Passkeys.Host(); host != k.Host { // none: it is for another one
		v.Elsewhere = k.Host
	}
	if k.LastUsedAt != nil {
		v.LastUsedAt = *k.LastUsedAt
	}
	return v
}

func (p *Portal) passkeysView(c *call, fresh bool) (v passkeysView, err error) {
	known, err := p.Passkeys.List(c.ctx(), c.principal)
	if err != nil {
		return v, err
	}
	for _, k := range known {
		v.List = append(v.List, p.passkeyView(k))
	}
	if fresh {
		name := c.field(passkeyName("passkey-name"))
		add := p.passkeyForm(pages.Passkey{Action: "/account/passkeys", Ask: "/account/passkeys/ask", Name: &name, Button: "Add a passkey",
			Second: true})
		v.Add = &add
	}
	return v, nil
}

func passkeyName(id string) pages.Field {
	return pages.Field{ID: id, Name: "name", Label: "Name of the passkey", Hint: "Such as the device it is on.",
		MaxLength: domain.NameRule.Most}
}

func (p *Portal) addPasskey(c *call) error {
	ceremony, answer := c.answered()
	_, err := p.Passkeys.Add(c.ctx(), c.principal, requestID(c.Context), ceremony, answer, c.form.Get("name"))
	var e *domain.Error
	switch {
	case err == nil:
		return c.lead("/account?done=passkey-added")
	case c.wrong(err):
		return p.accountPage(c, http.StatusUnprocessableEntity, nil)
	case p.refusedPasskey(c, err) || errors.As(err, &e) && e.Kind == domain.KindConflict:
		return p.accountPage(c, statusOf(err), &pages.Notice{Tone: "bad", Title: "No passkey was added", Lines: []string{messageOf(err)}})
	}
	return err
}

type onePasskeyView struct {
	Passkey passkeyView
	Name    pages.Field
	Last    bool // nothing else lets the person in but a link
}

func (p *Portal) showPasskey(c *call) error { return p.passkeyPage(c, http.StatusOK) }

func (p *Portal) passkeyPage(c *call, status int) error {
	known, err := p.Passkeys.List(c.ctx(), c.principal)
	if err != nil {
		return err
	}
	for _, k := range known {
		if string(k.ID) != c.Param("passkey") {
			continue
		}
		name := passkeyName("name")
		name.Value = k.Name
		return p.show(c, status, "passkey", "Passkey "+k.Name, onePasskeyView{
			Passkey: p.passkeyView(k), Name: c.field(name), Last: len(known) == 1 && c.principal.Person.PasswordHash == "",
		})
	}
	return domain.ErrNotFound
}

func (p *Portal) renamePasskey(c *call) error {
	err := p.Passkeys.Rename(c.ctx(), c.principal, requestID(c.Context), domain.ID(c.Param("passkey")), c.form.Get("name"))
	if c.wrong(err) {
		return p.passkeyPage(c, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return c.lead("/account?done=passkey-renamed")
}

func (p *Portal) removePasskey(c *call) error {
	if err := p.Passkeys.Remove(c.ctx(), c.principal, requestID(c.Context), domain.ID(c.Param("passkey"))); err != nil {
		return err
	}
	return c.lead("/account?done=passkey-removed")
}

// askToConfirm asks for a younger sign-in by itself, and goes on to the account.
func (p *Portal) askToConfirm(c *call) error { return p.askAgain(c, http.StatusOK, nil) }

func (p *Portal) confirmed(c *call) error { return c.lead("/account") }
