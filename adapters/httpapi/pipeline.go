package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"waybill/adapters/web"
	"waybill/adapters/web/strictjson"
	"waybill/application/access"
	"waybill/application/idempotency"
	"waybill/domain"
)

// call is one request in the pipeline. It holds the results of each check for the later checks
// and the handler.
type call struct {
	*gin.Context
	environment   domain.Environment
	requestID     web.RequestID
	client        string // the client address; set by clientIP
	grant         access.Grant
	leave         func() // nil: not counted among the application's requests in flight
	releasePermit func() // nil: holds no bulk or list permit
	begun         time.Time
	stop          func()                 // ends the deadline that setDeadline set
	gone          func() <-chan struct{} // closed when the client has disconnected, as net/http sees it
	tenant        domain.Tenant
	id            domain.ID         // from the path
	query         web.Query         // names are checked, values are not
	ignoresKey    bool              // the route does not use the Idempotency-Key
	key           string            // the Idempotency-Key; empty: none
	body          *strictjson.Value // nil: none
	outcome       outcome           // its outcome, for the request log
}

// pipeline runs the checks of every request in their fixed order. The first check that fails
// determines the response.
func (a *API) pipeline(r route) gin.HandlerFunc {
	return func(g *gin.Context) {
		c := callOf(g)
		c.ignoresKey = r.key == keyIgnored
		defer c.end()
		rep, err := a.run(r, c)
		if err != nil {
			a.fail(c, err)
			return
		}
		a.write(c, rep)
	}
}

func (a *API) run(r route, c *call) (reply, error) {
	if r.open {
		return a.runOpen(r, c)
	}
	// Before the response is written: a client that has read it may send the next request at
	// idempotencyRequest.
	defer func() {
		if c.releasePermit != nil {
			c.releasePermit()
		}
	}()
	for _, step := range []func(route, *call) error{
		a.admit,     // 401: bearer, environment, key state; 429: rate, requests in flight
		a.enterBulk, // 429: too many bulks running and waiting; 409: the key is in use by one of them
		a.forceError,
		a.checkScope,
		a.readPathID,
		a.readQuery,
		a.readKey,
		a.readBody, // 413, 415, 400
		a.confirm,  // 401: the key was revoked while the body came
		a.checkFieldScopes,
		a.enterList, // 429: lists in flight
	} {
		if err := step(r, c); err != nil {
			return reply{}, a.orNotFound(r, c, err)
		}
	}
	return r.handle(a, c)
}

// runOpen serves a route without a key. Path, query and body still have to be valid.
func (a *API) runOpen(r route, c *call) (reply, error) {
	if err := a.greetAnonymous(c); err != nil {
		return reply{}, err
	}
	for _, step := range []func(route, *call) error{a.readQuery, a.readBody} {
		if err := step(r, c); err != nil {
			return reply{}, err
		}
	}
	return r.handle(a, c)
}

// orNotFound puts errors in the order of checks: an unknown ID in the path hides all later
// errors. A route that reads its record only in the handler checks for the record here, when a
// later check fails.
func (a *API) orNotFound(r route, c *call, err error) error {
	if c.id == "" || !r.readsLate {
		return err
	}
	if missing := r.exists(a, c.Request.Context(), c.tenant, c.id); missing != nil {
		return missing
	}
	return err
}

func (a *API) admit(_ route, c *call) error {
	grant, err := a.Admission.Admit(c.Request.Context(), a.credentials(c))
	c.grant = grant
	showAllowance(c, grant.Allowance)
	if err != nil {
		return err
	}
	c.tenant = grant.Credential.Tenant()
	c.leave, err = a.Admission.Enter(c.Request.Context(), &c.grant)
	if err != nil {
		showAllowance(c, c.grant.Allowance) // the refused request was given back
	}
	return err
}

func (a *API) credentials(c *call) access.Credentials {
	credentials := access.Credentials{Environment: a.Environment, Address: clientAddress(c), Elsewhere: a.OtherBaseURL}
	credentials.Key, credentials.Malformed = web.Bearer(c.Request.Header)
	return credentials
}

// confirm runs after the body, which may have come slowly.
func (a *API) confirm(_ route, c *call) error {
	if c.Request.ContentLength == 0 {
		return nil
	}
	return a.Admission.Confirm(c.Request.Context(), a.credentials(c))
}

// enterBulk runs before the body is read: excess requests cost no more than their headers. A
// request with a bulk permit does not count among the requests in flight.
func (a *API) enterBulk(r route, c *call) (err error) {
	if !r.bulk {
		return nil
	}
	c.releasePermit, err = a.Admission.EnterBulk(c.Request.Context(), &c.grant)
	if err == nil {
		c.end()
		return nil
	}
	showAllowance(c, c.grant.Allowance) // the refused request was given back
	if key, bad := web.IdempotencyKey(c.Request.Header, true); bad == nil && a.Bulk.AtWork(c.tenant, key) {
		return domain.IdempotencyInProgress(time.Second)
	}
	return err
}

// enterList runs last: an invalid request does not wait for a permit.
func (a *API) enterList(r route, c *call) (err error) {
	if r.list {
		c.releasePermit, err = a.Admission.EnterList(c.Request.Context(), &c.grant)
	}
	if err != nil {
		showAllowance(c, c.grant.Allowance) // the refused request was given back
	}
	return err
}

