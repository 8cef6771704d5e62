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
	"time"

	"github.com/gin-gonic/gin"
)

// helloArgument makes this program a server that takes orders and answers each with
// as many bytes as a delivery has, and does nothing else: what HTTP costs any
// program on the same framework.
const helloArgument = "hello"

// helloSize names the variable with the size of its answers.
const helloSize = "BENCH_ANSWER_BYTES"

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

// greet starts that server, to be sent what others are sent.
func (b *bench) greet(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if b.hello, err = launch(ctx, self, b.dir, helloArgument,
		append(os.Environ(), fmt.Sprintf("%s=%d", helloSize, len(b.pgbench.answer)))); err != nil {
		return err
	}
	b.hello.load = &load{address: b.hello.address, keys: b.postgres.keys, connections: b.connections}
	return nil
}
