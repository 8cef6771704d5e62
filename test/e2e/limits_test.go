package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// limited runs a test on each database with low limits.
func limited(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	t.Parallel()
	for _, dialect := range []string{sqlite, postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			test(t, shared(t, dialect, "WAYBILL_RATE_LIMIT_PER_KEY=6/3s", "WAYBILL_RATE_LIMIT_PER_BUSINESS=10/3s"))
		})
	}
}

func (a *answer) number(t testing.TB, header string) int {
	t.Helper()
	n, err := strconv.Atoi(a.header.Get(header))
	if err != nil {
		t.Fatalf("%s: %s is %q", a.what, header, a.header.Get(header))
	}
	return n
}

// spend calls until the first 429 and returns it with the number of calls before.
func spend(t testing.TB, c *client, most int) (admitted int, refusal *answer) {
	t.Helper()
	for admitted = 0; admitted <= most; admitted++ {
		a := c.get("/api-key")
		if a.status == http.StatusTooManyRequests {
			return admitted, a.refused(429, "RATE_LIMIT_EXCEEDED")
		}
		a.is(200)
	}
	t.Fatalf("after %d requests there is no limit", most)
	return 0, nil
}

// obey waits as long as an answer says.
func obey(t testing.TB, a *answer) {
	t.Helper()
	wait := a.number(t, "Retry-After")
	if wait < 1 || wait > 60 {
		t.Fatalf("Retry-After is %d", wait)
	}
	<-time.After(time.Duration(wait) * time.Second)
}

func TestRequestsAreLimitedPerKeyAndPerBusiness(t *testing.T) {
	limited(t, func(t *testing.T, s *server) {
		t.Run("per key", func(t *testing.T) {
			t.Parallel()
			business := s.newLimitedBusiness(t, 1000, 60)
			c := s.appCaller(t, business, sandbox)
			first := c.get("/api-key").is(200).has("data.limits.per_key.limit", "6", "data.limits.per_key.window_seconds", "3")
			if l, r := first.number(t, "RateLimit-Limit"), first.number(t, "RateLimit-Remaining"); l != 6 || r != 5 {
				t.Errorf("after one request the limit is %d and %d remain, want 6 and 5", l, r)
			}
			begun := time.Now()
			n, refusal := spend(t, c, 200)
			if most := 6 + int(time.Since(begun).Seconds()*6/3); n < 5 || n > most { // as time goes by places come back
				t.Errorf("%d more were admitted, want 5 to %d", n, most)
			}
			refusal.has("error.details.scope", "key", "error.details.limit", "6", "error.details.window_seconds", "3")
			if refusal.number(t, "RateLimit-Remaining") != 0 {
				t.Error("something remains after a 429")
			}
			// Another key of the business is another matter.
			c.in(sandbox).get("/api-key").is(200)
			obey(t, refusal)
			c.get("/api-key").is(200)
		})
		t.Run("per business", func(t *testing.T) {
			t.Parallel()
			business := s.newLimitedBusiness(t, 4, 3)
			c := s.appCaller(t, business, live)
			begun := time.Now()
			n, refusal := spend(t, c, 200)
			if most := 5 + int(time.Since(begun).Seconds()*4/3); n < 4 || n > most {
				t.Errorf("%d were admitted, want 4 to %d", n, most)
			}
			refusal.has("error.details.scope", "business", "error.details.limit", "4")
			// It counts for all applications of the business in the environment.
			other := s.appCaller(t, business, live)
			spend(t, other, 200)
			s.appCaller(t, business, sandbox).get("/api-key").is(200)
			obey(t, refusal)
			c.get("/api-key").is(200)
		})
		t.Run("a bulk counts once", func(t *testing.T) {
			t.Parallel()
			c := s.loner(t, sandbox)
			// Six in three seconds would be few for a hundred deliveries.
			a := c.post("/deliveries/bulk", aBulk(manyOrders(100)...)).outcomes(times("created", 100)...)
			if l, r := a.number(t, "RateLimit-Limit"), a.number(t, "RateLimit-Remaining"); l != 6 || r != 5 {
				t.Errorf("after a bulk the limit is %d and %d remain, want 6 and 5", l, r)
			}
			for range 4 {
				c.get("/api-key").is(200)
			}
		})
		t.Run("the setting for businesses", func(t *testing.T) {
			t.Parallel()
			business := s.admin(t).post("/businesses", m{"name": "Plain"}).is(201).id()
			s.appCaller(t, business, live).get("/api-key").is(200).
				has("data.limits.per_business.limit", "10", "data.limits.per_business.window_seconds", "3")
		})
	})
}

