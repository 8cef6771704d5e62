package main

import (
	"testing"

	"waybill/test/overlay"
)

func TestEveryVariantEditsTheSourceThatThereIs(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		if err := overlay.Compile(t.Context(), t.TempDir(), v.overlay(), "./adapters/storage/gormstore"); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
	}
}
