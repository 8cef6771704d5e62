package gormstore

import (
	"context"
	"encoding/json"

	"waybill/domain"
	"waybill/ports"
)

// keyUse is one element of the parameter of the dialect's keyUses.
type keyUse struct {
	ID string `json:"id"`
	At string `json:"at"`
}

// TouchAPIKeys runs one statement with one parameter for any number of keys.
func (s tenancy) TouchAPIKeys(ctx context.Context, uses []ports.KeyUse) error {
	used := make([]keyUse, 0, len(uses))
	for _, u := range uses {
		if id, err := lookup(domain.PrefixAPIKey, u.ID); err == nil {
			used = append(used, keyUse{ID: string(id), At: domain.FormatTime(u.At)})
		}
	}
	if len(used) == 0 {
		return nil
	}
	list, err := json.Marshal(used)
	if err != nil {
		return s.dialect.failed("list the used API keys", err)
	}
	err = s.with(ctx).Exec("UPDATE api_keys SET last_used_at = used.at FROM ("+s.dialect.keyUses+") AS used"+
		" WHERE api_keys.id = used.id AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < used.at)", string(list)).Error
	return s.dialect.failed("touch API keys", err)
}
