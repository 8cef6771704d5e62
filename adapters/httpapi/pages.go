package httpapi

import (
	"net/url"
	"slices"

	"waybill/domain"
)

const notACursor = "not a cursor of this list with these filters; pass next_cursor back unchanged, or start without one"

// pageRequest reads limit and cursor. Read every filter first: the cursor is
// bound to them as they were sent, and err tells the problems of all.
func (a *API) pageRequest(c *call, prefix domain.Prefix) (domain.PageRequest, error) {
	page := domain.PageRequest{Limit: c.query.limit()}
	if cursor := c.query.values.Get("cursor"); cursor != "" {
		position, ok := a.cursors.open(c.listBinding(), prefix, cursor)
		if !ok {
			c.query.reject("cursor", domain.FieldInvalidFormat, notACursor)
		}
		page.After = &position
	}
	return page, c.query.err()
}

// page cuts off the record beyond the limit and tells how to go on behind the last.
func page[T any](a *API, c *call, records []T, limit int, at func(T) domain.Position) ([]T, meta) {
	m := meta{Limit: limit}
	if len(records) > limit {
		records = records[:limit]
		cursor := a.cursors.seal(c.listBinding(), at(records[limit-1]))
		m.HasMore, m.NextCursor = true, &cursor
	}
	return records, m
}

// whole is the meta of a list that is never cut.
func whole(n int) meta { return meta{Limit: n} }

// wholeOrPage is for lists that come whole unless limit or cursor asks for a page:
// what is behind the cursor, up to the limit if there is one. Nothing is ever taken
// out of such a list, so that the record of a cursor is in it.
func wholeOrPage[T any](a *API, c *call, prefix domain.Prefix, records []T, at func(T) domain.Position) ([]T, meta, error) {
	p, err := a.pageRequest(c, prefix)
	if err != nil {
		return nil, meta{}, err
	}
	if p.After != nil {
		records = records[1+slices.IndexFunc(records, func(r T) bool { return at(r).ID == p.After.ID }):]
	}
	if !c.query.values.Has("limit") {
		return records, whole(len(records)), nil
	}
	records, m := page(a, c, records, p.Limit, at)
	return records, m, nil
}

// listBinding is what a cursor belongs to: everything that decides which
// records a list has and in which order. The limit may change between pages.
func (c *call) listBinding() string {
	filters := url.Values{}
	for name, sent := range c.query.values {
		if name != "cursor" && name != "limit" {
			filters[name] = sent
		}
	}
	return string(c.tenant.ApplicationID) + "\n" + string(c.tenant.Environment) + "\n" +
		c.FullPath() + "\n" + string(c.id) + "\n" + filters.Encode()
}

func each[T, V any](records []T, view func(T) V) []V {
	out := make([]V, 0, len(records))
	for _, r := range records {
		out = append(out, view(r))
	}
	return out
}
