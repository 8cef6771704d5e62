package views

import "waybill/domain"

// APIKey tells a client what its key is and what it may do.
type APIKey struct {
	Key         Key    `json:"key"`
	Application Named  `json:"application"`
	Business    Named  `json:"business"`
	Environment string `json:"environment"`
	Limits      Limits `json:"limits"`
}

// Key is a key without its secret.
type Key struct {
	ID        string   `json:"id"`
	Prefix    string   `json:"prefix"`
	LastFour  string   `json:"last_four"`
	Scopes    []string `json:"scopes"`
	CreatedAt string   `json:"created_at"`
	ExpiresAt *string  `json:"expires_at"`
}

// Named is a record known by its ID and name.
type Named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Limits holds the rate limits of a key.
type Limits struct {
	PerKey      Limit `json:"per_key"`
	PerBusiness Limit `json:"per_business"`
}

// Limit is a number of requests within a window.
type Limit struct {
	Limit         int `json:"limit"`
	WindowSeconds int `json:"window_seconds"`
}

// NewAPIKey converts a credential and its limits.
func NewAPIKey(c domain.Credential, perKey, perBusiness domain.RateLimit) APIKey {
	scopes := make([]string, 0, len(c.Key.Scopes))
	for _, s := range c.Key.Scopes {
		scopes = append(scopes, string(s))
	}
	return APIKey{
		Key: Key{
			ID: string(c.Key.ID), Prefix: domain.KeyPrefix(c.Key.Environment), LastFour: c.Key.LastFour,
			Scopes: scopes, CreatedAt: domain.FormatTime(c.Key.CreatedAt), ExpiresAt: Time(c.Key.ExpiresAt),
		},
		Application: Named{ID: string(c.Application.ID), Name: c.Application.Name},
		Business:    Named{ID: string(c.Business.ID), Name: c.Business.Name},
		Environment: string(c.Key.Environment),
		Limits:      Limits{PerKey: NewLimit(perKey), PerBusiness: NewLimit(perBusiness)},
	}
}

// NewLimit converts a limit.
func NewLimit(l domain.RateLimit) Limit {
	return Limit{Limit: l.Limit, WindowSeconds: int(l.Window.Seconds())}
}