func TestA304IsNotCounted(t *testing.T) {
	limited(t, func(t *testing.T, s *server) {
		c := s.loner(t, sandbox)
		id := c.post("/deliveries", anOrder()).is(201).id()
		tag := c.get("/deliveries/" + id).is(200).header.Get("ETag")
		for range 30 {
			c.get("/deliveries/"+id, with("If-None-Match", tag)).is(304)
		}
		c.get("/deliveries/" + id).is(200)
	})
}

// What a client was not given for this very record is counted, whatever comes of it.
func TestOnlyATagThatWasGivenOutForTheRecordGoesFree(t *testing.T) {
	limited(t, func(t *testing.T, s *server) {
		body := anOrder()
		c := s.loner(t, sandbox)
		id, other := c.post("/deliveries", body).is(201).id(), c.post("/deliveries", anOrder()).is(201).id()
		foreign := c.get("/deliveries/" + other).is(200).header.Get("ETag")
		for _, sent := range []string{"*", "W/*", foreign, `"000000000000000000000000"`, `*, "x"`} {
			who, counted := c.in(sandbox), false // another key of the application
			for range 40 {                       // fewer than what goes free
				if who.get("/deliveries/"+id, with("If-None-Match", sent)).status == http.StatusTooManyRequests {
					counted = true
					break
				}
			}
			if !counted {
				t.Errorf("If-None-Match: %s goes free", sent)
			}
		}
	})
}

func TestWhatIsRefusedOrUnknownStillCountsForAKey(t *testing.T) {
	limited(t, func(t *testing.T, s *server) {
		c := s.loner(t, sandbox)
		refused := 0
		for range 40 {
			a := c.post("/deliveries", m{})
			if a.status == http.StatusTooManyRequests {
				refused++
				break
			}
			a.refused(422, "VALIDATION_ERROR")
		}
		if refused == 0 {
			t.Error("requests that fail are not counted")
		}
		// Addresses that do not exist, and the description, are answered without counting.
		c.get("/nothing").refused(404, "NOT_FOUND")
		c.get("/openapi.json").is(200)
	})
}

func TestFailedAuthenticationIsLimitedPerAddress(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		good := s.caller(t, sandbox)
		anonymous := good.withKey("")
		anonymous.address = newAddress()
		begun := time.Now()
		for i := range 60 {
			a := anonymous.get("/api-key").refused(401, "INVALID_API_KEY")
			l, r := a.number(t, "RateLimit-Limit"), a.number(t, "RateLimit-Remaining")
			if back := 1 + int(time.Since(begun).Seconds()); l != 60 || r < 59-i || r > 60-i+back { // one a second comes back
				t.Fatalf("failure %d: limit %d, remaining %d", i+1, l, r)
			}
		}
		var refusal *answer
		eventually(t, "a failure is one too many", func() bool {
			refusal = anonymous.get("/api-key")
			return refusal.status != http.StatusUnauthorized
		})
		refusal.refused(429, "RATE_LIMIT_EXCEEDED").has("error.details.scope", "address", "error.details.limit", "60",
			"error.details.window_seconds", "60")
		// Failures fade over the window behind them, so that it may be a second longer.
		if wait := refusal.number(t, "Retry-After"); wait < 1 || wait > 62 {
			t.Errorf("Retry-After is %d", wait)
		}
		// A key that exists is served, though it is new here, and told what is wrong with it ...
		fresh := anonymous.withKey(s.newKey(t, good.app, sandbox, "all").secret)
		fresh.get("/api-key").is(200)
		fresh.in(live).withKey(fresh.key).get("/api-key").refused(401, "ENVIRONMENT_MISMATCH")
		// ... as is one that has worked lately, and other addresses are free.
		good.get("/api-key").is(200)
		known := anonymous.withKey(good.key)
		known.get("/api-key").is(200)
		elsewhere := anonymous.withKey("")
		elsewhere.address = newAddress()
		elsewhere.get("/api-key").refused(401, "INVALID_API_KEY")
	})
}