// end removes the request from the application's requests in flight.
func (c *call) end() {
	if c.leave != nil {
		c.leave()
		c.leave = nil
	}
}

// greetAnonymous sets the rate limit headers of the client address for a client without a key.
func (a *API) greetAnonymous(c *call) error {
	allowance, err := a.Admission.Anonymous(c.Request.Context(), clientAddress(c))
	if err != nil {
		return domain.Internal(err)
	}
	showAllowance(c, allowance)
	return nil
}

// recognizeBudget limits how long the response waits for the client's identity, which only the
// request log needs.
const recognizeBudget = time.Second

// recognize identifies the client that asked for an unknown path, so that its request log shows
// the request.
func (a *API) recognize(c *call) {
	if a.Recorder == nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), recognizeBudget)
	defer cancel()
	c.grant = a.Admission.Recognize(ctx, a.credentials(c))
}

// unknownRoute responds to requests that match no route.
func (a *API) unknownRoute(answer func(*call) *domain.Error) gin.HandlerFunc {
	return func(g *gin.Context) {
		c := callOf(g)
		a.recognize(c)
		if err := a.greetAnonymous(c); err != nil {
			a.fail(c, err)
			return
		}
		a.fail(c, answer(c))
	}
}

// refuseEmptyID responds to a path such as /deliveries//cancel, in which gin finds a route with an
// empty ID.
func (a *API) refuseEmptyID(g *gin.Context) {
	if strings.Contains(g.Request.URL.EscapedPath(), "//") {
		g.Writer.Header().Del("Allow") // gin's, of the other methods of that route
		a.unknownRoute(a.noRoute)(g)
		g.Abort()
	}
}

func (a *API) checkScope(r route, c *call) error {
	for _, needed := range r.scopes {
		if !c.grant.Credential.Key.Allows(needed) {
			return insufficientScope(c, "This call needs ", needed)
		}
	}
	return nil
}

// checkFieldScopes runs after the body is read: before that the fields are not known.
func (a *API) checkFieldScopes(r route, c *call) error {
	for field, needed := range r.fieldScopes {
		if strictjson.NewReader(c.body).Has(field) && !c.grant.Credential.Key.Allows(needed) {
			return insufficientScope(c, "With "+field+" this call needs ", needed)
		}
	}
	return nil
}

func insufficientScope(c *call, needing string, missing domain.Scope) error {
	granted := web.Texts(c.grant.Credential.Key.Scopes)
	return &domain.Error{
		Kind: domain.KindForbidden, Code: domain.CodeInsufficientScope,
		Message: needing + string(missing) + "; the key has " + strings.Join(granted, ", ") + ".",
		Details: map[string]any{"required_scope": string(missing), "granted_scopes": granted},
	}
}

func (a *API) readPathID(r route, c *call) (err error) {
	if r.id == "" {
		return nil
	}
	if c.id, err = domain.ParseID(r.id, c.Param(r.pathID())); err != nil {
		return err
	}
	if r.readsLate {
		return nil // the handler's own read reports it
	}
	return r.exists(a, c.Request.Context(), c.tenant, c.id)
}

func (a *API) readQuery(r route, c *call) (err error) {
	c.query, err = web.ParseQuery(c.Request.URL.RawQuery, r.query)
	return err
}

func (a *API) readKey(r route, c *call) (err error) {
	if r.key == keyIgnored {
		return nil
	}
	c.key, err = web.IdempotencyKey(c.Request.Header, r.key == keyRequired)
	return err
}

// readBody reads the body. When the body is invalid, it reports the errors of the query
// instead, if there are any: they come first in the order of checks.
func (a *API) readBody(r route, c *call) (err error) {
	used := time.Since(c.begun)
	c.body, err = web.Body{Shape: r.body, MayBeEmpty: r.mayBeEmpty, Most: cmp.Or(r.maxBody, web.MaxBody)}.Read(c.Writer, c.Request)
	switch { // the time that the client took to send does not count
	case c.changes():
		c.setDeadline(changeBudget - used)
	case c.Request.ContentLength != 0:
		c.setDeadline(readBudget - used)
	}
	if err != nil {
		return cmp.Or(c.query.Err(), err)
	}
	return nil
}

// idempotencyRequest describes the request for the idempotency check. The body counts in its
// canonical form: white space, the order of names and the notation of numbers make no
// difference.
func (c *call) idempotencyRequest() idempotency.Request {
	whole := make([]byte, 0, max(c.Request.ContentLength, 0)+256) // the path makes up for the white space, usually
	whole = append(append(whole, c.Request.Method...), '\n')
	whole = append(append(whole, c.Request.URL.Path...), '\n')
	whole = c.body.AppendCanonical(whole)
	return idempotency.Request{Tenant: c.tenant, Key: c.key, Fingerprint: sha256.Sum256(whole)}
}

func clientAddress(c *call) string { return domain.ClientAddress(c.clientIP()) }

// clientIP returns the client address that gin finds in the connection and the headers of
// proxies. It asks gin once.
func (c *call) clientIP() string {
	if c.client == "" {
		c.client = c.ClientIP()
	}
	return c.client
}
