package geo_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waybill/adapters/geo"
	"waybill/domain"
)

func parse(t testing.TB, text string) *geo.Area {
	t.Helper()
	a, err := geo.ParseArea([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func at(lat, lon float64) domain.Coordinates {
	return domain.Coordinates{Latitude: lat, Longitude: lon}
}

// A square of 10 degrees with a hole in its middle, and a separate slanted triangle.
const (
	square   = `[[[0,0],[10,0],[10,10],[0,10],[0,0]],[[4,4],[6,4],[6,6],[4,6],[4,4]]]`
	triangle = `[[[20,20],[30,21,150],[20,27.3],[20,20]]]`
)

func TestPointsOnABorderAreInsideAndPointsInAHoleAreNot(t *testing.T) {
	t.Parallel()
	a := parse(t, `{"type":"MultiPolygon","coordinates":[`+square+`,`+triangle+`]}`)
	for c, want := range map[domain.Coordinates]bool{
		at(1, 1): true, at(9.999, 9.999): true, at(3.9, 5): true,
		at(5, 5): false, at(4.1, 5.9): false,
		at(0, 0): true, at(10, 10): true, at(0, 5): true, at(5, 0): true, at(10, 5): true, at(5, 10): true,
		at(4, 4): true, at(6, 6): true, at(4, 5): true, at(5, 6): true,
		at(10.0001, 5): false, at(-0.0001, 5): false, at(5, 10.0001): false, at(5, -0.0001): false,
		at(22, 21): true, at(27.3, 20): true, at(20.5, 25): true, at(24.15, 25): true, at(24.1501, 25): false, at(20.4999, 25): false,
		at(15, 15): false, at(-5, -5): false, at(5, 179): false,
		at(math.NaN(), 5): false, at(5, math.NaN()): false, at(math.Inf(1), 5): false, at(5, math.Inf(-1)): false,
	} {
		if got := a.Contains(c); got != want {
			t.Errorf("%v: inside is %v, want %v", c, got, want)
		}
	}
}

func TestEveryPointOfAnEdgeIsInside(t *testing.T) {
	t.Parallel()
	a := parse(t, `{"type":"MultiPolygon","coordinates":[`+square+`,`+triangle+`]}`)
	const steps = 997
	for _, e := range [][2]domain.Coordinates{
		{at(20, 20), at(21, 30)}, {at(21, 30), at(27.3, 20)}, {at(27.3, 20), at(20, 20)},
		{at(4, 4), at(4, 6)}, {at(4, 6), at(6, 6)}, {at(0, 0), at(0, 10)},
	} {
		for i := range steps + 1 {
			f := float64(i) / steps
			p := at(e[0].Latitude+f*(e[1].Latitude-e[0].Latitude), e[0].Longitude+f*(e[1].Longitude-e[0].Longitude))
			if !a.Contains(p) {
				t.Fatalf("%v on the edge %v is outside", p, e)
			}
		}
	}
}

func TestEveryFormOfTheFileDescribesTheSameArea(t *testing.T) {
	t.Parallel()
	polygon := `{"type":"Polygon","coordinates":` + square + `}`
	for _, text := range []string{
		polygon,
		`{"type":"MultiPolygon","coordinates":[` + square + `]}`,
		`{"type":"Feature","properties":{"name":"x"},"geometry":` + polygon + `}`,
		`{"type":"FeatureCollection","name":"areas","features":[{"type":"Feature","properties":null,"geometry":` + polygon + `}]}`,
		"\n " + polygon + "\n",
	} {
		a := parse(t, text)
		if !a.Contains(at(1, 1)) || a.Contains(at(5, 5)) || a.Contains(at(11, 1)) {
			t.Errorf("%.60s is another area", text)
		}
	}
}

func TestTwoFeaturesAreOneArea(t *testing.T) {
	t.Parallel()
	a := parse(t, `{"type":"FeatureCollection","features":[
		{"type":"Feature","geometry":{"type":"Polygon","coordinates":`+square+`}},
		{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[4,4],[6,4],[6,6],[4,6],[4,4]]]}}]}`)
	if !a.Contains(at(1, 1)) || !a.Contains(at(5, 5)) {
		t.Error("a point of one of the features is outside")
	}
}

func TestTheDefaultIsABoxAroundGhana(t *testing.T) {
	t.Parallel()
	a := geo.DefaultArea()
	for c, want := range map[domain.Coordinates]bool{
		at(5.556, -0.1969): true, at(9.4, -0.85): true, // Accra, Tamale
		at(4.5, -3.4): true, at(11.3, 1.3): true, at(4.5, 1.3): true, at(11.3, -3.4): true,
		at(4.4999, 0): false, at(11.3001, 0): false, at(7, -3.4001): false, at(7, 1.3001): false,
		at(6.5244, 3.3792): false, at(51.5, -0.12): false, at(0, 0): false, at(-0.1969, 5.556): false,
	} {
		if got := a.Contains(c); got != want {
			t.Errorf("%v: inside is %v, want %v", c, got, want)
		}
	}
}

func TestABadFileIsRefusedWithWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	ring := func(positions string) string { return `{"type":"Polygon","coordinates":[[` + positions + `]]}` }
	for text, want := range map[string]string{
		"":      "the file is not GeoJSON",
		"null":  "the file has no type",
		"[]":    "the file is not GeoJSON",
		"{}":    "the file has no type",
		"{} {}": "the file is not GeoJSON",
		`{"type":"Polygon","type":"Polygon","coordinates":` + square + `}`:                     "duplicate",
		`{"type":"Point","coordinates":[1,2]}`:                                                 `is a "Point"`,
		`{"type":"LineString","coordinates":[[0,0],[1,1]]}`:                                    `is a "LineString"`,
		`{"type":"GeometryCollection","geometries":[]}`:                                        `is a "GeometryCollection"`,
		`{"type":"polygon","coordinates":` + square + `}`:                                      `is a "polygon"`,
		`{"type":"Polygon"}`:                                                                   "has no coordinates",
		`{"type":"Polygon","coordinates":[]}`:                                                  "has no rings",
		`{"type":"Polygon","coordinates":null}`:                                                "has no rings",
		`{"type":"Polygon","coordinates":[[]]}`:                                                "ring 1 of the file: it has 0 positions",
		`{"type":"Polygon","coordinates":"x"}`:                                                 "are not rings",
		`{"type":"MultiPolygon"}`:                                                              "no polygons",
		`{"type":"MultiPolygon","coordinates":[]}`:                                             "no polygons",
		`{"type":"MultiPolygon","coordinates":[` + square + `,[]]}`:                            "polygon 2 of the file has no rings",
		`{"type":"Feature","properties":{}}`:                                                   "has no geometry",
		`{"type":"Feature","geometry":null}`:                                                   "has no geometry",
		`{"type":"Feature","geometry":{"type":"Point","coordinates":[0,0]}}`:                   `the geometry of the file is a "Point"`,
		`{"type":"FeatureCollection"}`:                                                         "has no features",
		`{"type":"FeatureCollection","features":[]}`:                                           "has no features",
		`{"type":"FeatureCollection","features":[null]}`:                                       "not a Feature",
		`{"type":"FeatureCollection","features":[{"type":"Polygon","coordinates":[]}]}`:        "not a Feature",
		`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"X"}}]}`: "the geometry of feature 1",
		ring(`[0,0],[1,0],[0,0]`):                                                              "3 positions",
		ring(`[0,0],[1,0],[1,1],[0,1]`):                                                        "open",
		ring(`[0,0],[1],[1,1],[0,0]`):                                                          "position 2 is not a longitude and a latitude",
		ring(`[0,0],[1,0],[1,1],[null,1],[0,0]`):                                               "position 4 is not",
		ring(`[0,0],[1,0],[1,null],[0,1],[0,0]`):                                               "position 3 is not",
		ring(`[0,0],["1","0"],[1,1],[0,0]`):                                                    "are not rings",
		ring(`[0,0],[180.1,0],[1,1],[0,0]`):                                                    "position 2 is [180.1, 0]",
		ring(`[0,0],[-180.1,0],[1,1],[0,0]`):                                                   "longitude comes first",
		ring(`[0,0],[1,90.1],[1,1],[0,0]`):                                                     "position 2",
		ring(`[0,0],[1,-90.1],[1,1],[0,0]`):                                                    "position 2",
		ring(`[0,0],[1e400,0],[1,1],[0,0]`):                                                    "are not rings",
		ring(`[0,0],[1,0],[2,0],[0,0]`):                                                        "encloses nothing",
		ring(`[1,1],[1,1],[1,1],[1,1]`):                                                        "encloses nothing",
		strings.Repeat(" ", 16<<20) + `{}`:                                                     "larger than 16 MiB",
		strings.Repeat(`{"type":"Feature","geometry":`, 20000) + "1":                           "",
	} {
		a, err := geo.ParseArea([]byte(text))
		if err == nil {
			t.Errorf("%.80s was read as %v", text, a)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: the error is %q, want it to say %q", text, err, want)
		}
	}
}

func TestAFileIsReadAndABadOneIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.geojson"), filepath.Join(dir, "bad.geojson")
	for path, text := range map[string]string{good: `{"type":"Polygon","coordinates":` + square + `}`, bad: `{"type":"Point"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if a, err := geo.ReadArea(good); err != nil || !a.Contains(at(1, 1)) {
		t.Errorf("got %v, %v", a, err)
	}
	for _, path := range []string{bad, dir, filepath.Join(dir, "missing.geojson")} {
		if _, err := geo.ReadArea(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want an error that names it", path, err)
		}
	}
}

func BenchmarkContains(b *testing.B) {
	a := geo.DefaultArea()
	for b.Loop() {
		a.Contains(at(5.556, -0.1969))
	}
}

func TestAnOutlineHasTheShapeAndFewPoints(t *testing.T) {
	t.Parallel()
	if got := parse(t, `{"type":"MultiPolygon","coordinates":[`+square+`,`+triangle+`]}`).Outline(); len(got) != 3 || len(got[0]) != 5 ||
		got[2][1] != at(21, 30) {
		t.Errorf("the outline of a square with a hole and a triangle is %v", got)
	}
	var circle strings.Builder
	const points = 50_000
	for i := range points {
		angle := 2 * math.Pi * float64(i%(points-1)) / (points - 1)
		if i > 0 {
			circle.WriteString(",")
		}
		fmt.Fprintf(&circle, "[%f,%f]", 2*math.Cos(angle), 2*math.Sin(angle))
	}
	rings := parse(t, `{"type":"Polygon","coordinates":[[`+circle.String()+`]]}`).Outline()
	if len(rings) != 1 || len(rings[0]) < 8 || len(rings[0]) > 2000 || rings[0][0] != rings[0][len(rings[0])-1] {
		t.Fatalf("the outline of a circle has %d rings", len(rings))
	}
	for _, p := range rings[0] {
		if d := math.Hypot(p.Latitude, p.Longitude); d < 1.99 || d > 2.01 {
			t.Fatalf("%v is not on the circle", p)
		}
	}
}
