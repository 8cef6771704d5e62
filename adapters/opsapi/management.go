package opsapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"waybill/adapters/web"
	"waybill/adapters/web/pickupcsv"
	"waybill/adapters/web/strictjson"
	"waybill/application/access"
	"waybill/application/bulk"
	"waybill/application/deliveries"
	"waybill/application/directory"
	"waybill/application/monitoring"
	"waybill/application/people"
	"waybill/domain"
	"waybill/ports"
)

// base is the path of the operations API on the listener.
const base = "/ops/v1"

// UseCases holds the use cases of operators.
type UseCases struct {
	Operators       *access.Operators // nil: the process waits for the database, and every request but the open ones is told to retry later
	Tenants         *access.Tenants
	PickupLocations *directory.PickupLocations
	Operations      *deliveries.Operations
	Moves           *bulk.Moves
	People          *people.Directory
	Requests        *monitoring.Requests
	Normalizer      ports.Normalizer
	Identifiers     ports.Identifiers
}

// NewUseCases collects the use cases.
func NewUseCases(o *access.Operators, t *access.Tenants, l *directory.PickupLocations, p *deliveries.Operations, m *bulk.Moves,
	d *people.Directory, r *monitoring.Requests, n ports.Normalizer, ids ports.Identifiers) UseCases {
	return UseCases{
		Operators: o, Tenants: t, PickupLocations: l, Operations: p, Moves: m, People: d, Requests: r, Normalizer: n, Identifiers: ids,
	}
}

// Management serves the use cases of operators.
type Management struct {
	UseCases

	CursorKeys      [][32]byte // of valid cursors; the first one signs
	TrackingBaseURL string
	PortalBaseURL   string

	Metrics *Metrics // nil: nothing is counted
}

// call is one request of an operator in the pipeline.
type call struct {
	*gin.Context
	requestID web.RequestID
	by        domain.AuditActor
	route     string            // the pattern of its path
	query     web.Query         // names are checked, values are not
	body      *strictjson.Value // nil: none
	table     []byte            // CSV; nil: none
}

const requestIDKey = "waybill/request-id"

// name gives the request an ID. The response has the client's own ID if that is valid.
func (m *Management) name(g *gin.Context) {
	id := web.NameRequest(m.Identifiers.ID("req_"), g.Request.Header)
	g.Set(requestIDKey, id)
	id.SetHeader(g.Writer.Header())
	g.Next()
}

func (m *Management) call(g *gin.Context, route string) *call {
	id, _ := g.Value(requestIDKey).(web.RequestID)
	return &call{Context: g, requestID: id, route: route}
}

// pipeline runs the checks of every request in their fixed order: token (401, 429), query and
// body (400, 413, 415), and then the handler.
func (a *API) pipeline(r route) gin.HandlerFunc {
	m := a.options.Management
	return func(g *gin.Context) {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(g.Request.Context(), r.budget())
		defer cancel()
		g.Request = g.Request.WithContext(ctx)
		c := m.call(g, base+r.path)
		defer func() {
			// An allow-list: never a body, a token, a name or a query. Of a client address that
			// was refused it logs the network only.
			from := slog.Group("")
			if status := g.Writer.Status(); status == http.StatusUnauthorized || status == http.StatusTooManyRequests {
				from = slog.String("client_network", domain.ClientNetwork(g.ClientIP()))
			}
			a.options.Log.InfoContext(g.Request.Context(), "operations request", c.requestID.LogAttr(), "method", r.method,
				"route", c.route, "status", g.Writer.Status(), "took_ms", float64(time.Since(begun).Microseconds())/1000,
				"operator_id", string(c.by.ID), from)
		}()
		rep, err := m.run(r, c)
		if err != nil {
			a.refuse(c, err)
			return
		}
		if rep.location != "" {
			g.Header("Location", rep.location)
		}
		if rep.replayed {
			g.Header("Idempotent-Replayed", "true")
		}
		g.Data(rep.status, rep.contentType, rep.body)
	}
}

// budget returns how long a response may take. A table may hold thousands of rows, all stored
// in one transaction.
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
	if c.query, err = web.ParseQuery(c.Request.URL.RawQuery, r.query); err != nil {
		return rep, err
	}
	if r.csv {
		c.table, err = web.ReadText(c.Writer, c.Request, "text/csv", pickupcsv.MaxBytes)
	} else {
		c.body, err = web.Body{Shape: r.body, Most: web.MaxBody}.Read(c.Writer, c.Request)
	}
	if err != nil {
		return rep, err
	}
	if !r.open && c.Request.ContentLength != 0 { // a body may have come slowly
		if err := m.identify(c, r.kinds); err != nil {
			return rep, err
		}
	}
	return r.handle(m, c)
}

// identify finds the operator by a token of an admin or of one of the kinds. It returns the
// operator with an error too: then the log names the owner of the refused token.
func (m *Management) identify(c *call, kinds []domain.OperatorKind) (err error) {
	if m.Operators == nil {
		return ports.ErrStorageGone
	}
	credentials := access.OperatorCredentials{Address: domain.ClientAddress(c.ClientIP()), RequestID: c.requestID.Drawn, Kinds: kinds}
	credentials.Token, credentials.Malformed = web.Bearer(c.Request.Header)
	c.by, err = m.Operators.Identify(c.Request.Context(), credentials)
	m.Metrics.refused(err)
	return err
}

// id returns the ID in the path. A malformed one is NOT_FOUND, like an unknown one.
func (c *call) id(name string, prefix domain.Prefix) (domain.ID, error) {
	return domain.ParseID(prefix, c.Param(name))
}

// tenant returns the business and the environment in the path.
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
