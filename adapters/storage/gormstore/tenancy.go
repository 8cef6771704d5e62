package gormstore

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm"

	"waybill/domain"
)

// tenancy implements ports.TenancyStore.
type tenancy struct{ session }

// credentialJoin reads a key with its application and business in one statement. Every request that
// no cache answers runs it.
var credentialJoin = "SELECT " +
	apiKeyTable.selectAs("k", "key_") + ", " +
	applicationTable.selectAs("a", "application_") + ", " +
	businessTable.selectAs("b", "business_") +
	" FROM api_keys k JOIN applications a ON a.id = k.application_id JOIN businesses b ON b.id = a.business_id" +
	" WHERE "

func (s tenancy) Credential(ctx context.Context, digests ...[32]byte) (domain.Credential, error) {
	var row credentialRow
	result := s.with(ctx).Raw(credentialJoin+"k.digest IN ?", bytesOfAll(digests)).Scan(&row)
	if result.Error == nil && result.RowsAffected == 0 {
		return domain.Credential{}, domain.ErrNotFound
	}
	if result.Error != nil {
		return domain.Credential{}, s.dialect.failed("read a credential", result.Error)
	}
	return row.domain(), nil
}

func (s tenancy) ExpiringKeys(ctx context.Context, from, until time.Time, after domain.ID, limit int) ([]domain.Credential, error) {
	where, values := "k.revoked_at IS NULL AND k.expires_at > ? AND k.expires_at <= ?", []any{instantOf(from), instantOf(until)}
	if after != "" {
		where, values = where+" AND k.id > ?", append(values, rowIDOf(after))
	}
	var rows []credentialRow
	err := s.with(ctx).Raw(credentialJoin+where+" ORDER BY k.id LIMIT ?", append(values, limit)...).Scan(&rows).Error
	return all(rows, (*credentialRow).domain), s.dialect.failed("look for keys that expire", err)
}

func (s tenancy) Known(ctx context.Context, digests [][32]byte) ([][32]byte, error) {
	var rows []apiKeyRow
	err := s.with(ctx).Select("digest").Where("digest IN ?", padded(bytesOfAll(digests))).Find(&rows).Error
	known := make([][32]byte, len(rows))
	for i, r := range rows {
		known[i] = [32]byte(r.Digest)
	}
	return known, s.dialect.failed("look for API keys", err)
}

// padded repeats a value until there are 2, 4, 8, and so on. A statement for each number of values
// would push all others out of the cache of prepared statements.
func padded[T any](values []T) []T {
	for n := len(values); n&(n-1) != 0; n++ {
		values = append(values, values[0])
	}
	return values
}

func (s tenancy) Business(ctx context.Context, id domain.ID) (domain.Business, error) {
	key, err := lookup(domain.PrefixBusiness, id)
	if err != nil {
		return domain.Business{}, err
	}
	var row businessRow
	if err := s.with(ctx).Where("id = ?", key).Take(&row).Error; err != nil {
		return domain.Business{}, s.dialect.failed("read a business", err)
	}
	return row.domain(), nil
}

func (s tenancy) Application(ctx context.Context, id domain.ID) (domain.Application, error) {
	key, err := lookup(domain.PrefixApplication, id)
	if err != nil {
		return domain.Application{}, err
	}
	var row applicationRow
	if err := s.with(ctx).Where("id = ?", key).Take(&row).Error; err != nil {
		return domain.Application{}, s.dialect.failed("read an application", err)
	}
	return row.domain(), nil
}

func (s tenancy) APIKey(ctx context.Context, id domain.ID) (domain.APIKey, error) {
	key, err := lookup(domain.PrefixAPIKey, id)
	if err != nil {
		return domain.APIKey{}, err
	}
	var row apiKeyRow
	if err := s.with(ctx).Where("id = ?", key).Take(&row).Error; err != nil {
		return domain.APIKey{}, s.dialect.failed("read an API key", err)
	}
	return row.domain(), nil
}

// keysOfApplication reads the active keys and, backwards in the index, the last inactive ones of
// each environment. Indexes serve each part, so it reads neither thousands of revoked keys nor those
// of the other environment. It takes the application twice, the time, and for each environment the
// application, the time, the environment and a limit.
func keysOfApplication(e *dialect) string {
	const of = " SELECT * FROM (SELECT * FROM api_keys WHERE application_id = ? AND "
	return "SELECT " + apiKeyTable.list() + " FROM (" +
		of + "revoked_at IS NULL AND expires_at IS NULL" + e.fence + ") AS lasting UNION ALL" +
		of + "revoked_at IS NULL AND expires_at > ?" + e.fence + ") AS expiring" + strings.Repeat(" UNION ALL"+
		of+"(revoked_at IS NOT NULL OR expires_at <= ?) AND environment = ? ORDER BY created_at DESC, id DESC LIMIT ?) AS past", 2) +
		") AS k ORDER BY created_at, id"
}

func (s tenancy) APIKeys(ctx context.Context, applicationID domain.ID, now time.Time) ([]domain.APIKey, error) {
	key, _ := lookup(domain.PrefixApplication, applicationID)
	if key == "" {
		return nil, nil // no such application, so no keys
	}
	var rows []apiKeyRow
	at, most := instantOf(now), domain.MaxPastKeysListed
	err := s.with(ctx).Raw(keysOfApplication(s.dialect), key, key, at, key, at, domain.Live, most, key, at, domain.Sandbox, most).Scan(&rows).Error
	return all(rows, (*apiKeyRow).domain), s.dialect.failed("list API keys", err)
}

