package domain

import (
	"fmt"
	"time"
)

// The codes of what a customer has too many of. No answer of the public API has them.
const (
	CodeApplicationLimit = "APPLICATION_LIMIT"
	CodeAPIKeyLimit      = "API_KEY_LIMIT" //nolint:gosec // a code, no credential
)

// Environment is live or sandbox. Nothing ever crosses from one to the other.
type Environment string

// The two environments.
const (
	Live    Environment = "live"
	Sandbox Environment = "sandbox"
)

// ParseEnvironment accepts only the two names.
func ParseEnvironment(s string) (Environment, bool) {
	switch e := Environment(s); e {
	case Live, Sandbox:
		return e, true
	}
	return "", false
}

// Tenant says on whose behalf something is done. Recipients, addresses and pickup locations belong
// to the business in an environment; deliveries, idempotency keys and webhooks to the application
// in an environment.
type Tenant struct {
	BusinessID    ID
	ApplicationID ID
	Environment   Environment
}

// Business is a customer of the delivery company.
type Business struct {
	ID        ID
	Name      string
	RateLimit *RateLimit // nil: the setting for all businesses applies
	Disabled  bool       // while set, none of its keys works and none of its people can sign in
	// TrackingCash lets tracking pages show recipients how much cash to have ready.
	TrackingCash bool
	CreatedAt    time.Time
}

// Application is a program of a business that calls the API.
type Application struct {
	ID         ID
	BusinessID ID
	Name       string
	Disabled   bool // while set, none of its keys works
	CreatedAt  time.Time
}

// RateLimit is a number of requests within a window.
type RateLimit struct {
	Limit  int
	Window time.Duration
}

// ApplicationLimit is the 409 for one application too many.
func ApplicationLimit() *Error {
	return &Error{
		Kind: KindConflict, Code: CodeApplicationLimit,
		Message: fmt.Sprintf("The business has %d applications, the maximum, and none can be deleted. Rename one that is no longer used.",
			MaxApplications),
		Details: map[string]any{"limit": MaxApplications},
	}
}

// APIKeyLimit is the 409 for one usable key too many.
func APIKeyLimit(e Environment) *Error {
	return &Error{
		Kind: KindConflict, Code: CodeAPIKeyLimit,
		Message: fmt.Sprintf("The application has %d usable %s keys, the maximum. Revoke one that is no longer used, then try again.",
			MaxUsableKeys, e),
		Details: map[string]any{"limit": MaxUsableKeys},
	}
}
