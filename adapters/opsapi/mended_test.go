package opsapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/opsapi"
	"waybill/application/access"
	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/stage"
)

// ailing is a storage whose searches fail as the test says.
type ailing struct {
	ports.Storage
	ports.PlatformReader
	fails error
}

func (a *ailing) Read() ports.Readers {
	readers := a.Storage.Read()
	readers.Platform = a
	return readers
}

func (a *ailing) Deliveries(context.Context, domain.DeliverySearch, domain.PageRequest) ([]*domain.Delivery, error) {
	return nil, a.fails
}

// searching returns a scene whose searches use another storage, behind a proxy.
func searching(t *testing.T, s *ailing) *scene {
	t.Helper()
	d := newScene(t)
	s.Storage = d.Store
	api := opsapi.New(opsapi.Options{
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(d.logged, nil)),
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		Management: &opsapi.Management{
			CursorKeys: [][32]byte{{1}},
			UseCases: opsapi.UseCases{
				Operators:  access.NewOperators(d.Store, windows{}, stage.Digester{}, d.Clock, everyMinute),
				Tenants:    d.tenants,
				Operations: deliveries.NewOperations(s, d.Clock, d.IDs, stage.Renderer{}), Identifiers: d.IDs,
			},
		},
	})
	d.server.Close()
	d.server = httptest.NewServer(api.Handler())
	t.Cleanup(d.server.Close)
	return d
}

func TestWhatTheDatabaseCannotDoNowIsToldAsSuch(t *testing.T) {
	t.Parallel()
	cause := errors.New("the cause of it")
	for want, fails := range map[string]error{
		"Narrow it: give business_id":   fmt.Errorf("search: %w: %w", ports.ErrTookTooLong, cause),
		"The database does not answer":  fmt.Errorf("search: %w: %w", ports.ErrStorageGone, cause),
		"Another change of the same re": domain.Busy(cause),
	} {
		d := searching(t, &ailing{fails: fails})
		got := d.send(t, "GET", "/deliveries", "").refused(503, "SERVICE_UNAVAILABLE")
		if !strings.Contains(got.body, want) || got.header.Get("Retry-After") == "" || strings.Contains(got.body, "the cause") {
			t.Errorf("%v: %s, Retry-After %q", fails, got.body, got.header.Get("Retry-After"))
		}
		if log := d.logged.String(); !strings.Contains(log, "the cause of it") || strings.Contains(log, "level=ERROR") {
			t.Errorf("%v is logged as %s", fails, log)
		}
	}
}

func TestEachClientBehindATrustedProxyHasItsOwnFailures(t *testing.T) {
	t.Parallel()
	d := searching(t, &ailing{})
	const wrong = "Bearer wrong"
	for range 60 {
		d.send(t, "GET", "/audit", "", "Authorization", wrong, "X-Forwarded-For", "192.0.2.1").is(401)
	}
	d.send(t, "GET", "/audit", "", "Authorization", wrong, "X-Forwarded-For", "192.0.2.1").is(429)
	d.send(t, "GET", "/audit", "", "Authorization", wrong, "X-Forwarded-For", "192.0.2.2").is(401)
	d.send(t, "GET", "/audit", "", "X-Forwarded-For", "192.0.2.2").is(200)
}

func TestABodyThatIsEncodedIsRefusedWithOrWithoutItsType(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	for _, kind := range []string{"", "application/json"} {
		d.send(t, "POST", "/businesses", `{"name":"Adom"}`, "Content-Encoding", "gzip", "Content-Type", kind).is(http.StatusUnsupportedMediaType)
	}
}

func TestNamesThatLookLikeOthersAreRefused(t *testing.T) {
	t.Parallel()
	d := newScene(t)
	for _, name := range []string{`Adom\u202efdp.exe`, `Adom\u2066`, `Ad\u001b[31mom`, `Ad\nom`, `Ad\u0085om`} {
		got := d.send(t, "POST", "/businesses", `{"name":"`+name+`"}`).is(422)
		if got.fields() != "name invalid_format" {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	business := d.send(t, "POST", "/businesses", `{"name":"Ɛdom Foods (\u0041)"}`).is(201).id()
	got := d.send(t, "POST", "/businesses/"+business+"/applications", `{"name":"Sh\u202aop"}`).is(422)
	if got.fields() != "name invalid_format" {
		t.Error(got.body)
	}
}

func TestAClientThatLeavesIsNoError(t *testing.T) {
	t.Parallel()
	s := &ailing{fails: context.Canceled}
	d := searching(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/ops/v1/deliveries", nil)
	r.Header.Set("Authorization", "Bearer "+d.token)
	d.server.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
	if log := d.logged.String(); strings.Contains(log, "level=ERROR") || !strings.Contains(log, "the client left") {
		t.Error(log)
	}
}