func (s tenancy) Businesses(ctx context.Context) ([]domain.Business, error) {
	var rows []businessRow
	err := oldestFirst(s.with(ctx)).Find(&rows).Error
	return all(rows, (*businessRow).domain), s.dialect.failed("list businesses", err)
}

func (s tenancy) Applications(ctx context.Context, businessID domain.ID) ([]domain.Application, error) {
	key, _ := lookup(domain.PrefixBusiness, businessID)
	if key == "" {
		return nil, nil // no such business, so no applications
	}
	var rows []applicationRow
	err := oldestFirst(s.with(ctx)).Where("business_id = ?", key).Find(&rows).Error
	return all(rows, (*applicationRow).domain), s.dialect.failed("list applications", err)
}

func (s tenancy) ApplicationsPage(ctx context.Context, businessID domain.ID, p domain.PageRequest) ([]domain.Application, error) {
	key, _ := lookup(domain.PrefixBusiness, businessID)
	if key == "" {
		return nil, nil // no such business, so no applications
	}
	var rows []applicationRow
	err := page(s.with(ctx).Where("business_id = ?", key), p, false).Find(&rows).Error
	return all(rows, (*applicationRow).domain), s.dialect.failed("list applications", err)
}

func (s tenancy) InsertBusiness(ctx context.Context, b domain.Business) error {
	row := newBusinessRow(b)
	return s.dialect.failed("insert a business", s.with(ctx).Create(&row).Error)
}

func (s tenancy) LockBusiness(ctx context.Context, id domain.ID) (domain.Business, error) {
	key, err := lookup(domain.PrefixBusiness, id)
	if err != nil {
		return domain.Business{}, err
	}
	if err := s.reach(rowBusiness, string(id)); err != nil {
		return domain.Business{}, s.dialect.failed("lock a business", err)
	}
	var row businessRow
	if err := s.with(ctx).Clauses(forUpdate).Where("id = ?", key).Take(&row).Error; err != nil {
		return domain.Business{}, s.dialect.failed("lock a business", err)
	}
	return row.domain(), nil
}

func (s tenancy) UpdateBusiness(ctx context.Context, b domain.Business) error {
	key, err := lookup(domain.PrefixBusiness, b.ID)
	if err != nil {
		return err
	}
	if err := s.reach(rowBusiness, string(b.ID)); err != nil {
		return s.dialect.failed("update a business", err)
	}
	row := newBusinessRow(b)
	result := s.with(ctx).Model(&businessRow{}).Where("id = ?", key).Updates(map[string]any{
		"name": row.Name, "rate_limit": row.RateLimit, "rate_window_ns": row.RateWindowNS, "disabled": row.Disabled,
		"tracking_cash": row.TrackingCash,
	})
	return s.dialect.changed("update a business", result)
}

func (s tenancy) InsertApplication(ctx context.Context, a domain.Application) error {
	if err := s.reach(rowBusiness, string(a.BusinessID)); err != nil { // which it points at
		return s.dialect.failed("insert an application", err)
	}
	row := newApplicationRow(a)
	return s.dialect.inserted("applications", "insert an application", s.with(ctx).Create(&row).Error)
}

func (s tenancy) RenameApplication(ctx context.Context, id domain.ID, name string) error {
	return s.changeApplication(ctx, id, "rename an application", "name", name)
}

func (s tenancy) SetApplicationDisabled(ctx context.Context, id domain.ID, disabled bool) error {
	return s.changeApplication(ctx, id, "disable an application", "disabled", disabled)
}

func (s tenancy) changeApplication(ctx context.Context, id domain.ID, what, column string, value any) error {
	key, err := lookup(domain.PrefixApplication, id)
	if err != nil {
		return err
	}
	if err := s.reach(rowApplication, string(id)); err != nil {
		return s.dialect.failed(what, err)
	}
	return s.dialect.changed(what, s.with(ctx).Model(&applicationRow{}).Where("id = ?", key).Update(column, value))
}

func (s tenancy) InsertAPIKey(ctx context.Context, k domain.APIKey) error {
	if err := s.reach(rowApplication, string(k.ApplicationID)); err != nil { // which it points at
		return s.dialect.failed("insert an API key", err)
	}
	row := newAPIKeyRow(k)
	return s.dialect.failed("insert an API key", s.with(ctx).Create(&row).Error)
}

func (s tenancy) RevokeAPIKey(ctx context.Context, id domain.ID, at time.Time) error {
	key, err := lookup(domain.PrefixAPIKey, id)
	if err != nil {
		return err
	}
	if err := s.reach(rowAPIKey, string(id)); err != nil {
		return s.dialect.failed("revoke an API key", err)
	}
	result := s.with(ctx).Model(&apiKeyRow{}).Where("id = ?", key).
		Update("revoked_at", gorm.Expr("COALESCE(revoked_at, ?)", instantOf(at)))
	return s.dialect.changed("revoke an API key", result)
}

func oldestFirst(db *gorm.DB) *gorm.DB { return db.Order("created_at, id") }
