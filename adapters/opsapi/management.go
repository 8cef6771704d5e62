package opsapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"waybill/adapters/web/strictjson"
	"waybill/application/operations"
	"waybill/application/pickuplocations"
	"waybill/application/tenancy"
	"waybill/domain"
	"waybill/ports"
)

// base is the address of the operations API on the listener.
const base = "/ops/v1"

// Management is what operators may do, and what that needs.
type Management struct {
	Operators       *tenancy.Operators // nil: the database is waited for, and every call but the open ones is told to come back
	Tenants         *tenancy.Tenants
	PickupLocations *pickuplocations.PickupLocations
	Operations      *operations.Operations

	Normalizer      ports.Normalizer
	Identifiers     ports.Identifiers
	CursorKeys      [][32]byte // of cursors that are taken; the first one signs
	TrackingBaseURL string
}

// call is one request of an operator on its way through the checks.
type call struct {
	*gin.Context
	requestID string // drawn by us
	theirID   string // how the caller calls the request; empty: they do not
	by        domain.Operator
	route     string            // the pattern of its path
	query     query             // checked for names, not for values
	body      *strictjson.Value // nil: none
	table     []byte            // CSV; nil: none
}

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

const requestIDKey, theirIDKey = "waybill/request-id", "waybill/their-request-id"

// name gives the request an ID of ours; the answer has the one it came with where
// that will do.
func (m *Management) name(g *gin.Context) {
	id := string(m.Identifiers.ID("req_"))
	g.Set(requestIDKey, id)
	if sent := g.Request.Header["X-Request-Id"]; len(sent) == 1 && requestIDForm.MatchString(sent[0]) {
		id = sent[0]
		g.Set(theirIDKey, id)
	}
	g.Writer.Header()["X-Request-ID"] = []string{id}
	g.Next()
}

func (m *Management) call(g *gin.Context, route string) *call {
	return &call{Context: g, requestID: g.GetString(requestIDKey), theirID: g.GetString(theirIDKey), route: route}
}

// shownID is the ID in the answer: the caller's own, where it has one.
func (c *call) shownID() string { return cmp.Or(c.theirID, c.requestID) }

// ids are the names of the request in a line of log. What a caller chose stands
// apart: it may be that of another request, or look like one of ours.
func (c *call) ids() slog.Attr {
	if c.theirID == "" {
		return slog.String("request_id", c.requestID)
	}
	return slog.Group("", slog.String("request_id", c.requestID), slog.String("client_request_id", c.theirID))
}

// pipeline is the one order in which every request is checked: token (401, 429),
// query and body (400, 413, 415), and then what the handler finds.
func (a *API) pipeline(r route) gin.HandlerFunc {
	m := a.options.Management
	return func(g *gin.Context) {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(g.Request.Context(), r.budget())
		defer cancel()
		g.Request = g.Request.WithContext(ctx)
		c := m.call(g, base+r.path)
		defer func() {
			// An allow-list: never a body, a token, a name or a query. Of an address
			// that was not let in its network is told.
			from := slog.Group("")
			if status := g.Writer.Status(); status == http.StatusUnauthorized || status == http.StatusTooManyRequests {
				from = slog.String("client_network", domain.ClientNetwork(g.ClientIP()))
			}
			a.options.Log.InfoContext(g.Request.Context(), "operations request", c.ids(), "method", r.method,
				"route", c.route, "status", g.Writer.Status(), "took_ms", float64(time.Since(begun).Microseconds())/1000,
				"operator_id", string(c.by.TokenID), from)
		}()
		rep, err := m.run(r, c)
		if err != nil {
			a.refuse(c, err)
			return
		}
		if rep.location != "" {
			g.Header("Location", rep.location)
		}
		g.Data(rep.status, rep.contentType, rep.body)
	}
}

// budget is how long a call waits for its answer. A table may hold thousands of
// rows, all stored in one transaction.
func (r route) budget() time.Duration {
	if r.csv {
		return tableBudget
	}
	return callBudget
}

const (
	callBudget  = 8 * time.Second
	tableBudget = 2 * time.Minute
)

func (m *Management) run(r route, c *call) (rep reply, err error) {
	if !r.open {
		if err := m.identify(c, r.kinds); err != nil {
			return rep, err
		}
	}
	if c.query, err = parseQuery(c.Request.URL.RawQuery, r.query); err != nil {
		return rep, err
	}
	if r.csv {
		c.table, err = readTable(c)
	} else {
		c.body, err = readBody(c, r.body)
	}
	if err != nil {
		return rep, err
	}
	return r.handle(m, c)
}

// identify learns who asks, by a token of an admin or of one of the kinds.
func (m *Management) identify(c *call, kinds []domain.OperatorKind) (err error) {
	if m.Operators == nil {
		return ports.ErrStorageGone
	}
	knock := tenancy.OperatorKnock{Address: domain.ClientAddress(c.ClientIP()), RequestID: c.shownID(), Kinds: kinds}
	knock.Token, knock.Malformed = bearer(c.Request.Header["Authorization"])
	c.by, err = m.Operators.Identify(c.Request.Context(), knock)
	return err
}

// bearer reads the token out of the Authorization headers of a request.
func bearer(headers []string) (token string, malformed bool) {
	if len(headers) == 0 || len(headers) == 1 && headers[0] == "" {
		return "", false
	}
	token, ok := strings.CutPrefix(headers[0], "Bearer ")
	if len(headers) > 1 || !ok || token == "" || strings.ContainsAny(token, " \t") {
		return "", true
	}
	return token, false
}

// id is the ID in the path. One that is malformed is NOT_FOUND, as one of nobody.
func (c *call) id(name string, prefix domain.Prefix) (domain.ID, error) {
	return domain.ParseID(prefix, c.Param(name))
}

// tenant is the business and the environment in the path.
func (c *call) tenant() (domain.Tenant, error) {
	business, err := c.id("business_id", domain.PrefixBusiness)
	if err != nil {
		return domain.Tenant{}, err
	}
	environment, known := domain.ParseEnvironment(c.Param("environment"))
	if !known {
		return domain.Tenant{}, domain.ErrNotFound
	}
	return domain.Tenant{BusinessID: business, Environment: environment}, nil
}

// noMethod repeats the Allow header, which gin has set by then.
func noMethod(c *gin.Context) {
	allowed := c.Writer.Header().Get("Allow")
	fail(c, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "This address does not take that method. Send one of the Allow header: "+allowed+".", nil)
}
