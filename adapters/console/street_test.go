package console_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"waybill/adapters/console"
	"waybill/adapters/maptiles/pmtiles"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/browser"
	"waybill/test/sample"
	"waybill/test/streets"
)

func init() {
	add(map[string]row{"GET /map/street": {may: everybody}, "GET /map/tiles/:zoom/:column/:row": {may: everybody}})
	furnish = append(furnish, func(_ *testing.T, s *scene) { s.ids[":zoom"], s.ids[":column"], s.ids[":row"] = "0", "0", "0" })
	arrange = append(arrange, func(t *testing.T, s *scene, o *console.Options) {
		if s.mapFile == "" {
			s.mapFile = filepath.Join(t.TempDir(), "map.pmtiles")
			if err := os.WriteFile(s.mapFile, world(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if o.Streets = s.tiles; s.tiles == nil {
			o.Streets = must[*pmtiles.Archive](t)(pmtiles.Open(s.mapFile))
		}
	})
	states = append(states, []state{
		{name: "street", role: domain.RoleDispatcher, path: "/map/street", heading: "Street map", before: busyDay, then: streetsDrawn},
		{name: "street-town", role: domain.RoleSupport, path: "/map/street", heading: "Street map", before: townDay, then: townDrawn},
		{name: "street-empty", role: domain.RoleViewer, path: "/map/street?environment=sandbox", heading: "Street map", then: streetsDrawn},
		{name: "street-gone", role: domain.RoleViewer, path: "/map/street", heading: "Map", before: breakMap},
	}...)
	journeys = append(journeys, []journey{
		{"the street map leads to a delivery by its list, and by its filters to fewer", false, streetList},
		{"a mark on the street map leads to its delivery", true, streetMark},
		{"where no streets can be drawn, the map has its marks alone", false, streetWithoutWebGL},
		{"the street map is moved by the keyboard", true, streetByKeyboard},
	}...)
}

var world = func() func() []byte {
	file := streets.World(5).Bytes()
	return func() []byte { return slices.Clone(file) }
}()

// townDay has deliveries all over a town, in all open statuses, some of which wait for long.
func townDay(t *testing.T, s *scene) {
	t.Helper()
	at := s.delivery.Dropoff.Coordinates
	if err := os.WriteFile(s.mapFile, streets.Town(at.Latitude, at.Longitude).Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		bookedAt := s.Clock.Now().Add(-time.Duration(i) * 3 * time.Minute)
		w := sample.BookingWrite(s.delivery.Tenant, func(b *domain.Booking) {
			b.CreatedAt = bookedAt
			b.Dropoff.Coordinates.Latitude += .05 * math.Sin(float64(i*i))
			b.Dropoff.Coordinates.Longitude += .07 * math.Sin(float64(i*7+i*i))
			b.Dropoff.Coordinates.Latitude = max(b.Dropoff.Coordinates.Latitude, at.Latitude-.03)
		})
		if err := s.Store.Book(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		for n, to := range []domain.Status{domain.Assigned, domain.PickedUp, domain.InTransit}[:i%4] {
			s.move(t, w.Delivery.Tenant, w.Delivery.ID, to, "", bookedAt.Add(time.Duration(n+1)*time.Minute))
		}
	}
	s.countReports(t)
}

// townDrawn finds streets, their names and those of places on the map, and marks of single
// deliveries as soon as it is looked at from near.
func townDrawn(p *tab) {
	p.Helper()
	streetsDrawn(p)
	drawn := func(layer, what string) {
		p.Helper()
		p.Eventually(p.T, layer+" are drawn", onMap(`m.queryRenderedFeatures({layers: [`+browser.Quoted(layer)+`]}).some((f) => `+what+`)`))
	}
	drawn("roads", `f.properties.name === "Liberation Road"`)
	drawn("places-names", `f.properties.name === "Accra"`)
	drawn("clusters", `f.properties.point_count > 1`)
	drawn("landuse", `f.properties.kind === "park"`)
	homes := `m.queryRenderedFeatures({layers: ["landuse"]}).filter((f) => f.properties.kind === "residential").length`
	if painted := browser.Eval[int](p.T, p.Page, onMap(homes)); painted > 0 {
		p.Error("where people live is painted as a park")
	}
	browser.Eval[bool](p.T, p.Page, onMap(`(m.jumpTo({zoom: 13.4}), true)`))
	drawn("roads", `f.properties.kind === "minor_road"`)
	drawn("roads-names", `f.properties.name === "Independence Avenue"`)
	drawn("deliveries", `f.properties.letter`)
	p.Eventually(p.T, "all is drawn", onMap(`m.loaded() && m.areTilesLoaded()`))
}

func breakMap(t *testing.T, s *scene) {
	t.Helper()
	if err := os.Truncate(s.mapFile, 100); err != nil {
		t.Fatal(err)
	}
}

func streetsDrawn(p *tab) {
	p.Helper()
	p.Eventually(p.T, "the map is drawn", `document.getElementById("street").dataset.drawn !== undefined`)
	if said := browser.Eval[string](p.T, p.Page, `document.getElementById("street-status").textContent`); said != "" {
		p.Error(said)
	}
}

func streetList(w *walk) {
	busyDay(w.T, w.scene)
	p := w.as(domain.RoleDispatcher)
	p.to("/map?streets=no", "Map")
	loaded := `performance.getEntriesByType("resource").some(e => e.name.includes("maplibre"))`
	if !w.reader.NoScripts && browser.Eval[bool](p.T, p.Page, loaded) {
		p.Error("the library is loaded without a street map")
	}
	p.click(`main .lead a`, "Street map")
	p.choose("#status", "assigned")
	p.click(`form[action="/console/map/street"] button`, "Street map")
	p.click(`table.records tbody a`, "-")
	p.at("assigned")
}

// clickMark clicks on a mark of a layer of the map.
func (p *tab) clickMark(layer string) {
	p.Helper()
	p.Eventually(p.T, "there is a mark of "+layer, onMap(`m.queryRenderedFeatures({layers: [`+browser.Quoted(layer)+`]}).length > 0`))
	browser.Eval[bool](p.T, p.Page, onMap(`(() => {
		const at = m.project(m.queryRenderedFeatures({layers: [`+browser.Quoted(layer)+`]})[0].geometry.coordinates);
		const r = m.getCanvas().getBoundingClientRect(), where = {clientX: r.x + at.x, clientY: r.y + at.y, bubbles: true, button: 0};
		for (const kind of ["mousedown", "mouseup", "click"]) m.getCanvas().dispatchEvent(new MouseEvent(kind, where));
		return true })()`))
}

// onMap is an expression about the map m.
func onMap(expression string) string {
	return `((m) => ` + expression + `)(document.getElementById("street").map)`
}

func streetMark(w *walk) {
	p := w.as(domain.RoleDispatcher)
	p.to("/map/street", "Street map")
	streetsDrawn(p)
	if tiles := browser.Eval[int](p.T, p.Page, onMap(`m.queryRenderedFeatures({layers: ["earth"]}).length`)); tiles == 0 {
		p.Error("no tile is drawn")
	}
	// A pixel in a corner has the colour that the style gives to what is there.
	differs := browser.Eval[string](p.T, p.Page, onMap(`new Promise((done) => { m.once("render", () => {
		const gl = m.getCanvas().getContext("webgl2"), pixel = new Uint8Array(4), x = 40, y = 60;
		gl.readPixels(x, gl.drawingBufferHeight - 1 - y, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
		const water = m.queryRenderedFeatures([x, y], {layers: ["water"]}).length > 0;
		const want = m.getPaintProperty(water ? "water" : "earth", "fill-color").match(/[0-9a-f]{2}/g).map((n) => parseInt(n, 16));
		done(want.every((n, i) => Math.abs(n - pixel[i]) < 3) ? "" : "drawn " + pixel + ", wanted " + want);
	}); m.triggerRepaint(); })`))
	if differs != "" {
		p.Error(differs)
	}
	// Those at one place are one mark, which lists them.
	p.clickMark("clusters")
	p.Eventually(p.T, "the deliveries at one place are listed",
		`document.querySelectorAll(".maplibregl-popup-content a[href^='/console/deliveries/dlv_']").length > 1`)
	for _, violation := range p.Violations(p.T) {
		p.Error(violation)
	}
	p.elsewhere("assigned", "")
	p.wait(time.Minute) // what the map knows is some seconds old
	p.to("/map/street?status=assigned", "Street map")
	streetsDrawn(p)
	p.clickMark("deliveries")
	p.Eventually(p.T, "the delivery is shown", `location.pathname === "/console/deliveries/`+string(w.delivery.ID)+`"`)
}

// streetWithoutWebGL is walked in a browser that has none, and in one without scripts.
func streetWithoutWebGL(w *walk) {
	busyDay(w.T, w.scene)
	w.reader.NoWebGL = true
	p := w.as(domain.RoleDispatcher)
	p.to("/map/street", "Street map")
	if !w.reader.NoScripts {
		p.Eventually(p.T, "the reason is told", `document.getElementById("street-status").textContent.includes("no WebGL 2")`)
		for _, violation := range p.Violations(p.T) {
			p.Error(violation)
		}
	}
	p.Screenshot(p.T, fmt.Sprintf("console-street-plain-%t", w.reader.NoScripts))
	p.Eventually(p.T, "marks and moves are there", `["svg .cluster circle", "nav[aria-label='Move the map'] a"].every((s) => {
		const e = document.querySelector("#street-frame " + s), r = e.getBoundingClientRect();
		return e.checkVisibility({visibilityProperty: true}) && r.width > 10 &&
			!document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2).closest("#street");
	})`)
	p.click(`nav[aria-label="Move the map"] a`, "Map")
	p.click(`nav[aria-label="Move the map"] a:last-child`, "Map")
	p.click(`main .lead a`, "Street map")
}

func streetByKeyboard(w *walk) {
	p := w.as(domain.RoleViewer)
	p.to("/map/street", "Street map")
	streetsDrawn(p)
	browser.Eval[bool](p.T, p.Page, onMap(`(m.getCanvas().focus({focusVisible: true}), window.was = [m.getZoom(), m.getCenter().lng], true)`))
	if outline := browser.Eval[string](p.T, p.Page, onMap(`getComputedStyle(m.getCanvas()).outlineStyle`)); outline != "solid" {
		p.Errorf("the canvas shows its focus by %q", outline)
	}
	p.Press(p.T, "+")
	p.Eventually(p.T, "the map is nearer", onMap(`m.getZoom() > window.was[0] + .9`))
	p.Press(p.T, kb.ArrowRight)
	p.Eventually(p.T, "the map is farther east", onMap(`m.getCenter().lng > window.was[1]`))
	// Without its graphics, which a driver may take away, the marks are there still.
	browser.Eval[bool](p.T, p.Page, onMap(`(window.lost = m.getCanvas().getContext("webgl2").getExtension("WEBGL_lose_context"), true)`))
	browser.Eval[bool](p.T, p.Page, `(lost.loseContext(), true)`)
	p.Eventually(p.T, "the marks are shown", `document.querySelector("#street-frame svg").checkVisibility({visibilityProperty: true})`)
	browser.Eval[bool](p.T, p.Page, `(lost.restoreContext(), true)`)
	p.Eventually(p.T, "the streets are back", `!document.querySelector("#street-frame svg").checkVisibility({visibilityProperty: true})`)
}

func TestTilesAreServedToStaffAloneAndAreKeptByTheirBrowsers(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleViewer)
	ask := func(path string, headers ...string) *http.Response {
		t.Helper()
		q := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody))
		q.Header.Set("Accept-Encoding", "identity")
		for i := 0; i < len(headers); i += 2 {
			q.Header.Set(headers[i], headers[i+1])
		}
		return must[*http.Response](t)(r.client.Do(q))
	}
	body := func(a *http.Response) []byte {
		t.Helper()
		defer a.Body.Close()
		var b bytes.Buffer
		must[int64](t)(b.ReadFrom(a.Body))
		return b.Bytes()
	}
	packed, plain := ask("/map/tiles/3/4/2", "Accept-Encoding", "gzip"), ask("/map/tiles/3/4/2")
	got := body(packed)
	if packed.StatusCode != http.StatusOK || packed.Header.Get("Content-Encoding") != "gzip" || !bytes.HasPrefix(got, []byte{0x1f, 0x8b}) {
		t.Errorf("%d %v", packed.StatusCode, packed.Header)
	}
	if got := body(plain); plain.Header.Get("Content-Encoding") != "" || !bytes.Contains(got, []byte("Liberation Road")) {
		t.Errorf("%v %q", plain.Header, got)
	}
	for name, want := range map[string]string{"Content-Type": "application/vnd.mapbox-vector-tile", "Cache-Control": "private, max-age=86400",
		"Vary": "Accept-Encoding"} {
		if got := packed.Header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	same := ask("/map/tiles/3/4/2", "If-None-Match", `"other", `+packed.Header.Get("ETag"))
	if got := body(same); same.StatusCode != http.StatusNotModified || len(got) > 0 {
		t.Errorf("asked again: %d, %d bytes", same.StatusCode, len(got))
	}
	for path, want := range map[string]int{
		"/map/tiles/9/0/0": http.StatusNoContent, "/map/tiles/1/2/0": http.StatusNoContent, "/map/tiles/0/0/-1": http.StatusNoContent,
		"/map/tiles/0/0/x": http.StatusNotFound, "/map/tiles/0/0/00": http.StatusNotFound,
		"/map/tiles/0/0/99999999999999999999": http.StatusNotFound,
	} {
		if a := ask(path); a.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, a.StatusCode, want)
		}
	}
	if p := s.reader(t).get("/map/tiles/3/4/2"); p.at != "/signin" || strings.Contains(p.body, "Liberation") {
		t.Errorf("signed out: %d at %s", p.status, p.at)
	}
	breakMap(t, s)
	if a := ask("/map/tiles/3/4/2"); a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a broken file: %d", a.StatusCode)
	}
}

