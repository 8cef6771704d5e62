package e2e

import (
	"bytes"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestARestartKeepsDataAndKeys(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{sqlite, postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := start(t, dialect)
			c := s.newClient(t, sandbox, s.Vars["WAYBILL_TEST_KEY"])
			key, order := newKeyText(), anOrder()
			order["pickup_location_id"] = s.Vars["WAYBILL_PICKUP_ID"]
			delete(order, "pickup")
			booked := c.post("/deliveries", order, idem(key)).is(201)
			c.post("/deliveries", anOrder()).is(201)
			cursor := c.get("/deliveries?limit=1").is(200).text("meta.next_cursor")
			for _, file := range []string{"dev.env", "secrets.env"} {
				info, err := os.Stat(filepath.Join(s.dir, file))
				if err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v %v, want mode 0600", file, info, err)
				}
			}
			before := maps.Clone(s.Vars)
			for _, end := range []func(testing.TB){s.terminate, s.kill} {
				end(t)
				s.connections.CloseIdleConnections()
				s.launch(t)
				for _, name := range []string{"WAYBILL_LIVE_KEY", "WAYBILL_TEST_KEY", "WAYBILL_BUSINESS_ID", "WAYBILL_APP_ID", "WAYBILL_PICKUP_ID",
					"WAYBILL_PICKUP_INACTIVE_ID", "WAYBILL_PICKUP_INCOMPLETE_ID", "WAYBILL_LIVE_PICKUP_ID"} {
					if before[name] == "" || s.Vars[name] != before[name] {
						t.Errorf("%s is %q after the restart, was %q", name, s.Vars[name], before[name])
					}
				}
				if a := c.post("/deliveries", order, idem(key)).is(201).replayed(true); !bytes.Equal(a.body, booked.body) {
					t.Errorf("after the restart the replay is %s, was %s", a.body, booked.body)
				}
				if n := len(c.get("/deliveries" + escaped("cursor", cursor)).is(200).ids()); n != 1 {
					t.Errorf("the cursor of before leads to %d deliveries, want 1", n)
				}
			}
			c.post("/deliveries", anOrder(drop("pickup"), set("pickup_location_id", before["WAYBILL_PICKUP_INACTIVE_ID"]))).
				refused(422, "PICKUP_LOCATION_INACTIVE")
			c.post("/deliveries", anOrder(drop("pickup"), set("pickup_location_id", before["WAYBILL_PICKUP_INCOMPLETE_ID"]))).
				refused(422, "PICKUP_LOCATION_INCOMPLETE")
			s.newClient(t, live, before["WAYBILL_LIVE_KEY"]).
				post("/deliveries", anOrder(drop("pickup"), set("pickup_location_id", before["WAYBILL_LIVE_PICKUP_ID"]))).is(201)
		})
	}
}

// Requests that wait for their price when the server is told to stop are
// answered, though no new request is admitted.
func TestAServerThatStopsFinishesWhatItBegan(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{sqlite, postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			const requests = 8
			asked, tell := make(chan struct{}, requests), make(chan struct{})
			prices := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				select {
				case <-tell:
				case <-time.After(time.Second): // on a busy machine, before the price is too late
				}
				_, _ = io.WriteString(w, `{"currency":"GHS","fee":5,"distance_km":1,"distance_source":"road","requires_custom_quote":false}`)
			}))
			t.Cleanup(prices.Close)
			s := start(t, dialect, "WAYBILL_PRICING_URL="+prices.URL)
			c := s.loner(t, live)
			// A request that cannot be sent again must not be, unseen by us.
			once := func(r *http.Request) { r.GetBody = nil }
			var wg sync.WaitGroup
			for range requests {
				wg.Go(func() {
					a, err := c.try("POST", "/deliveries", anOrder(), idem(newKeyText()), once)
					if err != nil {
						t.Errorf("a request under way was cut off: %v", err)
					} else if a.status != 201 {
						t.Errorf("a request under way was answered %d %s", a.status, a.body)
					}
				})
			}
			for range requests {
				<-asked
			}
			_ = s.Terminate() // fails only where it has ended
			eventually(t, "nobody listens", func() bool {
				conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.base(live), "http://"), "/v1"))
				return err != nil || conn.Close() != nil
			})
			close(tell)
			wg.Wait()
		})
	}
}
