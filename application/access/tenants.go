package access

import (
	"context"
	"errors"
	"strings"

	"waybill/application/audit"
	"waybill/domain"
	"waybill/ports"
)

// Tenants implements the operators' use cases: the customers and their keys.
type Tenants struct {
	storage       ports.Storage
	log           *audit.Log
	digest        ports.KeyDigester
	clock         ports.Clock
	ids           ports.Identifiers
	invalidations ports.Invalidations
}

// NewTenants returns the operators' use cases.
func NewTenants(s ports.Storage, d ports.KeyDigester, c ports.Clock, ids ports.Identifiers, i ports.Invalidations) *Tenants {
	return &Tenants{storage: s, log: audit.New(s, c, ids), digest: d, clock: c, ids: ids, invalidations: i}
}

// announce tells the servers that keys of the application give other access than before, unless
// nothing was changed. A new key needs no announcement: no server can have cached that it was
// missing.
func (t *Tenants) announce(ctx context.Context, application domain.ID, err error) {
	if err == nil || errors.Is(err, ports.ErrOutcomeUnknown) {
		// The change is made even if the operator interrupts the command.
		t.invalidations.Announce(context.WithoutCancel(ctx), application)
	}
}

func properName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if code, message := domain.NameRule.Judge(name); code != "" {
		return "", domain.Invalid(domain.FieldError{Field: "name", Code: code, Message: message})
	}
	return name, nil
}
