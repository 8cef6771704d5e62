package main

import (
	"testing"
)

func TestEveryVariantEditsTheSourceThatThereIs(t *testing.T) {
	t.Parallel()
	root, err := sourceRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variants {
		if _, err := v.overlay(root, t.TempDir()); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
	}
}
