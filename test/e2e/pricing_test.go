package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"waybill/test/backend"
	"waybill/test/program"
)

// priceService is `waybill pricing serve` in a process of its own.
type priceService struct {
	address string
	cmd     *exec.Cmd
}

func startPricing(t testing.TB, address string) *priceService {
	t.Helper()
	p := &priceService{address: address, cmd: exec.Command(binary, "pricing", "serve", "--addr", address)}
	p.cmd.Env = program.Environment()
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
