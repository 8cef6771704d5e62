package portal

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/application/access"
	"waybill/domain"
)

// madeByEntries limits how many audit entries are read to find who created a key. Older keys show
// no name.
const madeByEntries = 200

// scopeTexts says what each scope lets a program do.
var scopeTexts = map[domain.Scope]string{
	domain.ScopeQuotesRead: "ask for prices", domain.ScopeRecipientsRead: "read recipients and their addresses",
	domain.ScopeRecipientsWrite: "add and change recipients", domain.ScopeDeliveriesRead: "read deliveries, events and pickup locations",
	domain.ScopeDeliveriesWrite: "book and cancel deliveries, change pickup locations",
	domain.ScopeWebhooksRead:    "read webhook endpoints and attempts",
	domain.ScopeWebhooksWrite:   "set up webhook endpoints",
}

type keysView struct {
	Notice      *pages.Notice
	App         domain.Application
	Environment string
	Switch      *pages.Switch // for staff, whose frame has none
	Keys        []keyView
	Past        []keyView // revoked or expired
	PastMost    int       // limits how many of these are shown
	Unread      string    // why the page has no calls; empty: it has them
	May         bool
	BaseURL     string
	NewKey      string // the page with the form for a key
}

// newKeyPage holds the form for a key.
type newKeyPage struct {
	Notice                  *pages.Notice
	App                     domain.Application
	Environment, List       string
	Once                    string // ID of the key that the form will create
	Name, Scopes, ExpiresIn pages.Field
	Told                    string // who gets an email about a change; empty: nobody
	May                     bool
}

func (p *Portal) askNewKey(c *call) error { return p.showNewKeyForm(c, http.StatusOK, c.WelcomeBack()) }

func (p *Portal) showNewKeyForm(c *call, status int, n *pages.Notice) error {
	e, err := environment(c)
	if err != nil {
		return err
	}
	app, err := p.app(c)
	if err != nil {
		return err
	}
	return p.Show(c, status, "key_new", "Create a "+string(e)+" key", newKeyPage{
		Notice: n, App: app, Environment: string(e), List: "/apps/" + string(app.ID) + "/" + string(e) + "/keys",
		Once: p.OnceShown(c, domain.PrefixAPIKey, status), Told: p.toldOfKeys(), May: c.May(keyAct(c)),
		Name: c.Field(pages.Field{Name: "name", Label: "Name", Value: app.Name, MaxLength: domain.NameRule.Most,
			Hint: "Where the key is used, such as Web shop server."}),
		Scopes: scopesField(c), ExpiresIn: expiresField(c),
	})
}

// toldOfKeys says who gets emails about changes of keys, and when.
func (p *Portal) toldOfKeys() string {
	if !p.options.Mails {
		return ""
	}
	return fmt.Sprintf("Owners and developers get an email about each change of keys. After %d in an hour, further ones come in one email "+
		"when the hour is over.", domain.MailsAnHourToOne)
}

type keyView struct {
	ID, LastFour, Prefix, At string
	Name                     string // what people call it; empty: it has no name
	Scopes                   []string
	All                      bool
	MadeBy                   string
	CreatedAt                time.Time
	LastUsedAt               time.Time
	ExpiresAt                *time.Time
	Soon, Revoked            bool
	ReplacedBy               string // last four characters of the key from a rotation; empty: none, or old
	ReplacedAt               time.Time
	UsedSince                bool   // after the minute of the replacement
	Once                     string // ID of the key that Rotate will create
	Calls                    int64  // in the last 24 hours
	Routes                   []routeView
	List                     string // the list of these requests
}

// routeView holds a route that a key called in the last 24 hours.
type routeView struct {
	Route, Href string
	Calls       int64
	Last        time.Time
}

// called adds the calls of a key in the last 24 hours. Call counts arrive soon, but only per
// minute. The last use is stored to the second, but later.
func (v *keyView) called(routes []domain.Usage, now time.Time) {
	v.UsedSince = v.LastUsedAt.After(v.ReplacedAt)
	since := now.Add(-24 * time.Hour).Truncate(time.Minute).Format(time.RFC3339)
	list := pages.RequestsAsked{Values: url.Values{"key": {v.ID}, "created_after": {since}}}
	v.List = list.With("", "")
	for _, u := range routes {
		v.Calls += u.Calls
		if u.Last.After(v.LastUsedAt) {
			v.LastUsedAt = u.Last
		}
		v.UsedSince = v.UsedSince || u.Last.After(v.ReplacedAt)
		v.Routes = append(v.Routes, routeView{Route: u.Route, Href: list.With("route", u.Route), Calls: u.Calls, Last: u.Last})
	}
}