func TestAHeaderFromAnUntrustedProxySetsNoAddress(t *testing.T) {
	t.Parallel()
	s := shared(t, sqlite, strict...)
	c := s.newClient(t, live, "")
	for range 70 {
		c.address = newAddress()
		if c.get("/api-key").status == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("X-Forwarded-For of an unknown proxy was believed")
}

func TestAnApplicationHasAtMostFiftyRequestsInFlight(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.loner(t, sandbox)
		// Bodies that never come to an end keep requests in flight. There are more of
		// them than places, as one that comes beside a look below may be refused.
		var wg sync.WaitGroup
		defer wg.Wait()
		release := make(chan struct{})
		defer close(release)
		for range 60 {
			wg.Go(func() { c.hang(release) })
		}
		var refusal *answer
		eventually(t, "the 51st request is refused", func() bool {
			refusal = c.get("/api-key")
			return refusal.status == http.StatusTooManyRequests
		})
		refusal.refused(429, "RATE_LIMIT_EXCEEDED").has("error.details.scope", "concurrency")
		if refusal.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After is %q", refusal.header.Get("Retry-After"))
		}
		s.caller(t, sandbox).get("/api-key").is(200)
	})
}

// Four may be at work and 16 wait. The bodies of those beyond are not even asked for.
func TestABulkThatIsTooManyIsRefusedBeforeItsBodyIsRead(t *testing.T) {
	both(t, func(t *testing.T, s *server) {
		c := s.loner(t, sandbox)
		base, err := url.Parse(s.base(sandbox))
		if err != nil {
			t.Fatal(err)
		}
		announce := func() (status string, connection net.Conn) {
			connection, err := net.Dial("tcp", base.Host)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = connection.Close() })
			_ = connection.SetDeadline(time.Now().Add(20 * time.Second))
			_, _ = fmt.Fprintf(connection, "POST /v1/deliveries/bulk HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nIdempotency-Key: "+
				"%s\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
				base.Host, c.key, newKeyText())
			line, err := bufio.NewReader(connection).ReadString('\n')
			if err != nil {
				t.Fatalf("no answer to an announced bulk: %v", err)
			}
			return strings.TrimSpace(line), connection
		}
		var under []net.Conn
		for range 20 {
			status, connection := announce()
			if status != "HTTP/1.1 100 Continue" {
				t.Fatalf("one of the first twenty bulks: %s", status)
			}
			under = append(under, connection)
		}
		if status, _ := announce(); !strings.HasPrefix(status, "HTTP/1.1 429 ") {
			t.Errorf("one more bulk: %s", status)
		}
		c.post("/deliveries/bulk", "no bulk at all").refused(429, "RATE_LIMIT_EXCEEDED").has("error.details.scope", "concurrency")
		c.post("/deliveries", anOrder()).is(201)
		for _, connection := range under {
			_ = connection.Close()
		}
		eventually(t, "a bulk is taken again", func() bool { return c.post("/deliveries/bulk", aBulk(anOrder())).status == http.StatusCreated })
	})
}
