package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
)

// placesFilled is how many pickup locations the business has.
const placesFilled = 1000

// seed has the program book one delivery and make the pickup locations.
func (l *loggedBusiness) seed(ctx context.Context, s *server) error {
	c, err := dial(ctx, s.address, l.liveKey)
	if err != nil {
		return err
	}
	defer c.net.Close()
	if a, err := c.create(0, 0); err != nil || a.status != http.StatusCreated {
		return fmt.Errorf("a create was answered %d: %s: %w", a.status, a.body, err)
	}
	for n := range placesFilled {
		body, _ := json.Marshal(map[string]string{"name": fmt.Sprintf("Branch %d", n), "address": fmt.Sprintf("%d Ring Road", n)})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/v1/pickup-locations", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+l.liveKey)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", fmt.Sprintf("bench-place-%06d", n))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		told, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusCreated {
			return fmt.Errorf("a pickup location was answered %d: %s: %w", res.StatusCode, told, err)
		}
	}
	return nil
}

// book fills the tables of deliveries with more of the kind that was booked.
func (l *loggedBusiness) book(ctx context.Context, b *bench, address string) error {
	s, err := launch(ctx, b.binary, b.dir, "serve", settings(address))
	if err != nil {
		return err
	}
	if err := errors.Join(l.seed(ctx, s), s.stop()); err != nil {
		return err
	}
	f := filling{rows: l.booked, begun: time.Now().Add(-time.Duration(l.booked) * apart)}
	return b.on(ctx, address, func(db *pgx.Conn) error { return f.fill(ctx, db) })
}

// bookedPages are pages about deliveries and places.
func (l *loggedBusiness) bookedPages() []*portalPage {
	page := func(name, path string, within time.Duration) *portalPage {
		return &portalPage{name: name, path: func(int) string { return path }, within: within}
	}
	// Any of them, far from each other.
	one := func(n int) string { return fmt.Sprintf("filled-%d", n*7919%l.booked) }
	return []*portalPage{
		page("/deliveries", "/deliveries?environment=live&application="+l.app, listWithin),
		page("/deliveries, booked", "/deliveries?environment=live&status=booked&application="+l.app, listWithin),
		page("/deliveries, where none is", "/deliveries?environment=sandbox", listWithin),
		{name: "/search, to a delivery by its external_id", path: func(n int) string { return "/search?q=" + one(n) }, within: listWithin},
		page("/search, nothing", "/search?q=nobody-has-this", listWithin),
		page("/pickup-locations/live", "/pickup-locations/live", listWithin),
		page("/pickup-locations/live, a part of a name", "/pickup-locations/live?q=branch+77", listWithin),
	}
}