// environment returns the environment in the address.
func environment(c *call) (domain.Environment, error) {
	e, ok := domain.ParseEnvironment(c.Param("env"))
	if !ok {
		return "", domain.ErrNotFound
	}
	return e, nil
}

func (p *Portal) drawKeyID() string { return string(p.options.Identifiers.ID(domain.PrefixAPIKey)) }

func (p *Portal) listKeys(c *call) error {
	if c.WelcomeBack() != nil {
		return p.askNewKey(c) // what was typed belongs there
	}
	return p.keysPage(c, http.StatusOK, c.Told())
}

func (p *Portal) keysPage(c *call, status int, n *pages.Notice) error {
	e, err := environment(c)
	if err != nil {
		return err
	}
	app, err := p.app(c)
	if err != nil {
		return err
	}
	keys, err := p.Tenants.KeysOf(c.Ctx(), c.Business(), app.ID, e)
	if err != nil {
		return err
	}
	past, err := p.keyHistory(c)
	if err != nil {
		return err
	}
	v := keysView{
		Notice: n, App: app, Environment: string(e), May: c.May(keyAct(c)), PastMost: domain.MaxPastKeysListed,
		NewKey:  "/apps/" + string(app.ID) + "/" + string(e) + "/keys/new",
		BaseURL: map[domain.Environment]string{domain.Live: p.options.LiveBaseURL, domain.Sandbox: p.options.SandboxBaseURL}[e],
	}
	if v.Switch, err = p.switchForStaff(c); err != nil {
		return err
	}
	routes, err := p.Requests.RoutesOfKeys(c.Ctx(), c.Business(), app.ID, e)
	if err != nil {
		p.noteLog(c, err)
		v.Unread = unreadLog
	}
	now := p.options.Clock.Now()
	for _, k := range keys {
		shown := showKey(k, now, past, keys)
		if k.Past(now) {
			v.Past = append(v.Past, shown)
			continue
		}
		shown.Once = p.drawKeyID()
		shown.called(routes[k.ID], now)
		v.Keys = append(v.Keys, shown)
	}
	return p.Show(c, status, "keys", "Keys of "+app.Name, v)
}

// showKey returns the view of a key. It looks for the successor in all.
func showKey(k domain.APIKey, now time.Time, past keyHistory, all []domain.APIKey) keyView {
	v := keyView{
		ID: string(k.ID), Name: k.Name, LastFour: k.LastFour, Prefix: domain.KeyPrefix(k.Environment), At: "/apps/" + string(k.ApplicationID) + "/" +
			string(k.Environment) + "/keys/" + string(k.ID),
		All: len(k.Scopes) == len(domain.AllScopes()), MadeBy: past.makers[k.ID], CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt,
		Soon: k.ExpiresAt != nil && k.ExpiresAt.Sub(now) < 7*24*time.Hour, Revoked: k.RevokedAt != nil,
	}
	for _, s := range k.Scopes {
		v.Scopes = append(v.Scopes, string(s))
	}
	if k.LastUsedAt != nil {
		v.LastUsedAt = *k.LastUsedAt
	}
	successor := past.successors[k.ID]
	for _, other := range all {
		if other.ID == successor {
			v.ReplacedBy, v.ReplacedAt = other.LastFour, other.CreatedAt
		}
	}
	return v
}

// keyHistory holds what the audit log says about keys, as far as it was read.
type keyHistory struct {
	makers     map[domain.ID]string
	successors map[domain.ID]domain.ID // the last key created by a rotation
}

func (p *Portal) keyHistory(c *call) (keyHistory, error) {
	past := keyHistory{makers: map[domain.ID]string{}, successors: map[domain.ID]domain.ID{}}
	for _, action := range []domain.Action{domain.ActionKeyCreate, domain.ActionKeyRotate} {
		entries, err := p.Audit.EntriesOfBusiness(c.Ctx(), c.Business(), domain.AuditFilter{Action: action},
			domain.PageRequest{Limit: madeByEntries})
		if err != nil {
			return past, err
		}
		for _, e := range slices.Backward(entries) {
			made := e.Target
			if action == domain.ActionKeyRotate {
				made = domain.ID(e.Details["successor"])
				past.successors[e.Target] = made
			}
			past.makers[made] = actorName(e.Actor)
		}
	}
	return past, nil
}

// actorName returns an actor's name for a business: people by name, all others as the company.
func actorName(a domain.AuditActor) string {
	if a.Kind() == domain.ActorPerson {
		return a.Name
	}
	return domain.CompanyName
}

