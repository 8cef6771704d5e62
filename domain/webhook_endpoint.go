package domain

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WebhookEndpoint is an address for an application's events.
type WebhookEndpoint struct {
	ID          ID
	Tenant      Tenant
	Slot        int // 0 to MaxWebhookEndpoints-1, unique within the application
	URL         string
	EventTypes  []string // types or patterns, as sent
	Description string
	Enabled     bool
	Disabled    DisabledReason // empty while enabled
	Listener    bool           // has no URL: a program fetches its events; see ListenerLife
	Secrets     []SigningSecret
	Health      WebhookHealth
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// ListenerLife is how long a listener stays after its last fetch.
const ListenerLife = time.Minute

// InboxDescription marks the listener whose webhooks people see in the portal. Programs cannot give
// a listener a description.
const InboxDescription = "Inbox of the portal"

// DisabledReason says why nothing is sent to an endpoint.
type DisabledReason string

// The reasons.
const (
	DisabledByCaller DisabledReason = "by_caller"
	DisabledGone     DisabledReason = "gone"    // it answered 410
	DisabledFailing  DisabledReason = "failing" // it failed for days
)

// SigningSecret signs webhooks. Sealed is encrypted; only a ports.Sealer opens it.
type SigningSecret struct {
	Sealed    []byte
	ExpiresAt *time.Time // nil: the current one
}

// ActiveSecrets lists the secrets that sign now, the newest first.
func (e *WebhookEndpoint) ActiveSecrets(now time.Time) []SigningSecret {
	return slices.DeleteFunc(slices.Clone(e.Secrets), func(s SigningSecret) bool {
		return s.ExpiresAt != nil && !now.Before(*s.ExpiresAt)
	})
}

// Rotate makes a secret the current one. The previous one also signs for the overlap; older ones
// end.
func (e *WebhookEndpoint) Rotate(sealed []byte, overlap time.Duration, now time.Time) {
	secrets := []SigningSecret{{Sealed: sealed}}
	if overlap > 0 && len(e.Secrets) > 0 {
		end := now.Add(overlap)
		secrets = append(secrets, SigningSecret{Sealed: e.Secrets[0].Sealed, ExpiresAt: &end})
	}
	e.Secrets, e.UpdatedAt = secrets, now
}

// WebhookEndpointStatus is the status of an endpoint, for people.
type WebhookEndpointStatus string

// The statuses of an endpoint.
const (
	EndpointHealthy  WebhookEndpointStatus = "healthy"
	EndpointFailing  WebhookEndpointStatus = "failing" // the last attempt failed
	EndpointDisabled WebhookEndpointStatus = "disabled"
)

// Status returns the status of the endpoint.
func (e *WebhookEndpoint) Status() WebhookEndpointStatus {
	switch {
	case !e.Enabled:
		return EndpointDisabled
	case e.Health.FailingSince != nil:
		return EndpointFailing
	}
	return EndpointHealthy
}

// WebhookEndpointChange holds what a caller may change; nil fields stay unchanged.
type WebhookEndpointChange struct {
	URL         *string
	EventTypes  []string
	Description *string
	Enabled     *bool
}

// Apply changes the endpoint. changed is false where nothing differs. Enabling a disabled endpoint
// or one whose circuit is open, or changing its URL, resets its health: earlier failures no longer
// count.
func (e *WebhookEndpoint) Apply(c WebhookEndpointChange, now time.Time) (changed bool) {
	set := func(differs bool, assign func()) {
		if differs {
			assign()
			changed = true
		}
	}
	set(c.URL != nil && *c.URL != e.URL, func() { e.URL, e.Health = *c.URL, WebhookHealth{} })
	set(c.EventTypes != nil && !slices.Equal(c.EventTypes, e.EventTypes), func() { e.EventTypes = c.EventTypes })
	set(c.Description != nil && *c.Description != e.Description, func() { e.Description = *c.Description })
	set(c.Enabled != nil && *c.Enabled && e.Health.OpenUntil != nil, func() { e.Health = WebhookHealth{} })
	set(c.Enabled != nil && *c.Enabled != e.Enabled, func() {
		if *c.Enabled {
			e.Enabled, e.Disabled, e.Health = true, "", WebhookHealth{}
		} else {
			e.Enabled, e.Disabled = false, DisabledByCaller
		}
	})
	if changed {
		e.UpdatedAt = now
	}
	return changed
}

// Host returns the host of the endpoint's URL, with a port where it has one. It is empty for an
// endpoint without a URL.
func (e WebhookEndpoint) Host() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// CheckWebhookURL returns nil where an endpoint may have the URL, or describes what is wrong with
// it. lenient is for development: http, any host, any port. It does not resolve the host.
func CheckWebhookURL(address string, env Environment, lenient bool) *Error {
	if len(address) > MaxWebhookURL {
		return webhookURLNotAllowed(WebhookURLLength(len(address)))
	}
	for _, text := range []string{address, Unescaped(address), Unescaped(Unescaped(address))} {
		if fault := SecretFault(text); fault != "" {
			return webhookURLNotAllowed("It " + fault + ".")
		}
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Opaque != "" || u.Host == "" || u.Hostname() == "":
		return webhookURLNotAllowed("It is not an absolute address such as https://example.com/hooks" + withoutSecrets(address) + ".")
	case u.Scheme != "https" && u.Scheme != "http":
		return webhookURLNotAllowed("Use " + webhookSchemes(env, lenient) + "; it is " + quoted(u.Scheme) + ".")
	case !isPort(u.Port()):
		return webhookURLNotAllowed("Its port must be 1 to 65535; it is " + quoted(u.Port()) + ".")
	case u.User != nil:
		return webhookURLNotAllowed("It must not carry a user or a password; the signature tells who sends.")
	case u.Fragment != "" || strings.Contains(address, "#"):
		return webhookURLNotAllowed("It must not have a fragment (#).")
	case lenient:
		return nil
	}
	itIs := "; it is " + quoted(u.Hostname()) + "."
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, notAddress := netip.ParseAddr(host)
	if ip = ip.Unmap(); ip.IsLoopback() || ip.IsPrivate() || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		itIs += " " + ListenInstead + " A server for development takes such an address while all its listeners are on loopback addresses."
	}
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch {
	case notAddress == nil || last == "" || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"):
		return webhookURLNotAllowed("Use a host name, not an IP address" + itIs)
	case len(labels) < 2:
		return webhookURLNotAllowed("Use a full host name with a dot, such as hooks.example.com" + itIs)
	case !isHostName(labels):
		return webhookURLNotAllowed("It has no valid host name. Write an international one in ASCII, such as xn--bcher-kva.example" + itIs)
	case slices.Contains([]string{"local", "internal", "localhost"}, last):
		return webhookURLNotAllowed("A name under ." + last + " is private; use one that the internet knows" + itIs)
	case last == "arpa" && labels[len(labels)-2] == "home":
		return webhookURLNotAllowed("A name under .home.arpa is private; use one that the internet knows" + itIs)
	case env == Sandbox && u.Scheme == "http" && slices.Contains([]string{"", "80", "8080"}, u.Port()):
		return nil
	case u.Scheme == "http" && env == Sandbox:
		return webhookURLNotAllowed("Over http only ports 80 and 8080 are allowed, and only in the sandbox; it is " + quoted(u.Port()) + ".")
	case u.Scheme == "http":
		return webhookURLNotAllowed("Use https; it is http.")
	case !slices.Contains([]string{"", "443", "8443"}, u.Port()):
		return webhookURLNotAllowed("Use port 443 or 8443; it is " + quoted(u.Port()) + ".")
	}
	return nil
}

