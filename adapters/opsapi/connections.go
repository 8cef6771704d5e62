package opsapi

import (
	"context"
	"errors"

	"waybill/ports"
)

// NoneLeft reports connections that a database refuses because none are left.
func NoneLeft(ctx context.Context, open []ports.Database) error {
	if err := Refused(ctx, open); errors.Is(err, ports.ErrStorageGone) {
		return err
	}
	return nil
}

// Refused reports connections that a database refuses.
func Refused(ctx context.Context, open []ports.Database) error {
	var failed []error
	for _, d := range open {
		failed = append(failed, d.Connections(ctx))
	}
	return errors.Join(failed...)
}
