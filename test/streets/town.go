package streets

import (
	"math"
	"slices"
)

// townSize is how far a town reaches from its middle, in degrees.
const townSize = 0.15

// Town is a map of zooms 0 to 14 around a place, with layers and kinds as those of Protomaps. On
// each tile there are all of them: land with a park, with houses and with water, an avenue from
// west to east, another one from north to south, a small street, and the middle of Accra.
func Town(latitude, longitude float64) Map {
	m := Map{Tiles: map[Square][]byte{}, Packed: true, LeafSize: 100,
		Layers:      []string{"earth", "landuse", "water", "roads", "places"},
		Attribution: `<a href="https://protomaps.com">Protomaps</a> © <a href="https://www.openstreetmap.org/copyright">OpenStreetMap</a>`}
	tile := slices.Concat(
		layer("earth", feature{polygon, box(0, 4096), "earth", ""}),
		layer("landuse", feature{polygon, box(512, 1024), "park", ""}, feature{polygon, box(1024, 1536), "residential", ""}),
		layer("water", feature{polygon, box(3072, 4096), "ocean", ""}),
		layer("roads", feature{line, across(), "major_road", "Liberation Road"}, feature{line, down(2048), "major_road", "Independence Avenue"},
			feature{line, down(1024), "minor_road", "100 Street"}),
		layer("places", feature{point, steps(moveTo, 1, 2048, 2048), "locality", "Accra"}))
	for zoom := range 15 {
		left, top := squareAt(latitude+townSize, longitude-townSize, zoom)
		right, bottom := squareAt(latitude-townSize, longitude+townSize, zoom)
		for column := left; column <= right; column++ {
			for row := top; row <= bottom; row++ {
				m.Tiles[Square{zoom, column, row}] = tile
			}
		}
	}
	return m
}

// squareAt is where a place is among the squares of a zoom.
func squareAt(latitude, longitude float64, zoom int) (column, row int) {
	side := math.Exp2(float64(zoom))
	fromTop := (1 - math.Asinh(math.Tan(latitude*math.Pi/180))/math.Pi) / 2
	return int(side * (longitude + 180) / 360), int(side * fromTop)
}
