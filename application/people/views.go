package people

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Reasons for the end of a view, as the audit log shows them.
const (
	viewEndedHere    = "ended"
	viewEndedByTime  = "expired"
	viewEndedWithout = "signed out of the console, or access was taken"
	viewEndedWith    = "the customer was disabled"
)

// viewsRead limits the views that CloseViews reads at a time.
const viewsRead = 100

// OpenedView holds a view with one of its secrets, of its link or of its cookie. Only now is that
// secret known.
type OpenedView struct {
	domain.CustomerView
	Secret string
}

// ViewAs makes a link with which a person of the staff sees the portal as a customer does. The link
// works once and within domain.ViewLinkLifetime. p is the session of the console.
func (a *Access) ViewAs(ctx context.Context, p domain.Principal, business domain.ID, reason string) (v OpenedView, err error) {
	v.Secret = domain.MakeBearerSecret(a.ids.SigningSecret())
	v.CustomerView, err = domain.NewCustomerView(a.ids.ID(domain.PrefixCustomerView), p.Session, business, strings.TrimSpace(reason),
		a.clock.Now())
	if err != nil {
		return OpenedView{}, err
	}
	v.LinkDigest = domain.BearerDigest(v.Secret)
	err = a.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		if off, err := disabled(ctx, tx.Tenancy, business); err != nil || off {
			return cmp.Or(err, error(domain.ViewDisabled()))
		}
		return tx.Views.Insert(ctx, v.CustomerView)
	})
	return v, err
}

// LookView finds a view whose link works. It changes nothing.
func (a *Access) LookView(ctx context.Context, b Browser, secret string) (v domain.CustomerView, err error) {
	v, err = a.findView(ctx, secret)
	return v, a.unknownLink(ctx, b, err)
}

func (a *Access) findView(ctx context.Context, secret string) (domain.CustomerView, error) {
	v, err := a.storage.Read().Views.FindByLink(ctx, domain.BearerDigest(secret))
	if errors.Is(err, domain.ErrNotFound) {
		return v, domain.LinkUnknown()
	}
	if err != nil {
		return v, err
	}
	return v, refused(Refused{Person: v.PersonID, Site: domain.Console, Err: v.Openable(a.clock.Now())})
}

// OpenView uses the link of a view, once. The customer's audit log records the start and the
// reason. It returns LINK_UNKNOWN if the session of the console has ended in the meantime. No mail
// is sent: the customer has no new session.
func (a *Access) OpenView(ctx context.Context, b Browser, secret string) (v OpenedView, err error) {
	open := func() error {
		found, err := a.findView(ctx, secret)
		if err != nil {
			return err
		}
		person, err := a.storage.Read().Persons.Get(ctx, found.PersonID)
		if err != nil {
			return err
		}
		cookie := domain.MakeBearerSecret(a.ids.SigningSecret())
		by := domain.AuditActor{ID: person.ID, Name: person.Name, RequestID: b.RequestID}
		return a.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
			now := a.clock.Now()
			v = OpenedView{CustomerView: found, Secret: cookie}
			v.Digest, v.OpenedAt, v.ExpiresAt = domain.BearerDigest(cookie), &now, now.Add(domain.ViewLifetime)
			if err := tx.Views.Open(ctx, v.ID, v.Digest, now, v.ExpiresAt); err != nil {
				return domain.AuditRecord{}, err
			}
			if off, err := disabled(ctx, tx.Tenancy, v.BusinessID); err != nil || off {
				return domain.AuditRecord{}, cmp.Or(err, error(domain.ViewDisabled()))
			}
			console, err := tx.Sessions.Get(ctx, v.SessionID)
			if errors.Is(err, domain.ErrNotFound) || err == nil && !v.Works(console, now) {
				return domain.AuditRecord{}, domain.LinkUnknown()
			}
			return viewRecord(domain.ActionViewBegin, v.CustomerView,
				map[string]string{"reason": v.Reason, "until": domain.FormatTime(v.ExpiresAt)}), err
		})
	}
	return v, a.unknownLink(ctx, b, open())
}

// IdentifyView returns who sees the portal by the cookie of a view. It returns SESSION_ENDED also
// if the session of the console has ended or the person may no longer do this. The same applies to
// a disabled customer, whose own people see nothing either. Every page looks it up, so that all of
// these apply at once.
func (a *Access) IdentifyView(ctx context.Context, secret string) (domain.Principal, error) {
	v, err := a.storage.Read().Views.FindByDigest(ctx, domain.BearerDigest(secret))
	if errors.Is(err, domain.ErrNotFound) {
		return domain.Principal{}, domain.SessionEnded()
	}
	if err != nil {
		return domain.Principal{}, err
	}
	console, err := a.storage.Read().Sessions.Get(ctx, v.SessionID)
	if errors.Is(err, domain.ErrNotFound) || err == nil && !v.Works(console, a.clock.Now()) {
		return domain.Principal{}, domain.SessionEnded()
	}
	if err != nil {
		return domain.Principal{}, err
	}
	if off, err := disabled(ctx, a.storage.Read().Tenancy, v.BusinessID); err != nil || off {
		return domain.Principal{}, cmp.Or(err, error(domain.SessionEnded()))
	}
	return v.Principal(console.Person), nil
}

// EndView ends a view. The customer's audit log records it.
func (a *Access) EndView(ctx context.Context, p domain.Principal, requestID string) error {
	if p.View == nil {
		return domain.ErrNotFound
	}
	return a.endView(ctx, *p.View, p.Person.Name, requestID, viewEndedHere, a.clock.Now())
}

func (a *Access) endView(ctx context.Context, v domain.CustomerView, name, requestID, because string, at time.Time) error {
	by := domain.AuditActor{ID: v.PersonID, Name: name, RequestID: requestID}
	return a.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		ended, err := tx.Views.End(ctx, v.ID, at)
		if err != nil || !ended {
			return domain.AuditRecord{}, err
		}
		return viewRecord(domain.ActionViewEnd, v, map[string]string{"because": because, "ended_at": domain.FormatTime(at)}), nil
	})
}

// CloseViews writes the end of views that were not ended by hand into the audit logs of customers.
// They expired, or ended with the session of the console or with the customer. They showed no page
// since then; this only records it. Any process may call it at any time.
func (a *Access) CloseViews(ctx context.Context) error {
	var failed []error
	for after := domain.ID(""); ; {
		open, err := a.storage.Read().Views.Unended(ctx, after, viewsRead)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, v := range open {
			failed = append(failed, a.closeView(ctx, v))
			after = v.ID
		}
		if len(open) < viewsRead {
			return errors.Join(failed...)
		}
	}
}

func (a *Access) closeView(ctx context.Context, v domain.CustomerView) error {
	now := a.clock.Now()
	console, err := a.storage.Read().Sessions.Get(ctx, v.SessionID)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return err
	}
	goesOn := err == nil && v.Works(console, now)
	off, err := disabled(ctx, a.storage.Read().Tenancy, v.BusinessID)
	if err != nil || goesOn && !off {
		return err
	}
	person, err := a.storage.Read().Persons.Get(ctx, v.PersonID)
	if err != nil {
		return err
	}
	because, at := viewEndedWithout, now
	switch {
	case !now.Before(v.ExpiresAt):
		because, at = viewEndedByTime, v.ExpiresAt
	case goesOn:
		because = viewEndedWith
	}
	return a.endView(ctx, v, person.Name, "", because, at)
}

func viewRecord(action domain.Action, v domain.CustomerView, details map[string]string) domain.AuditRecord {
	return domain.AuditRecord{Action: action, Target: v.ID, BusinessID: v.BusinessID, Details: details}
}
