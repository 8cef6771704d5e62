package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	// getSQL looks for one delivery, as the program does; a test holds it against
	// what Postgres gets. $a is the business, $b the application, $c the environment, $d the ID.
	//go:embed get.sql
	getSQL string
	//go:embed shelf.sql
	shelfSQL string
)

// shelfID is the ID of a delivery on the shelf but for its last digits, which
// are its number; the zeros of a number must not be in it.
const shelfID = "01911111-1111-7111-8111-11111" // and numberDigits more

// Names of parameters that pgbench is given.
const (
	environmentParameter = ":environment"
	oneParameter         = ":one" // an array of the number 0
)

// shelve puts deliveries where they are read, as many for each application.
func (b *bench) shelve(ctx context.Context) error {
	apps := len(b.postgres.applications)
	b.shelved = b.shelf / apps * apps
	return b.on(ctx, b.onHTTP, func(db *pgx.Conn) error {
		tag, err := db.Exec(ctx, shelfSQL, b.postgres.applications, b.shelved)
		if err == nil && (tag.RowsAffected() != int64(b.shelved) || b.shelved == 0) {
			err = fmt.Errorf("%d deliveries, asked for were %d for %d applications", tag.RowsAffected(), b.shelf, apps)
		}
		if err != nil {
			return fmt.Errorf("make deliveries to be read: %w", err)
		}
		return nil
	})
}

// readScript is what pgbench reads of one application, which is $k of $apps; ask
// makes the statement.
func (b *bench) readScript(k int, ask func(business, application, environment, id string) string) string {
	return fmt.Sprintf("\\set n 111110000000 + random(0, %d) * %d + %d\n%s;\n", b.shelved/len(b.postgres.applications)-1,
		len(b.postgres.applications), k,
		ask("'"+b.postgres.business+"'::uuid", "'"+b.postgres.applications[k]+"'::uuid", environmentParameter+"::text",
			"('01911111-1111-7111-8111-' || :n::text)::uuid"))
}

// askForOne is the look for one row by its ID, the least that a read can cost.
func askForOne(business, application, environment, id string) string {
	return strings.NewReplacer("$a", business, "$b", application, "$c", environment, "$d", id).Replace(strings.TrimSpace(getSQL))
}

// readByPgbench reads random ones of all applications.
func (b *bench) readByPgbench(ctx context.Context, round int) (measurement, error) {
	scripts := make([]string, len(b.postgres.applications))
	for k := range scripts {
		scripts[k] = b.readScript(k, askForOne)
	}
	return b.pgbench.run(ctx, b.onHTTP, scripts, b.duration, round)
}

// read gets random ones over HTTP.
func (b *bench) read(ctx context.Context, s *server, duration time.Duration) (measurement, error) {
	apps := len(b.postgres.applications)
	prefix := "dlv_" + strings.ReplaceAll(shelfID, "-", "")
	return s.load.drive(ctx, duration, work{
		request: func(address, key string) []byte {
			return getRequest(address, key, "/v1/deliveries/"+prefix+placeholder)
		},
		// Connections have the keys in turn, and so the applications.
		next:     func(conn int) int { return rand.IntN(b.shelved/apps)*apps + conn%apps },
		send:     (*conn).ask,
		expected: func(a answer) bool { return a.status == http.StatusOK && bytes.Contains(a.body, []byte(prefix)) },
	})
}