// presetScopes are those that a program needs to book deliveries and follow them, in both
// environments.
var presetScopes = []domain.Scope{domain.ScopeQuotesRead, domain.ScopeDeliveriesRead, domain.ScopeDeliveriesWrite}

func scopesField(c *call) pages.Field {
	f := pages.Field{Name: "scopes", Label: "Scopes", Hint: "What a program with this key may do. Choose only what your program needs."}
	for _, s := range domain.AllScopes() {
		f.Options = append(f.Options, pages.Option{Value: string(s), Text: scopeTexts[s], Chosen: slices.Contains(presetScopes, s)})
	}
	if _, sent := c.Form["once"]; sent && len(c.Form["scopes"]) == 0 {
		for i := range f.Options {
			f.Options[i].Chosen = false
		}
	}
	return c.Field(f)
}

func expiresField(c *call) pages.Field {
	f := pages.Field{ID: "expires_in", Name: "expires_in", Label: "Expires", Hint: "Rotate a key before it expires.",
		Options: []pages.Option{
			{Value: "", Text: "Never"}, {Value: "30d", Text: "In 30 days"}, {Value: "90d", Text: "In 90 days"}, {Value: "365d", Text: "In a year"},
		}}
	if typed := c.Form.Get("expires_in"); !slices.ContainsFunc(f.Options, func(o pages.Option) bool { return o.Value == typed }) {
		f.Options = append(f.Options, pages.Option{Value: typed, Text: "In " + typed})
	}
	return c.Field(f)
}

// newKeyForm parses the scopes and lifetime of the form.
func newKeyForm(c *call) (scopes []domain.Scope, lifetime *time.Duration, err error) {
	if scopes, err = domain.ParseScopes(strings.Join(c.Form["scopes"], ",")); err != nil {
		if len(c.Form["scopes"]) == 0 {
			err = domain.Invalid(domain.FieldError{Field: "scopes", Code: domain.FieldRequired, Message: "Choose at least one scope."})
		}
		return nil, nil, err
	}
	if text := strings.TrimSpace(c.Form.Get("expires_in")); text != "" {
		d, err := domain.ParseLifetime(text)
		if err != nil {
			return nil, nil, domain.Invalid(domain.FieldError{Field: "expires_in", Code: domain.FieldInvalidFormat, Message: err.Error()})
		}
		lifetime = &d
	}
	return scopes, lifetime, nil
}

func (p *Portal) createKey(c *call) error {
	e, err := environment(c)
	if err != nil {
		return err
	}
	app, err := p.app(c)
	if err != nil {
		return err
	}
	once, whole := p.WholeOnce(c, domain.PrefixAPIKey)
	if !whole {
		return p.showNewKeyForm(c, http.StatusUnprocessableEntity, incompleteKeyForm())
	}
	scopes, lifetime, err := newKeyForm(c)
	var key access.IssuedKey
	if err == nil {
		key, err = p.Tenants.IssueKeyOnce(c.Ctx(), c.Actor(), once, app.ID, e, strings.TrimSpace(c.Form.Get("name")), scopes, lifetime)
	}
	if c.Wrong(err) {
		return p.showNewKeyForm(c, http.StatusUnprocessableEntity, nil)
	}
	if n := keyConflict(err); n != nil {
		return p.showNewKeyForm(c, http.StatusConflict, n)
	}
	if err != nil {
		return err
	}
	return p.showNewKey(c, app, key, nil)
}

func incompleteKeyForm() *pages.Notice {
	return &pages.Notice{Tone: "bad", Title: "No key was created", Lines: []string{"The form was incomplete. Send it again from here."}}
}

// keyConflict returns a notice that says why no key was created; nil: err is no conflict.
func keyConflict(err error) *pages.Notice {
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.KindConflict {
		return nil
	}
	title := "No key was created"
	if e.Code == domain.CodeFormAlreadySent {
		title = "No second key was created"
	}
	return &pages.Notice{Tone: "bad", Title: title, Lines: []string{e.Message}}
}

type newKeyView struct {
	App    domain.Application
	Key    keyView
	Secret pages.Secret
	Old    *keyView // still works after the rotation
	List   string
	Call   pages.Code
	Env    string
	Told   string // who gets an email about it; empty: nobody
}

