package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"waybill/test/backend"
)

// priceService is `waybill pricing serve` in a process of its own.
type priceService struct {
	address string
	cmd     *exec.Cmd
}

func startPricing(t testing.TB, address string) *priceService {
	t.Helper()
	p := &priceService{address: address, cmd: exec.Command(binary, "pricing", "serve", "--addr", address)}
	p.cmd.Env = environment()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill() })
	eventually(t, "the pricing service listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return p
}

func (p *priceService) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// freeAddress is one that the system gives to no other process by chance, so that
// it is free again later.
func freeAddress(t testing.TB) string {
	t.Helper()
	port, err := backend.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

func TestAPricingServiceOfItsOwn(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	service := startPricing(t, address)
	s := start(t, sqlite, "WAYBILL_PRICING_URL=http://"+address)
	c := s.loner(t, sandbox)
	c.send("POST", "/quotes", aTrip()).is(200).has("data.fee", "19", "data.distance_km", "3.52", "data.currency", "GHS")
	c.post("/deliveries", anOrder()).is(201).has("data.delivery_fee", "19")
	c.send("POST", "/quotes", aTrip(set("vehicle_type", "truck"))).is(200).has("data.requires_custom_quote", "true").lacks("data.fee")

	service.kill()
	key, order := newKeyText(), anOrder(set("external_id", newExternalID()))
	unavailable(t, func() *answer { return c.send("POST", "/quotes", aTrip()) })
	unavailable(t, func() *answer { return c.post("/deliveries", order, idem(key)) })
	if n := len(c.get("/deliveries").ids()); n != 1 {
		t.Errorf("a create without a price left %d deliveries, want the 1 before", n)
	}
	c.get("/recipients" + escaped("phone_number", order["recipient"].(m)["phone_number"].(string))).is(200).lacks("data.0")

	// The key is free again, also for another body.
	startPricing(t, address)
	order["vehicle_type"] = "car"
	var booked *answer
	eventually(t, "prices are back", func() bool {
		booked = c.post("/deliveries", order, idem(key))
		return booked.status != http.StatusServiceUnavailable
	})
	booked.is(201).replayed(false).has("data.delivery_fee", "27.5")
}

// unavailable checks a 503 and that it came soon.
func unavailable(t testing.TB, ask func() *answer) {
	t.Helper()
	begun := time.Now()
	a := ask().refused(503, "QUOTE_UNAVAILABLE")
	// A moment more for the test itself, on a busy machine.
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("%s took %s to say that there is no price", a.what, took)
	}
	a.number(t, "Retry-After")
	a.lacks("error.details")
}

// Nothing that a pricing service can answer makes us invent a price.
func TestAWrongPriceIsNoPrice(t *testing.T) {
	t.Parallel()
	var answerWith atomic.Pointer[http.HandlerFunc]
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*answerWith.Load())(w, r) }))
	defer service.Close()
	s := start(t, sqlite, "WAYBILL_PRICING_URL="+service.URL)
	c := s.loner(t, live)

	says := func(status int, body string) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
		answerWith.Store(&h)
	}
	price := func(more string) string {
		return `{"currency":"GHS","distance_km":5.3,"distance_source":"road","requires_custom_quote":false` + more + `}`
	}
	works := func(body, fee string) {
		t.Helper()
		says(200, body)
		eventually(t, "the price "+body+" is taken", func() bool { // the breaker may have to close first
			a := c.send("POST", "/quotes", aTrip())
			return a.status == 200 && a.text("data.fee") == fee
		})
	}
	works(price(`,"fee":24.5`), "24.5")
	works(price(`,"fee":0`), "0")
	c.send("POST", "/quotes", aTrip()).is(200).has("data.distance_source", "road", "data.distance_km", "5.3")
	for what, body := range map[string]string{
		"negative": price(`,"fee":-1`), "three decimals": price(`,"fee":1.001`), "a text": price(`,"fee":"5"`), "NaN": price(`,"fee":NaN`),
		"no fee": price(``), "another currency": strings.Replace(price(`,"fee":5`), "GHS", "USD", 1), "not JSON": "<html>",
		"too long": price(`,"fee":5,"pad":"` + long(65<<10) + `"`), "a fee beside a custom quote": strings.Replace(price(`,"fee":5`), "false",
			"true", 1),
		"no distance": strings.Replace(price(`,"fee":5`), `"distance_km":5.3,`, "", 1), "empty": "", "enormous": price(`,"fee":1e300`),
	} {
		t.Log(what)
		says(200, body)
		unavailable(t, func() *answer { return c.send("POST", "/quotes", aTrip()) })
		unavailable(t, func() *answer { return c.post("/deliveries", anOrder()) })
	}
	for _, status := range []int{201, 204, 302, 400, 404, 500, 503} {
		says(status, map[bool]string{true: "", false: price(`,"fee":5`)}[status == 204])
		unavailable(t, func() *answer { return c.send("POST", "/quotes", aTrip()) })
	}
	works(price(`,"fee":7`), "7")
	says(422, `{"code":"OUTSIDE_SERVICE_AREA","field":"dropoff"}`)
	c.send("POST", "/quotes", aTrip()).invalid("dropoff out_of_range")
	c.post("/deliveries", anOrder()).refused(422, "VALIDATION_ERROR")

	// A service that hangs costs no more than the time agreed, and a client
	// that leaves meanwhile leaves nothing behind.
	works(price(`,"fee":8`), "8")
	hung := make(chan struct{})
	hang := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-hung:
		case <-r.Context().Done():
		}
	})
	answerWith.Store(&hang)
	unavailable(t, func() *answer { return c.send("POST", "/quotes", aTrip()) })
	key, order := newKeyText(), anOrder()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if a, err := c.try("POST", "/deliveries", order, idem(key), within(ctx)); err == nil {
		t.Errorf("a client that hung up was answered %d", a.status)
	}
	close(hung)
	works(price(`,"fee":9`), "9")
	eventually(t, "the retry is answered", func() bool {
		a := c.post("/deliveries", order, idem(key))
		return a.status == 201 && a.text("data.delivery_fee") == "9"
	})
	if n := len(c.get("/deliveries").ids()); n != 1 {
		t.Errorf("there are %d deliveries, want 1", n)
	}
}

func TestThePricingServiceStopsCleanly(t *testing.T) {
	t.Parallel()
	p := startPricing(t, freeAddress(t))
	res, err := http.Post("http://"+p.address+"/prices", "application/json", strings.NewReader(fmt.Sprintf(
		`{"environment":"live","vehicle_type":"bike","currency":"GHS","pickup":{"latitude":%v,"longitude":%v},"dropoff":{"latitude":51.5,"longitude":0}}`,
		hereLatitude, hereLongitude)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	answered, _ := parse(body).(m)
	if err != nil || res.StatusCode != 422 || answered["code"] != "OUTSIDE_SERVICE_AREA" || answered["field"] != "dropoff" {
		t.Errorf("a place outside was answered %d %s %v", res.StatusCode, body, err)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
