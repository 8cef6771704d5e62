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

// FoundOfBusiness is what a business has that a text names, whole.
type FoundOfBusiness struct {
	Deliveries   []*domain.Delivery // newest first
	Requests     []domain.RequestRecord
	Endpoints    []domain.WebhookEndpoint
	Recipients   []FoundRecipient
	Locations    []FoundLocation
	Keys         []domain.APIKey
	Applications []domain.Application
	Sent         []FoundSent
	Unlogged     bool // the request log did not answer, and Requests may lack some
}

// FoundRecipient is a recipient of an environment.
type FoundRecipient struct {
	domain.Recipient
	Environment domain.Environment
}

// FoundLocation is a pickup location of an environment.
type FoundLocation struct {
	domain.PickupLocation
	Environment domain.Environment
}

// FoundSent is what was sent to an endpoint.
type FoundSent struct {
	ID       domain.ID
	Endpoint domain.WebhookEndpoint
}

// foundMost is how many records of one kind are found, and appsSearched of how many
// applications the keys are looked through.
const (
	foundMost    = 20
	appsSearched = 50
)

// logPatience is how long a search waits for the request log.
const logPatience = time.Second

// Find finds what people have in hand of their business: a delivery, a request, a key and
// more by its ID; a delivery by its reference, its external_id, its tracking link or one
// of its events; a request by the name that the caller gave it; a webhook by its ID or
// one of its attempts; a key by its last four characters; an application by its name. A record of another business is found no
// more than one that does not exist. Each is a lookup by an index.
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

// Sought is what of a text is looked for: the end of a link, and of an API key no more
// than what lists show.
func Sought(text string) string {
	text = strings.TrimSpace(text)
	if at, err := url.Parse(text); err == nil && at.Scheme != "" && at.Host != "" {
		text = path.Base(at.Path)
	}
	return cmp.Or(domain.KeyEnd(text), text)
}

const lastFour = 4

func (h *Handling) findDeliveries(ctx context.Context, business domain.ID, text string, f *FoundOfBusiness) (err error) {
	f.Deliveries, err = h.Search(ctx, business, text, foundMost)
	return err
}

func (h *Handling) findRequests(ctx context.Context, business domain.ID, text string, f *FoundOfBusiness) (err error) {
	ctx, cancel := context.WithTimeout(ctx, logPatience)
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
	f.Requests, err = read.List(ctx, domain.RequestFilter{BusinessID: business, ClientID: text}, domain.PageRequest{Limit: foundMost})
	f.Requests = f.Requests[:min(len(f.Requests), foundMost)]
	return f.unlogged(err)
}

// unlogged takes over that the log did not answer: all the rest can be found without.
func (f *FoundOfBusiness) unlogged(err error) error {
	if f.Unlogged = ports.StorageUnavailable(err); f.Unlogged {
		return nil
	}
	return err
}

// findOwned finds what an ID names whose owner has to be asked for first.
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
	for _, a := range apps[:min(len(apps), appsSearched)] {
		if string(a.ID) == text || strings.EqualFold(a.Name, text) {
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
			if k.LastFour == text && len(f.Keys) < foundMost {
				f.Keys = append(f.Keys, k)
			}
		}
	}
	return nil
}
