package deliveries

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"path"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// FoundOfBusiness holds the records of a business that a text names exactly.
type FoundOfBusiness struct {
	Deliveries   []*domain.Delivery // newest first
	Requests     []domain.RequestRecord
	Endpoints    []domain.WebhookEndpoint
	Recipients   []FoundRecipient
	Locations    []FoundLocation
	Keys         []domain.APIKey
	Applications []domain.Application
	Sent         []FoundSent
	Unlogged     bool // the request log did not answer, so Requests may be incomplete
}

// FoundRecipient is a recipient with its environment.
type FoundRecipient struct {
	domain.Recipient
	Environment domain.Environment
}

// FoundLocation is a pickup location with its environment.
type FoundLocation struct {
	domain.PickupLocation
	Environment domain.Environment
}

// FoundSent is a webhook with the endpoint it was sent to.
type FoundSent struct {
	ID       domain.ID
	Endpoint domain.WebhookEndpoint
}

// maxFound limits the records of one kind, and maxAppsSearched the applications whose keys are
// searched.
const (
	maxFound        = 20
	maxAppsSearched = 50
)

// logTimeout limits how long a search waits for the request log.
const logTimeout = time.Second

// Find finds records of a business. It finds a delivery, a request, a key and more by ID. It finds
// a delivery also by its reference, external_id, tracking link or one of its events; a request by
// the caller's own name for it; a webhook by its ID or one of its attempts; a key by its last four
// characters; an application by its name. A record of another business counts as missing. Every
// lookup uses an index.
func (h *Handling) Find(ctx context.Context, business domain.ID, text string) (f FoundOfBusiness, err error) {
	if business == "" {
		return f, domain.ErrNotFound
	}
	text = Sought(text)
	if text == "" || domain.HoldsSecret(text) {
		return f, nil
	}
	for _, find := range []func(context.Context, domain.ID, string, *FoundOfBusiness) error{
		h.findDeliveries, h.findRequests, h.findOwned, h.findKeys,
	} {
		if err := find(ctx, business, text, &f); err != nil && !errors.Is(err, domain.ErrNotFound) {
			return FoundOfBusiness{}, err
		}
	}
	return f, nil
}

// Sought returns the part of a text that is searched for: the end of a link, and of an API key only
// what lists show.
func Sought(text string) string {
	text = strings.TrimSpace(text)
	if at, err := url.Parse(text); err == nil && at.Scheme != "" && at.Host != "" {
		text = path.Base(at.Path)
	}
	return cmp.Or(domain.KeyEnd(text), text)
}

const lastFour = 4

func (h *Handling) findDeliveries(ctx context.Context, business domain.ID, text string, f *FoundOfBusiness) (err error) {
	f.Deliveries, err = h.Search(ctx, business, text, maxFound)
	return err
}

func (h *Handling) findRequests(ctx context.Context, business domain.ID, text string, f *FoundOfBusiness) (err error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	read := h.storage.Read().Requests
	if id, malformed := domain.ParseID(domain.PrefixRequest, text); malformed == nil {
		r, err := read.Get(ctx, business, id)
		if err == nil {
			f.Requests = []domain.RequestRecord{r}
		}
		return f.unlogged(err)
	}
	if len(text) > domain.MaxClientRequestID {
		return nil
	}
	f.Requests, err = read.List(ctx, domain.RequestFilter{BusinessID: business, ClientID: text}, domain.PageRequest{Limit: maxFound})
	f.Requests = f.Requests[:min(len(f.Requests), maxFound)]
	return f.unlogged(err)
}

// unlogged notes that the request log did not answer. All other records can still be found.
func (f *FoundOfBusiness) unlogged(err error) error {
	if f.Unlogged = ports.StorageUnavailable(err); f.Unlogged {
		return nil
	}
	return err
}

// findOwned finds the record of an ID, after a check of its owner.
func (h *Handling) findOwned(ctx context.Context, business domain.ID, text string, f *FoundOfBusiness) error {
	read, id := h.storage.Read(), domain.ID(text)
	owned, err := read.Platform.Owner(ctx, id)
	if err != nil {
		return err
	}
	t := owned.Tenant
	if t.BusinessID != business {
		return domain.ErrNotFound
	}
	if owned.SentID != "" {
		e, err := read.Webhooks.Endpoint(ctx, t, owned.EndpointID)
		if err != nil {
			return err
		}
		f.Sent = append(f.Sent, FoundSent{owned.SentID, e})
		return nil
	}
	if owned.DeliveryID != "" {
		d, err := read.Deliveries.Get(ctx, t, owned.DeliveryID)
		if err != nil {
			return err
		}
		f.Deliveries = append(f.Deliveries, d)
	}
	if owned.EndpointID != "" {
		e, err := read.Webhooks.Endpoint(ctx, t, owned.EndpointID)
		if err != nil {
			return err
		}
		f.Endpoints = append(f.Endpoints, e)
	}
	switch {
	case strings.HasPrefix(text, string(domain.PrefixRecipient)):
		r, err := read.Recipients.Get(ctx, t, id)
		if err != nil {
			return err
		}
		f.Recipients = append(f.Recipients, FoundRecipient{r, t.Environment})
	case strings.HasPrefix(text, string(domain.PrefixPickupLocation)):
		l, err := read.PickupLocations.Get(ctx, t, id)
		if err != nil {
			return err
		}
		f.Locations = append(f.Locations, FoundLocation{l, t.Environment})
	case strings.HasPrefix(text, string(domain.PrefixAPIKey)):
		k, err := read.Tenancy.APIKey(ctx, id)
		if err != nil {
			return err
		}
		f.Keys = append(f.Keys, k)
	}
	return nil
}

// findKeys finds applications by their ID or name, and keys by their last four characters.
func (h *Handling) findKeys(ctx context.Context, business domain.ID, text string, f *FoundOfBusiness) error {
	read := h.storage.Read().Tenancy
	apps, err := read.Applications(ctx, business)
	if err != nil {
		return err
	}
	for _, a := range apps[:min(len(apps), maxAppsSearched)] {
		if string(a.ID) == text || strings.EqualFold(domain.FoldPunctuation(a.Name), domain.FoldPunctuation(text)) {
			f.Applications = append(f.Applications, a)
		}
		if len(text) != lastFour {
			continue
		}
		keys, err := read.APIKeys(ctx, a.ID, h.clock.Now())
		if err != nil {
			return err
		}
		for _, k := range keys {
			if k.LastFour == text && len(f.Keys) < maxFound {
				f.Keys = append(f.Keys, k)
			}
		}
	}
	return nil
}
