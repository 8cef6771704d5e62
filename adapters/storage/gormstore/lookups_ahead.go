package gormstore

import (
	"context"
	"slices"
	"sync"

	"waybill/adapters/storage/gormstore/pgfast"
	"waybill/domain"
	"waybill/ports"
)

// ahead is what was looked up before it was asked for, until it is.
type ahead struct {
	mu    sync.Mutex
	looks map[*lookupKind]any // *look of the kind's rows
}

type aheadKey struct{}

// lookAhead is ports.Readers.Ahead. Where the rows cannot be looked up together, each is
// looked up when it is asked for.
func (s session) lookAhead(ctx context.Context, t domain.Tenant, of ports.Sought) context.Context {
	if ctx.Value(aheadKey{}) != nil {
		return ctx
	}
	var questions []*pgfast.Question
	a := &ahead{looks: map[*lookupKind]any{}}
	business, environment := uuidOf(rowIDOf(t.BusinessID)), string(t.Environment)
	if of.Key != "" && storable(of.Key) {
		questions = append(questions, addLook[keyRow](ctx, a, keyLookup, append(applicationKey(t), of.Key)...))
	}
	if phone := string(of.PhoneNumber); phone != "" && storable(phone) {
		questions = append(questions, addLook[recipientRow](ctx, a, recipientLookup, business, environment, phone))
	}
	if id, err := lookup(domain.PrefixPickupLocation, of.PickupLocation); err == nil {
		questions = append(questions, addLook[pickupLocationRow](ctx, a, pickupLookup, business, environment, uuidOf(id)))
	}
	if of.ExternalID != "" && storable(of.ExternalID) {
		questions = append(questions, addLook[deliveryRow](ctx, a, externalIDLookup, append(applicationKey(t), of.ExternalID)...))
	}
	if len(questions) < 2 {
		return ctx
	}
	if err := s.lookups.Do(ctx, questions); err != nil {
		if ctx.Err() == nil {
			s.lookups.broke.Store(sinceStart())
		}
		return ctx
	}
	return context.WithValue(ctx, aheadKey{}, a)
}

func addLook[Row any](ctx context.Context, a *ahead, kind *lookupKind, key ...any) *pgfast.Question {
	l := newLook[Row](ctx, kind, key)
	a.looks[kind] = l
	return l.Question
}

// takeAhead takes a look-up of this key that was made ahead. The next one for the same row
// is made anew.
func takeAhead[Row any](ctx context.Context, kind *lookupKind, key []any) (*look[Row], bool) {
	a, ok := ctx.Value(aheadKey{}).(*ahead)
	if !ok {
		return nil, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	l, ok := a.looks[kind].(*look[Row])
	if !ok || !slices.Equal(l.Key, key) {
		return nil, false
	}
	delete(a.looks, kind)
	return l, true
}
