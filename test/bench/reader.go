package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"waybill/domain"
)

var (
	// getSQL looks for one delivery, as the program does.
	//go:embed get.sql
	getSQL string
	//go:embed shelf.sql
	shelfSQL string
)

// readerArgument makes this program G: a server on the same framework that reads a delivery by
// its ID, one statement a request, and answers with the row as it comes from the driver. It
// checks nothing, counts nothing, logs nothing and writes no JSON.
const readerArgument = "reader"

// Variables of that server.
const (
	readerDatabase = "BENCH_DATABASE_URL"
	readerTenants  = "BENCH_TENANTS" // in JSON: business and application of each API key
)

// answerBytes is room for a row.
const answerBytes = 1024

func serveReads(ctx context.Context, _ []string) error {
	var tenants map[string][2]string
	if err := json.Unmarshal([]byte(os.Getenv(readerTenants)), &tenants); err != nil {
		return fmt.Errorf("%s: %w", readerTenants, err)
	}
	config, err := pgxpool.ParseConfig(os.Getenv(readerDatabase))
	if err != nil {
		return fmt.Errorf("%s: %w", readerDatabase, err)
	}
	config.MaxConns = pgbenchClients
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/v1/deliveries/:id", func(c *gin.Context) {
		id := c.Param("id")
		tenant := tenants[strings.TrimPrefix(c.GetHeader("Authorization"), "Bearer ")]
		rows, err := pool.Query(c, getSQL, tenant[0], tenant[1], "live", strings.TrimPrefix(id, string(domain.PrefixDelivery)))
		if err != nil {
			c.Status(http.StatusInternalServerError)
			return
		}
		defer rows.Close()
		if !rows.Next() {
			c.Status(http.StatusNotFound)
			return
		}
		answer := append(make([]byte, 0, answerBytes), id...)
		for _, value := range rows.RawValues() {
			answer = append(answer, value...)
		}
		c.Data(http.StatusOK, "application/json; charset=utf-8", answer)
	})
	router.GET("/readyz", func(c *gin.Context) { c.Status(http.StatusOK) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	here := "http://" + l.Addr().String()
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"live_url": here, "sandbox_url": here, "ops_url": here}); err != nil {
		return err
	}
	server := &http.Server{Handler: router, ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// startReader starts that server, for customers in a database.
func startReader(dir, database string, c customers) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	tenants := map[string][2]string{}
	for i, key := range c.keys {
		tenants[key] = [2]string{c.business, c.applications[i]}
	}
	encoded, err := json.Marshal(tenants)
	if err != nil {
		return nil, err
	}
	s, err := launch(self, dir, readerArgument, []string{readerDatabase + "=" + database, readerTenants + "=" + string(encoded)})
	if s != nil {
		s.customers = c
	}
	return s, err
}

// shelfID is the ID of a delivery on the shelf but for its last digits, which
// are its number; the zeros of a number must not be in it.
const shelfID = "01911111-1111-7111-8111-11111" // and numberDigits more

// shelve puts deliveries where they are read, as many for each application.
func (c *creates) shelve(ctx context.Context) error {
	apps := len(c.postgres.applications)
	c.shelved = c.shelved / apps * apps
	return c.on(ctx, c.onHTTP, func(db *pgx.Conn) error {
		tag, err := db.Exec(ctx, shelfSQL, c.postgres.applications, c.shelved)
		if err == nil && (tag.RowsAffected() != int64(c.shelved) || c.shelved == 0) {
			err = fmt.Errorf("%d deliveries, asked for were %d for %d applications", tag.RowsAffected(), c.shelved, apps)
		}
		if err != nil {
			return fmt.Errorf("make deliveries to be read: %w", err)
		}
		return nil
	})
}

// read gets random ones over HTTP.
func (c *creates) read(ctx context.Context, s *server, duration time.Duration) (measurement, error) {
	apps := len(s.applications)
	prefix := "dlv_" + strings.ReplaceAll(shelfID, "-", "")
	return c.load(s).drive(ctx, duration, work{
		request: func(address, key string) []byte {
			return getRequest(address, key, "/v1/deliveries/"+prefix+placeholder)
		},
		// Connections have the keys in turn, and so the applications.
		next:     func(conn int) int { return rand.IntN(c.shelved/apps)*apps + conn%apps },
		send:     (*conn).create,
		expected: func(a answer) bool { return a.status == http.StatusOK && bytes.Contains(a.body, []byte(prefix)) },
	})
}
