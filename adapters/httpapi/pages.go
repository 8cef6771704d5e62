package httpapi

import (
	"slices"

	"waybill/adapters/web"
	"waybill/domain"
)

// pageRequest reads limit and cursor. Call it after every filter is read.
func (a *API) pageRequest(c *call, prefix domain.Prefix) (domain.PageRequest, error) {
	return a.cursors.Page(c.query, c.listBinding(), prefix)
}

// page cuts off the record beyond the limit and returns the cursor of the next page.
func page[T any](a *API, c *call, records []T, limit int, at func(T) domain.Position) ([]T, web.Meta) {
	return web.Cut(a.cursors, c.listBinding(), records, limit, at)
}

// wholeOrPage returns a list whole unless limit or cursor asks for a page: the rows after the
// cursor, up to the limit if there is one. Such a list loses rows at its beginning only, so
// that all of it comes after a cursor whose record is gone.
func wholeOrPage[T any](a *API, c *call, prefix domain.Prefix, records []T, at func(T) domain.Position) ([]T, web.Meta, error) {
	p, err := a.pageRequest(c, prefix)
	if err != nil {
		return nil, web.Meta{}, err
	}
	if p.After != nil {
		records = records[1+slices.IndexFunc(records, func(r T) bool { return at(r).ID == p.After.ID }):]
	}
	if !c.query.Has("limit") {
		return records, web.Whole(len(records)), nil
	}
	records, m := page(a, c, records, p.Limit, at)
	return records, m, nil
}

// listBinding identifies the list that a cursor belongs to: its owner, its route and its
// filters.
func (c *call) listBinding() string {
	return string(c.tenant.ApplicationID) + "\n" + string(c.tenant.Environment) + "\n" +
		c.FullPath() + "\n" + string(c.id) + "\n" + c.query.Filters()
}
