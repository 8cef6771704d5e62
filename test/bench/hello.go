package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/jackc/pgx/v5/pgxpool"

	"waybill/domain"
)

// helloArgument makes this program a server that takes orders and answers each with
// as many bytes as a delivery has, and does nothing else: what HTTP costs any
// program on the same framework. A delivery it reads by its ID, one statement a request, and
// answers with the row as it comes from the driver: it checks nothing, counts nothing, logs
// nothing and writes no JSON.
const helloArgument = "hello"

// Variables of that server.
const (
	helloSize     = "BENCH_ANSWER_BYTES"
	helloDatabase = "BENCH_DATABASE_URL"
	helloTenants  = "BENCH_TENANTS" // in JSON: business and application of each API key
)

// helloConnections are as many as pgbench has.
const helloConnections = 16

func hello(ctx context.Context) error {
	size, err := strconv.Atoi(os.Getenv(helloSize))
	if err != nil {
		return fmt.Errorf("%s: %w", helloSize, err)
	}
	answer := bytes.Repeat([]byte("x"), size)
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.POST("/v1/deliveries", func(c *gin.Context) {
		if _, err := io.Copy(io.Discard, c.Request.Body); err != nil {
			c.Status(http.StatusBadRequest)
			return
		}
		c.Data(http.StatusCreated, "application/json; charset=utf-8", answer)
	})
	if err := helloReads(ctx, router, size); err != nil {
		return err
	}
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

func helloReads(ctx context.Context, router *gin.Engine, size int) error {
	var tenants map[string][2]string
	if err := json.Unmarshal([]byte(os.Getenv(helloTenants)), &tenants); err != nil {
		return fmt.Errorf("%s: %w", helloTenants, err)
	}
	config, err := pgxpool.ParseConfig(os.Getenv(helloDatabase))
	if err != nil {
		return fmt.Errorf("%s: %w", helloDatabase, err)
	}
	config.MaxConns = helloConnections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	one := askForOne("$1::uuid", "$2::uuid", "$3::text", "$4::uuid")
	router.GET("/v1/deliveries/:id", func(c *gin.Context) {
		id := c.Param("id")
		tenant := tenants[strings.TrimPrefix(c.GetHeader("Authorization"), "Bearer ")]
		rows, err := pool.Query(c, one, tenant[0], tenant[1], "live", strings.TrimPrefix(id, string(domain.PrefixDelivery)))
		if err != nil {
			c.Status(http.StatusInternalServerError)
			return
		}
		defer rows.Close()
		if !rows.Next() {
			c.Status(http.StatusNotFound)
			return
		}
		answer := append(make([]byte, 0, size), id...)
		for _, value := range rows.RawValues() {
			answer = append(answer, value...)
		}
		c.Data(http.StatusOK, "application/json; charset=utf-8", answer)
	})
	return nil
}

// greet starts that server, to be sent what others are sent.
func (b *bench) greet(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	tenants := map[string][2]string{}
	for i, key := range b.postgres.keys {
		tenants[key] = [2]string{b.postgres.business, b.postgres.applications[i]}
	}
	told, err := json.Marshal(tenants)
	if err != nil {
		return err
	}
	if b.hello, err = launch(ctx, self, b.dir, helloArgument, append(os.Environ(), fmt.Sprintf("%s=%d", helloSize, len(b.pgbench.answer)),
		helloDatabase+"="+b.onHTTP, fmt.Sprintf("%s=%s", helloTenants, told))); err != nil {
		return err
	}
	b.hello.load = &load{address: b.hello.address, keys: b.postgres.keys, connections: b.connections}
	return nil
}