// WebhookURLLength returns a message about the maximum length of a URL, and its actual one.
func WebhookURLLength(n int) string {
	return fmt.Sprintf("must have 1 to %d bytes; it has %d", MaxWebhookURL, n)
}

// isPort reports whether a URL may have the port. No port is fine.
func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// webhookSchemes returns a message about the allowed schemes of an endpoint.
func webhookSchemes(env Environment, lenient bool) string {
	switch {
	case lenient:
		return "http or https"
	case env == Sandbox:
		return "https, or http on port 80 or 8080"
	}
	return "https"
}

// withoutSecrets returns the end of a message about an unreadable URL. It removes possible secrets:
// the query, a user, a password.
func withoutSecrets(address string) string {
	address, _, _ = strings.Cut(address, "?")
	if address == "" || strings.Contains(address, "@") {
		return ""
	}
	return "; it is " + quoted(address)
}

// isHostName reports whether the labels, in lower case, form a DNS name. Other alphabets are
// refused. Some of their dots and digits count as the ASCII ones in a lookup, and would pass these
// rules as something else.
func isHostName(labels []string) bool {
	length := 0
	for _, label := range labels {
		length += len(label) + 1
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return length <= 254
}

func webhookURLNotAllowed(why string) *Error {
	return &Error{
		Kind: KindInvalid, Code: CodeWebhookURLNotAllowed, Message: "url is not allowed: " + why,
		Fields: []FieldError{{Field: "url", Code: FieldNotAllowed, Message: why}},
	}
}

// ListenInstead is part of a message about a URL that only the caller's own network can reach.
const ListenInstead = "To receive webhooks of the sandbox on your own machine, run `waybill listen`."

// WebhookURLBlocked returns the 422 for a host that is not on the public internet, or has no
// address.
func WebhookURLBlocked(why string) *Error { return webhookURLNotAllowed(why) }

// WebhookEndpointDisabled returns the 409 for a request to send something to a disabled endpoint.
func WebhookEndpointDisabled(id ID, why DisabledReason) *Error {
	return &Error{
		Kind: KindConflict, Code: CodeWebhookEndpointDisabled,
		Message: "Webhook endpoint " + string(id) + " is disabled. Enable it first: PATCH it with {\"enabled\": true}.",
		Details: map[string]any{"endpoint_id": string(id), "disabled_reason": string(why)},
	}
}

// RecoveryRunning returns the 409 for a recovery while some webhooks of an earlier one are not
// tried yet.
func RecoveryRunning() *Error {
	return &Error{
		Kind: KindConflict, Code: CodeRecoveryRunning,
		Message: "A recovery of this endpoint is running: some of its webhooks have not been tried yet. Wait for them, then ask again. " +
			"While the endpoint has paused_until they wait for that time; PATCH it with {\"enabled\": true} to end the pause.",
	}
}

// TooManyWebhookTests returns the 429 for one test event too many.
func TooManyWebhookTests(wait time.Duration) *Error {
	wait = max(time.Second, (wait + time.Second - 1).Truncate(time.Second)) // the same in text and header
	return &Error{
		Kind: KindLimited, Code: CodeRateLimitExceeded,
		Message: fmt.Sprintf("%d test events a minute for this endpoint are used up. Try again in %d s.", MaxWebhookTests,
			int(wait.Seconds())),
		Details:    map[string]any{"scope": "endpoint", "limit": MaxWebhookTests, "window_seconds": 60},
		RetryAfter: wait,
	}
}

// TooManyListeners returns the 429 while the maximum of listeners wait.
func TooManyListeners(most int) *Error {
	return &Error{
		Kind: KindLimited, Code: CodeRateLimitExceeded,
		Message:    fmt.Sprintf("%d webhook listeners of this application wait at this server, the most there may be. Try again in 5 s.", most),
		Details:    map[string]any{"scope": "concurrency", "limit": most},
		RetryAfter: 5 * time.Second,
	}
}

// WebhookEndpointLimit returns the 422 for one endpoint too many.
func WebhookEndpointLimit() *Error {
	return &Error{
		Kind: KindInvalid, Code: CodeWebhookEndpointLimit,
		Message: fmt.Sprintf("The application has %d webhook endpoints, the most there may be.", MaxWebhookEndpoints),
		Details: map[string]any{"limit": MaxWebhookEndpoints},
	}
}