func TestWithoutItsFileTheStreetMapIsTheOtherOneWithASentence(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.signedIn(t, domain.RoleViewer)
	if p := r.get("/map"); p.at != "/map/street" || !strings.Contains(p.body, `id="street"`) {
		t.Fatalf("%d at %s: %s", p.status, p.at, p.body)
	}
	if p := r.get("/map?streets=no"); !strings.Contains(p.body, "Show it on streets") {
		t.Fatalf("%d %s", p.status, p.body)
	}
	file := must[[]byte](t)(os.ReadFile(s.mapFile))
	for name, harm := range map[string]func() error{
		"cut off": func() error { return os.Truncate(s.mapFile, 300) },
		"gone":    func() error { return os.Remove(s.mapFile) },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		p := r.get("/map/street?status=booked")
		if p.status != http.StatusOK || !strings.Contains(p.body, "There is no street map now") || !strings.Contains(p.body, "<svg viewBox") ||
			strings.Contains(p.body, "maplibre") || strings.Contains(p.body, s.mapFile) {
			t.Errorf("%s: %d %s", name, p.status, p.body)
		}
		if !strings.Contains(s.log.String(), "the street map cannot be read") {
			t.Errorf("%s: the log says nothing", name)
		}
		if err := os.WriteFile(s.mapFile, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if p := r.get("/map/street"); !strings.Contains(p.body, `id="street"`) {
			t.Errorf("%s, and back again: %d", name, p.status)
		}
	}
}

func TestTheAttributionOfAFileIsTextAndLinksAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	m := streets.World(0)
	m.Attribution = `<script>alert(1)</script><a href="javascript:alert(2)">one</a> ` +
		`<a onclick=x href='https://osm.example/?a=1&amp;b=2' class=x>&copy; <b>OSM</b></a><img src=x>`
	if err := os.WriteFile(s.mapFile, m.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	body := s.signedIn(t, domain.RoleViewer).get("/map/street").body
	if want := ` Map: alert(1)one <a href="https://osm.example/?a=1&amp;b=2" rel="noreferrer">© OSM</a>.`; !strings.Contains(body, want) {
		_, after, _ := strings.Cut(body, "As of")
		t.Errorf("%.700s\nlacks %s", after, want)
	}
	for _, bad := range []string{"javascript:", "onclick", "<img", "<script>"} {
		if strings.Contains(body, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}

func TestTheListBesideTheStreetMapHasAllItsDeliveries(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for range 3 {
		busyDay(t, s)
	}
	r := s.signedIn(t, domain.RoleViewer)
	var points struct {
		Features []struct{ Properties struct{ Kind, ID string } }
	}
	if err := json.Unmarshal([]byte(r.get("/map/points?status=booked").body), &points); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, f := range points.Features {
		if f.Properties.Kind == "delivery" {
			want[f.Properties.ID] = true
		}
	}
	got := map[string]bool{}
	for page := 1; page < 5; page++ {
		for _, row := range listRow.FindAllStringSubmatch(r.get(fmt.Sprintf("/map/street?status=booked&page=%d", page)).body, -1) {
			got[row[1]] = true
		}
	}
	if len(want) < 20 || len(got) != len(want) {
		t.Errorf("%d are listed, and %d are on the map", len(got), len(want))
	}
}

// slowTiles are read as soon as they may be, and count those that are read at once.
type slowTiles struct {
	ports.MapTiles
	may       chan struct{}
	now, most atomic.Int32
}

func (s *slowTiles) Tile(int, int, int) (ports.MapTile, error) {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	<-s.may
	return ports.MapTile{Content: []byte("tile"), Version: "1"}, nil
}

func TestManyReadersOfTilesHaveFewOfThemInMemoryAtOnce(t *testing.T) {
	t.Parallel()
	const readers, most = 50, 16
	s := newScene(t)
	r := s.signedIn(t, domain.RoleViewer)
	slow := &slowTiles{may: make(chan struct{})}
	s.tiles = slow
	r.url = s.serve(t)
	answers := make(chan page, readers)
	for i := range readers {
		go func() { answers <- r.get(fmt.Sprintf("/map/tiles/6/%d/0", i)) }()
	}
	for deadline := time.Now().Add(time.Minute); slow.now.Load() < most; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d tiles are read at once, want %d", slow.now.Load(), most)
		}
	}
	if p := r.get("/account"); p.status != http.StatusOK { // other pages do not wait for tiles
		t.Errorf("another page: %d", p.status)
	}
	close(slow.may)
	served := 0
	for range readers {
		switch p := <-answers; {
		case p.status == http.StatusOK && p.body == "tile":
			served++
		case p.status != http.StatusServiceUnavailable: // on a slow machine, after three seconds
			t.Errorf("%d %s", p.status, p.body)
		}
	}
	if served < most {
		t.Errorf("%d tiles were served", served)
	}
	if got := slow.most.Load(); got != most {
		t.Errorf("%d tiles were read at once, want %d", got, most)
	}
}

func TestThePointsOfAMapArePackedForBrowsersThatUnpackThem(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	busyDay(t, s)
	r := s.signedIn(t, domain.RoleViewer)
	read := func(path, accept string) (body []byte, packed bool) {
		t.Helper()
		q := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody))
		q.Header.Set("Accept-Encoding", accept)
		a := must[*http.Response](t)(r.client.Do(q))
		defer a.Body.Close()
		if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "application/geo+json" || a.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%d %v", a.StatusCode, a.Header)
		}
		return must[[]byte](t)(io.ReadAll(a.Body)), a.Header.Get("Content-Encoding") == "gzip"
	}
	for _, path := range []string{"/map/points", "/map/points?environment=sandbox"} {
		plain, wasPacked := read(path, "identity")
		packed, isPacked := read(path, "gzip, deflate, br")
		unpacked := must[[]byte](t)(io.ReadAll(must[*gzip.Reader](t)(gzip.NewReader(bytes.NewReader(packed)))))
		if wasPacked || !isPacked || !bytes.Equal(plain, unpacked) || !json.Valid(plain) || len(plain) > 1000 && len(packed) > len(plain)/2 {
			t.Errorf("%s: %d bytes, %t, and packed %d, %t: %s", path, len(plain), wasPacked, len(packed), isPacked, plain)
		}
	}
}
