package portal

import (
	"encoding/hex"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// oneRequestView is the page of one request.
type oneRequestView struct {
	requestView
	Summary  string
	Document string // of the error; empty: it succeeded
	Alike    string // the list of all that ended so
	Fields   []string

	ClientID       string
	AppHref        string
	KeyID, KeyHref string
	KeyEnds        string // the last four of the key; empty: not known any more
	DeliveryID     string
	DeliveryHref   string // the list of all requests about it
	Replayed       bool
	KeyDigest      string // hexadecimal, of the Idempotency-Key
	Network, Agent string
	Curl           pages.Code
	HasBody, HasID bool
	LacksKey       bool // the Idempotency-Key that the call has to have
	KeptFor        int  // days
}

func (p *Portal) showRequest(c *call) error {
	id, err := domain.ParseID(domain.PrefixRequest, c.Param("request"))
	if err != nil {
		return err
	}
	r, err := p.Requests.Get(c.Ctx(), c.Business(), id)
	if err != nil {
		return p.logFailed(c, err)
	}
	v := oneRequestView{
		requestView: showRequest(&r, nil), Document: p.document(r.Code), Fields: r.Fields, ClientID: r.ClientID, KeyID: string(r.KeyID),
		DeliveryID: string(r.DeliveryID), Replayed: r.Replayed, KeyDigest: hex.EncodeToString(r.KeyDigest), Network: r.Network, Agent: r.Agent,
	}
	kept := p.options.RequestLog.Keeping.Successes
	if r.Failed() {
		kept = p.options.RequestLog.Keeping.Failures
		v.Alike = asked{values: map[string][]string{"route": {r.Route}, "code": {r.Code}, "failed": {"true"}}}.with("", "")
	}
	v.KeptFor = int(kept / (24 * time.Hour))
	if r.DeliveryID != "" {
		v.DeliveryHref = "/requests?delivery=" + string(r.DeliveryID)
	}
	if err := p.whose(c, &r, &v); err != nil {
		return err
	}
	p.again(&r, &v)
	return p.Show(c, http.StatusOK, "request", "A request", v)
}

// whose fills in the application and the key.
func (p *Portal) whose(c *call, r *domain.RequestRecord, v *oneRequestView) error {
	if r.ApplicationID == "" {
		return nil
	}
	app, err := p.Tenants.ApplicationOf(c.Ctx(), c.Business(), r.ApplicationID)
	if err != nil {
		return err
	}
	v.Application, v.AppHref = app.Name, "/apps/"+string(app.ID)
	if r.KeyID == "" {
		return nil
	}
	key, err := p.Tenants.KeyOf(c.Ctx(), c.Business(), app.ID, r.Environment, r.KeyID)
	if errors.Is(err, domain.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	v.KeyHref, v.KeyEnds = v.AppHref+"/"+string(r.Environment)+"/keys", key.LastFour
	return nil
}

// pathParameter is a part of a route that stands for an ID.
var pathParameter = regexp.MustCompile(`\{[a-z_]+\}`)

// again writes the call down as curl. Of what the log does not keep there are
// placeholders, and the body is the sample of the documentation.
func (p *Portal) again(r *domain.RequestRecord, v *oneRequestView) {
	base := p.options.SandboxBaseURL
	if r.Environment == domain.Live {
		base = p.options.LiveBaseURL
	}
	path := strings.TrimPrefix(v.Path, "/v1")
	if r.DeliveryID != "" {
		path = strings.Replace(path, "{delivery_id}", string(r.DeliveryID), 1)
	}
	if pathParameter.MatchString(path) {
		v.HasID = true
		path = pathParameter.ReplaceAllString(path, "$$ID")
	}
	lines := []string{`curl -i -X ` + v.Method + ` "` + base + path + `"`, `-H "Authorization: Bearer $WAYBILL_API_KEY"`}
	if v.Method == http.MethodGet {
		lines[0] = `curl -i "` + base + path + `"`
	}
	v.LacksKey = r.Code == domain.CodeIdempotencyKeyRequired
	if v.KeyDigest != "" || v.LacksKey {
		lines = append(lines, `-H "Idempotency-Key: $IDEMPOTENCY_KEY"`)
	}
	for _, o := range p.options.Operations() {
		if o.Route != r.Route {
			continue
		}
		v.Summary = o.Summary
		if o.Sample != "" {
			v.HasBody = true
			lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+strings.ReplaceAll(o.Sample, "'", `'\''`)+"'")
		}
	}
	v.Curl = pages.Code{ID: "curl", Text: strings.Join(lines, " \\\n  ")}
}
