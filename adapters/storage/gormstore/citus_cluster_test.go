package gormstore_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"os"
	"strings"
	"testing"

	"waybill/test/backend"
)

// emptyOnAllNodes makes an empty database on the coordinator and on each worker, which do
// not know of each other yet.
func emptyOnAllNodes(t *testing.T) (databases []string) {
	t.Helper()
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	name := "waybill_plain_" + hex.EncodeToString(random[:])
	for _, server := range append([]string{os.Getenv(backend.PostgresURLEnv)}, strings.Fields(os.Getenv(backend.CitusWorkersEnv))...) {
		admin := connect(t, server)
		do(t, admin, "CREATE DATABASE "+name)
		t.Cleanup(func() {
			if _, err := admin.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
				t.Error(err)
			}
		})
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/" + name
		databases = append(databases, u.String())
	}
	return databases
}

func form(t *testing.T, databases []string) {
	t.Helper()
	if err := backend.FormCitus(t.Context(), databases); err != nil {
		t.Fatal(err)
	}
}
