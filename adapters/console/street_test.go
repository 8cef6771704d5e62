package console_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"waybill/adapters/console"
	"waybill/adapters/geo"
	"waybill/domain"
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
			o.Streets = must[*geo.TileArchive](t)(geo.OpenTiles(s.mapFile))
		}
	})
	states = append(states, []state{
		{name: "street", role: domain.RoleDispatcher, path: "/map/street", heading: "Street map", before: busyDay, then: streetsDrawn},
		{name: "street-town", role: domain.RoleSupport, path: "/map/street", heading: "Street map", before: townDay, then: townDrawn},
		{name: "street-gone", role: domain.RoleViewer, path: "/map/street", heading: "Map", before: breakMap},
	}...)
	journeys = append(journeys, []journey{
		{"a mark on the street map leads to its delivery", false, streetMark},
		{"where no streets can be drawn, the map has its marks alone", true, streetWithoutWebGL},
		{"the street map is moved by the keyboard", false, streetByKeyboard},
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
	p.click(`main .listhead a`, "Street map")
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
