package opsapi

import (
	"context"
	"errors"

	"waybill/ports"
)

// NoneLeft tells of connections that some databases refuse where there are none left.
func NoneLeft(ctx context.Context, open []ports.Database) error {
	if err := Refused(ctx, open); errors.Is(err, ports.ErrStorageGone) {
		return err
	}
	return nil
}

// Refused tells of connections that some databases refuse.
func Refused(ctx context.Context, open []ports.Database) error {
	var failed []error
	for _, d := range open {
		failed = append(failed, d.Connections(ctx))
	}
	return errors.Join(failed...)
}
