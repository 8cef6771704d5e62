package opsapi

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"waybill/domain"
)

// checkTimeout limits one check: a check that hangs reports nothing.
const checkTimeout = 2 * time.Second

// Check is one dependency that has to work before the process gets traffic.
type Check struct {
	Name string
	Run  func(ctx context.Context) error
	// Informational marks a dependency that the process can do without. Its failure is
	// reported, and the process stays ready.
	Informational bool
}

// outcome is the result of one check.
type outcome struct {
	Name         string `json:"name"`
	OK           bool   `json:"ok"`
	Degraded     bool   `json:"degraded,omitzero"` // not OK, and ready all the same
	Error        string `json:"error,omitempty"`
	Milliseconds int64  `json:"duration_ms"`
}

type readiness struct {
	Checks []outcome `json:"checks"`
}

// identity names the installation of the process.
type identity struct {
	Installation string `json:"installation"`
}

// alive checks nothing: restarting the process would not fix a database.
func (a *API) alive(c *gin.Context) {
	var data any
	if name, known := a.name.Load().(string); known && a.isOwn(c.Request.Host) {
		data = identity{name}
	}
	succeed(c, "Alive.", data)
}

// ready responds 200 when every check passes that is not informational, and the process is not
// draining. With ?verbose, and by a name of this listener, it lists the checks, with the errors
// of those that failed.
func (a *API) ready(c *gin.Context) {
	_, verbose := c.GetQuery("verbose")
	if verbose {
		if a.ownHost(c); c.IsAborted() {
			return
		}
	}
	outcomes := append(a.runChecks(c.Request.Context()), outcome{Name: "draining", OK: !a.draining.Load()})
	var failed, degraded []string
	for i, o := range outcomes {
		switch {
		case o.Degraded:
			degraded = append(degraded, o.Name)
		case !o.OK:
			failed = append(failed, o.Name)
			if o.Name == "draining" {
				outcomes[i].Error = "the process is shutting down"
			}
		}
	}
	var data any
	var details map[string]any
	if verbose {
		data, details = readiness{Checks: outcomes}, map[string]any{"checks": outcomes}
	}
	if len(failed) > 0 {
		fail(c, http.StatusServiceUnavailable, &domain.Error{Code: "NOT_READY", Message: "Not ready: " + strings.Join(failed, ", ") + ".",
			Details: details})
		return
	}
	if len(degraded) > 0 {
		succeed(c, "Ready, degraded: "+strings.Join(degraded, ", ")+".", data)
		return
	}
	succeed(c, "Ready.", data)
}

// runChecks runs all checks at once and returns them in their order.
func (a *API) runChecks(ctx context.Context) []outcome {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	outcomes := make([]outcome, len(a.options.Checks))
	var wg sync.WaitGroup
	for i, check := range a.options.Checks {
		wg.Go(func() {
			start := time.Now()
			err := domain.Safely(func() error { return check.Run(ctx) })
			outcomes[i] = outcome{Name: check.Name, OK: err == nil, Milliseconds: time.Since(start).Milliseconds()}
			if err != nil {
				outcomes[i].Error, outcomes[i].Degraded = err.Error(), check.Informational
			}
		})
	}
	wg.Wait()
	return outcomes
}