// showNewKey sends the only response with the key.
func (p *Portal) showNewKey(c *call, app domain.Application, k access.IssuedKey, old *keyView) error {
	at := "/apps/" + string(app.ID) + "/" + string(k.Environment) + "/keys"
	base := p.options.SandboxBaseURL
	if k.Environment == domain.Live {
		base = p.options.LiveBaseURL
	}
	note := "It is shown only now. Keep it where your program reads its secrets, never in its source code."
	if !ownPages(c) {
		note = "It is shown only now. Give it to the customer in a way that nobody else can read, and keep no copy."
	}
	v := newKeyView{
		App: app, Key: showKey(k.APIKey, p.options.Clock.Now(), keyHistory{}, nil), Old: old, List: at, Env: string(k.Environment),
		Told: p.toldOfKeys(), Secret: pages.Secret{Title: "Copy the key now", Note: note, Label: "The new key", Secret: k.Secret},
		Call: pages.Code{ID: "call", Text: `curl -H "Authorization: Bearer $WAYBILL_API_KEY" ` + base + "/api-key"},
	}
	return p.Show(c, http.StatusOK, "key", "The new key", v)
}

// keyPage holds the page of one key.
type keyPage struct {
	Notice *pages.Notice
	App    domain.Application
	Env    string
	List   string
	Key    keyView
	// RevokedAt holds the zero time if the key is not revoked.
	RevokedAt time.Time
	Used      string // when, as text; empty: never
	Unread    string // why the page has no calls; empty: it has them
	May       bool
}

func (p *Portal) oneKey(c *call) (v keyPage, err error) {
	e, err := environment(c)
	if err != nil {
		return v, err
	}
	if v.App, err = p.app(c); err != nil {
		return v, err
	}
	k, err := p.Tenants.KeyOf(c.Ctx(), c.Business(), v.App.ID, e, domain.ID(c.Param("key")))
	if err != nil {
		return v, err
	}
	now := p.options.Clock.Now()
	v.Key, v.Env, v.Notice, v.May = showKey(k, now, keyHistory{}, nil), string(e), c.Told(), c.May(keyAct(c))
	v.Key.Once = p.drawKeyID()
	v.List = "/apps/" + string(v.App.ID) + "/" + string(e) + "/keys"
	if k.RevokedAt != nil {
		v.RevokedAt = *k.RevokedAt
	}
	if k.LastUsedAt != nil {
		v.Used = ago(now.Sub(*k.LastUsedAt))
	}
	return v, nil
}

// ago formats a time before now.
func ago(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int(d / unit.of); n == 1 {
			return "1 " + unit.name + " ago"
		} else if n > 1 {
			return strconv.Itoa(n) + " " + unit.name + "s ago"
		}
	}
	return "less than a minute ago"
}

func (p *Portal) askRotate(c *call) error {
	v, err := p.oneKey(c)
	if err != nil {
		return err
	}
	return p.Show(c, http.StatusOK, "rotate", "Rotate a key", v)
}

func (p *Portal) rotateKey(c *call) error {
	v, err := p.oneKey(c)
	if err != nil {
		return err
	}
	once, whole := p.WholeOnce(c, domain.PrefixAPIKey)
	if !whole {
		return p.keysPage(c, http.StatusUnprocessableEntity, incompleteKeyForm())
	}
	key, err := p.Tenants.RotateKeyOnce(c.Ctx(), c.Actor(), domain.ID(v.Key.ID), once)
	if n := keyConflict(err); n != nil {
		return p.keysPage(c, http.StatusConflict, n)
	}
	if err != nil {
		return err
	}
	return p.showNewKey(c, v.App, key, &v.Key)
}

func (p *Portal) askRevoke(c *call) error {
	v, err := p.oneKey(c)
	if err != nil {
		return err
	}
	past, err := p.keyHistory(c)
	if err != nil {
		return err
	}
	if successor := past.successors[domain.ID(v.Key.ID)]; successor != "" {
		k, err := p.Tenants.KeyOf(c.Ctx(), c.Business(), v.App.ID, domain.Environment(v.Env), successor)
		if err != nil {
			return err
		}
		v.Key.ReplacedBy, v.Key.ReplacedAt = k.LastFour, k.CreatedAt
	}
	routes, err := p.Requests.RoutesOfKey(c.Ctx(), c.Business(), domain.ID(v.Key.ID))
	if err != nil {
		p.noteLog(c, err)
		v.Unread = unreadLog
	}
	v.Key.called(routes, p.options.Clock.Now())
	return p.Show(c, http.StatusOK, "revoke", "Revoke a key", v)
}

func (p *Portal) revokeKey(c *call) error {
	v, err := p.oneKey(c)
	if err != nil {
		return err
	}
	if _, err := p.Tenants.RevokeKey(c.Ctx(), c.Actor(), domain.ID(v.Key.ID)); err != nil {
		return err
	}
	return c.Lead(v.List + "?done=key-revoked")
}
