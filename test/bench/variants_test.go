package main

import (
	"testing"

	"waybill/test/overlay"
)

func TestEveryVariantEditsTheSourceThatThereIs(t *testing.T) {
	t.Parallel()
	root, err := overlay.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variants {
		if _, err := overlay.Write(root, t.TempDir(), v.overlay()); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
	}
}
