// Command dex runs a Dex, an OpenID Connect provider, for tests: its own server with
// storage in memory and the accounts of a list. It is a module of its own, so that
// nothing of Dex is in the module of Waybill; `go build -C .tools/dex` makes it.
//
// The list comes by standard input, as JSON. The provider answers on 127.0.0.1 at the
// port of its issuer and ends with its standard input. POST /rotate-keys gives it a new
// signing key.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/connectors"
	"github.com/dexidp/dex/server/session"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/server/tokens"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
)

// list is what the provider knows.
type list struct {
	Issuer  string
	Clients []struct {
		ID, Secret   string
		RedirectURIs []string
	}
	Accounts []struct {
		ID, Email, Name string
		Hash            string // bcrypt
		Verified        bool   // the address
		Groups          []string
	}
	// Sessions: an account that has signed in stays so, and the provider tells when
	// that was.
	Sessions bool
}

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := serve(log); err != nil {
		log.Error("dex", "error", err)
		os.Exit(1)
	}
}

func serve(log *slog.Logger) error {
	input := json.NewDecoder(os.Stdin)
	var l list
	if err := input.Decode(&l); err != nil {
		return err
	}
	issuer, err := url.Parse(l.Issuer)
	if err != nil {
		return err
	}
	kept := memory.New(log)
	keys := func(ctx context.Context) (signer.Signer, error) {
		return (&signer.LocalConfig{KeysRotationPeriod: "6h"}).Open(ctx, kept, time.Hour, time.Now, log)
	}
	ctx := context.Background()
	signing, err := keys(ctx)
	if err != nil {
		return err
	}
	refreshing, err := tokens.NewRefreshTokenPolicy(log, false, "", "", "")
	if err != nil {
		return err
	}
	config := server.Config{
		Issuer: l.Issuer, Storage: known(kept, l, log), Logger: log, Signer: signing, RefreshTokenPolicy: refreshing,
		IDTokensValidFor: time.Hour,
	}
	if l.Sessions {
		config.SessionConfig = &session.Config{CookieName: "dex_session", AbsoluteLifetime: 24 * time.Hour, ValidIfNotUsedFor: time.Hour,
			RememberMeCheckedByDefault: true}
	}
	dex, err := server.NewServer(ctx, config)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", dex)
	mux.HandleFunc("POST /rotate-keys", func(w http.ResponseWriter, r *http.Request) {
		err := kept.UpdateKeys(r.Context(), func(old storage.Keys) (storage.Keys, error) {
			old.NextRotation = time.Time{}
			return old, nil
		})
		if err == nil {
			var next signer.Signer
			if next, err = keys(ctx); err == nil {
				done, cancel := context.WithCancel(ctx)
				next.Start(done) // rotates once before it returns
				cancel()
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	go func() {
		_, _ = io.Copy(io.Discard, io.MultiReader(input.Buffered(), os.Stdin))
		os.Exit(0)
	}()
	return (&http.Server{Addr: "127.0.0.1:" + issuer.Port(), Handler: mux, ReadHeaderTimeout: 10 * time.Second}).ListenAndServe()
}

// known puts the clients and accounts of the list over a storage.
func known(s storage.Storage, l list, log *slog.Logger) storage.Storage {
	var clients []storage.Client
	for _, c := range l.Clients {
		clients = append(clients, storage.Client{ID: c.ID, Secret: c.Secret, Name: c.ID, RedirectURIs: c.RedirectURIs})
	}
	var passwords []storage.Password
	for _, a := range l.Accounts {
		passwords = append(passwords, storage.Password{Email: a.Email, Username: a.Name, Name: a.Name, UserID: a.ID, Hash: []byte(a.Hash),
			EmailVerified: &a.Verified, Groups: a.Groups})
	}
	s = storage.WithStaticPasswords(storage.WithStaticClients(s, clients), passwords, log)
	return storage.WithStaticConnectors(s, []storage.Connector{{ID: connectors.LocalConnector, Name: "E-mail", Type: connectors.LocalConnector}})
}
