package gormstore

import (
	"context"
	"time"

	"waybill/domain"
)

var (
	passkeyTable  = newTable(passkeyRow{})
	ceremonyTable = newTable(ceremonyRow{})
)

// passkeys implements ports.PasskeyStore.
type passkeys struct{ session }

func (s passkeys) OfPerson(ctx context.Context, person domain.ID) ([]domain.Passkey, error) {
	key, _ := lookup(domain.PrefixPerson, person)
	if key == "" {
		return nil, nil // no such person, so no passkeys
	}
	var rows []passkeyRow
	err := s.with(ctx).Where("person_id = ?", key).Order("created_at, id").Find(&rows).Error
	return all(rows, (*passkeyRow).domain), s.dialect.failed("list passkeys", err)
}

func (s passkeys) FindByCredential(ctx context.Context, credentialID []byte) (domain.Passkey, error) {
	var row passkeyRow
	if err := s.with(ctx).Where("credential_id = ?", credentialID).Take(&row).Error; err != nil {
		return domain.Passkey{}, s.dialect.failed("read a passkey", err)
	}
	return row.domain(), nil
}

func (s passkeys) Insert(ctx context.Context, k domain.Passkey) error {
	result := passkeyTable.insertInto(ctx, s.with(ctx), newPasskeyRow(k), " ON CONFLICT (credential_id) DO NOTHING")
	if result.Error == nil && result.RowsAffected == 0 {
		return domain.PasskeyTaken()
	}
	return s.dialect.failed("insert a passkey", result.Error)
}

func (s passkeys) Used(ctx context.Context, id domain.ID, signCount uint32, at time.Time) error {
	key, err := lookup(domain.PrefixPasskey, id)
	if err != nil {
		return err
	}
	const use = "UPDATE passkeys SET sign_count = ?, last_used_at = ? WHERE id = ? AND sign_count "
	grown, count := "< ?", int64(signCount)
	if count == 0 { // the device does not count its uses
		grown = "= ?"
	}
	return s.dialect.changed("keep the use of a passkey", s.with(ctx).Exec(use+grown, count, instantOf(at), key, count))
}

func (s passkeys) Rename(ctx context.Context, person, id domain.ID, name string) error {
	return s.change(ctx, person, id, "rename a passkey", "UPDATE passkeys SET name = ? WHERE ", name)
}

func (s passkeys) Remove(ctx context.Context, person, id domain.ID) error {
	return s.change(ctx, person, id, "remove a passkey", "DELETE FROM passkeys WHERE ")
}

func (s passkeys) change(ctx context.Context, person, id domain.ID, what, statement string, values ...any) error {
	key, err := lookup(domain.PrefixPasskey, id)
	if err != nil {
		return err
	}
	owner, err := lookup(domain.PrefixPerson, person)
	if err != nil {
		return err
	}
	return s.dialect.changed(what, s.with(ctx).Exec(statement+"id = ? AND person_id = ?", append(values, key, owner)...))
}

func (s passkeys) RemoveAll(ctx context.Context, person domain.ID) (int, error) {
	key, _ := lookup(domain.PrefixPerson, person)
	if key == "" {
		return 0, nil // no such person, so no passkeys
	}
	result := s.with(ctx).Exec("DELETE FROM passkeys WHERE person_id = ?", key)
	return int(result.RowsAffected), s.dialect.failed("remove passkeys", result.Error)
}

// ceremonies implements ports.CeremonyStore.
type ceremonies struct{ session }

func (s ceremonies) Insert(ctx context.Context, c domain.Ceremony) error {
	return s.dialect.inserted("passkey_ceremonies", "insert a challenge", ceremonyTable.insertInto(ctx, s.with(ctx), newCeremonyRow(c), "").Error)
}

func (s ceremonies) Take(ctx context.Context, id domain.ID) (domain.Ceremony, error) {
	key, err := lookup(domain.PrefixCeremony, id)
	if err != nil {
		return domain.Ceremony{}, err
	}
	var row ceremonyRow
	result := s.with(ctx).Raw("DELETE FROM passkey_ceremonies WHERE id = ? RETURNING "+ceremonyTable.list(), key).Scan(&row)
	if result.Error == nil && row.ID == "" {
		return domain.Ceremony{}, domain.ErrNotFound
	}
	if result.Error != nil {
		return domain.Ceremony{}, s.dialect.failed("take a challenge", result.Error)
	}
	return row.domain(), nil
}
