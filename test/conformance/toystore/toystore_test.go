package toystore_test

import (
	"testing"

	"waybill/ports"
	"waybill/test/conformance/storage"
	"waybill/test/conformance/toystore"
)

func TestTheToyConforms(t *testing.T) {
	storage.Examine(t, func(*testing.T) ports.Database { return toystore.New() })
}
