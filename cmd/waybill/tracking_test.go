package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/trackingpage"
)

func TestTrackingPagesAreAtTheirOwnPathAndAtThatOfTheirAddress(t *testing.T) {
	t.Parallel()
	for base, want := range map[string][]string{
		"http://127.0.0.1:8080/track":       {"/track"},
		"https://example.com/where/is/it":   {"/where/is/it", "/track"},
		"https://example.com/tracking":      {"/tracking", "/track"},
		"https://track.example.com":         {"/track"}, // all else of the listener would be hidden
		"https://example.com/v1":            {"/track"},
		"https://example.com/v1/deliveries": {"/track"},
		"https://example.com/docs":          {"/track"},
		"https://example.com/track/parcels": {"/track/parcels", "/track"},
	} {
		if got := trackingpage.Paths(base); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", base, got, want)
		}
	}
}

// opened is a page, or a stream until the test ends it.
func opened(ctx context.Context, t *testing.T, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestTheTrackingLinkOfADeliveryOpensOnBothListenersUntilTheServerStops(t *testing.T) {
	t.Parallel()
	environ := append(served(t), "WAYBILL_TRACKING_BASE_URL=https://example.com/where/is/it")
	server, v := startServe(t, environ)
	_, app := madeApp(t, environ)
	key := made(t, environ, "key", "create", "--app", app, "--env", "sandbox", "--scopes", "all")["key"].(string)
	code, answer := call(t, "POST", v.Sandbox+"/deliveries", key, `{"vehicle_type":"bike","payment":{"type":"delivery_only"},
		"recipient":{"name":"Marker Mensah","phone_number":"0241234567","address":{"address":"7 Marker Road, Accra","latitude":5.6037,"longitude":-0.187}},
		"pickup":{"name":"Osu branch","contact":"0302000001","address":"12 Oxford Street, Osu","latitude":5.5571,"longitude":-0.1818}}`)
	if code != http.StatusCreated {
		t.Fatalf("%d: %v", code, answer)
	}
	delivery := answer["data"].(object)
	link, own := delivery["tracking_url"].(string), strings.TrimSuffix(v.Live, "/v1")
	path := strings.TrimPrefix(link, "https://example.com")
	reference := delivery["reference"].(string)
	if path != "/where/is/it/"+reference {
		t.Fatalf("tracking_url %s", link)
	}
	for _, url := range []string{own + path, own + "/track/" + reference, strings.TrimSuffix(v.Sandbox, "/v1") + path} {
		page := opened(t.Context(), t, url)
		body, err := io.ReadAll(page.Body)
		if err != nil || page.StatusCode != http.StatusOK || !strings.Contains(string(body), "Your parcel is booked") ||
			strings.Contains(string(body), "Marker") {
			t.Errorf("%s: %d, %v\n%s", url, page.StatusCode, err, body)
		}
	}
	metrics, err := io.ReadAll(opened(t.Context(), t, v.Ops+"/metrics").Body)
	if err != nil || !strings.Contains(string(metrics), `waybill_tracking_pages_total{result="found"} 3`) {
		t.Errorf("%v in\n%s", err, metrics)
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream := opened(ctx, t, own+path+"/stream?seen=1")
	if line, err := bufio.NewReader(stream.Body).ReadString('\n'); line != "retry: 3000\n" || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	begun := time.Now()
	server.terminate(t)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the server waited %v for a stream", took)
	}
}
