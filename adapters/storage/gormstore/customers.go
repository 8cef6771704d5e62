package gormstore

import (
	"context"
	"strings"
	"time"

	"waybill/domain"
)

// customerRow is a business with the counts of its records.
type customerRow struct {
	Business     businessRow `gorm:"embedded;embeddedPrefix:business_"`
	Applications int
	Keys         int
	People       int
	Owners       int
	LastUsedAt   *instant
}

func (r *customerRow) domain() domain.Customer {
	return domain.Customer{Business: r.Business.domain(), Applications: r.Applications, Keys: r.Keys, People: r.People, Owners: r.Owners,
		LastUsedAt: optionalTime(r.LastUsedAt)}
}

// working selects API keys k that are active at a time.
const working = "k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)"

// selectCustomers counts for the businesses of one page only, which an inner SELECT finds.
var selectCustomers = "SELECT " + businessTable.selectAs("b", "business_") + "," +
	" (SELECT count(*) FROM applications a WHERE a.business_id = b.id) AS applications," +
	" (SELECT count(*) FROM api_keys k JOIN applications a ON a.id = k.application_id" +
	" WHERE a.business_id = b.id AND NOT a.disabled AND NOT b.disabled AND " + working + ") AS keys," +
	" (SELECT count(*) FROM memberships m WHERE m.business_id = b.id AND m.accepted_at IS NOT NULL) AS people," +
	" (SELECT count(*) FROM memberships m WHERE m.business_id = b.id AND m.role = 'owner') AS owners," +
	" (SELECT max(k.last_used_at) FROM api_keys k JOIN applications a ON a.id = k.application_id WHERE a.business_id = b.id) AS last_used_at" +
	" FROM (SELECT * FROM businesses b"

func (s platform) Customers(ctx context.Context, f domain.CustomerSearch, now time.Time, p domain.PageRequest) ([]domain.Customer, error) {
	if !storable(f.Text) {
		return nil, nil
	}
	ctx, done := s.forList(ctx, domain.Tenant{})
	defer done()
	q := &condition{}
	q.customers(f)
	if p.After != nil {
		q.and("(b.created_at, b.id) < (?, ?)", instantOf(p.After.CreatedAt), rowIDOf(p.After.ID))
	}
	values := append([]any{instantOf(now)}, append(q.values, p.Limit+1)...)
	var rows []customerRow
	err := s.with(ctx).Raw(selectCustomers+q.where()+" ORDER BY created_at DESC, id DESC LIMIT ?) b ORDER BY b.created_at DESC, b.id DESC",
		values...).Scan(&rows).Error
	return all(rows, (*customerRow).domain), s.listFailed(ctx, "search customers", err)
}

// customersBy maps the prefix of an ID to the condition that finds its customer.
var customersBy = map[domain.Prefix]string{
	domain.PrefixBusiness:    "b.id = ?",
	domain.PrefixApplication: "b.id = (SELECT a.business_id FROM applications a WHERE a.id = ?)",
	domain.PrefixAPIKey:      "b.id = (SELECT a.business_id FROM api_keys k JOIN applications a ON a.id = k.application_id WHERE k.id = ?)",
	domain.PrefixPerson:      "b.id IN (SELECT m.business_id FROM memberships m WHERE m.person_id = ?)",
}

// customers adds the conditions on businesses b.
func (q *condition) customers(f domain.CustomerSearch) {
	switch f.State {
	case domain.CustomerActive:
		q.and("NOT b.disabled")
	case domain.CustomerDisabled:
		q.and("b.disabled")
	}
	if f.Text == "" {
		return
	}
	for prefix, condition := range customersBy {
		if key, err := lookup(prefix, domain.ID(f.Text)); err == nil {
			q.and(condition, key)
			return
		}
	}
	// SQLite folds only ASCII. There other letters are also found as typed. Punctuation is folded by
	// wildcards: an apostrophe or a hyphen stands for any character, white space for one or more.
	wildcards := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "'", "_", "-", "_", " ", "_%")
	typed := "%" + wildcards.Replace(domain.FoldPunctuation(f.Text)) + "%"
	folded := strings.ToLower(typed)
	const like = `LIKE ? ESCAPE '\'`
	q.and("(lower(b.name) "+like+" OR b.name "+like+
		" OR b.id IN (SELECT a.business_id FROM applications a WHERE lower(a.name) "+like+" OR a.name "+like+")"+
		" OR b.id IN (SELECT m.business_id FROM memberships m JOIN persons p ON p.id = m.person_id WHERE p.email "+like+"))",
		folded, typed, folded, typed, folded)
}

func (s platform) Footprint(ctx context.Context, business, application domain.ID, now time.Time) (f domain.Footprint, err error) {
	apps, values := "SELECT id FROM applications WHERE business_id = ?", []any{rowIDOf(business)}
	if application != "" {
		apps, values = apps+" AND id = ?", append(values, rowIDOf(application))
	}
	key, err := lookup(domain.PrefixBusiness, business)
	if err != nil {
		return f, nil // no such business, so it has nothing
	}
	ctx, done := s.forList(ctx, domain.Tenant{})
	defer done()
	open := make([]string, 0, len(domain.OpenStatuses()))
	for _, status := range domain.OpenStatuses() {
		open = append(open, string(status))
	}
	keys := "FROM api_keys k WHERE k.application_id IN (" + apps + ") AND " + working + " AND k.environment = "
	counts := []struct {
		to     *int
		of     string
		values []any
	}{
		{&f.LiveKeys, keys + "'live'", append(append([]any{}, values...), instantOf(now))},
		{&f.SandboxKeys, keys + "'sandbox'", append(append([]any{}, values...), instantOf(now))},
		{&f.Endpoints, "FROM webhook_endpoints e WHERE e.application_id IN (" + apps +
			") AND e.slot IS NOT NULL AND NOT e.listener AND e.enabled", values},
		{&f.OpenDeliveries, "FROM deliveries d WHERE d.application_id IN (" + apps + ") AND d.environment = 'live' AND d.status IN ?",
			append(append([]any{}, values...), open)},
		{&f.People, "FROM memberships m WHERE m.business_id = ? AND m.accepted_at IS NOT NULL", []any{key}},
	}
	if application != "" {
		counts = counts[:len(counts)-1] // people belong to the business
	}
	for _, c := range counts {
		err := s.with(ctx).Raw("SELECT count(*) FROM (SELECT 1 "+c.of+" LIMIT ?) AS counted", append(c.values, domain.MaxFootprint)...).
			Scan(c.to).Error
		if err != nil {
			return f, s.listFailed(ctx, "count what a customer has", err)
		}
	}
	return f, nil
}
