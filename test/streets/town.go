package streets

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Town is a map of zooms 0 to 14 of a town by the sea, with its middle at a place. Its layers
// are named as those of Protomaps: streets each 250 metres, wider ones each 1,000, two avenues
// with names, a motorway around it, a railway, a lagoon, parks, houses and quarters.
func Town(latitude, longitude float64) Map {
	t := town{latitude: latitude, longitude: longitude}
	t.draw()
	m := Map{Tiles: map[Square][]byte{}, Packed: true, LeafSize: 100,
		Layers:      []string{"earth", "landuse", "water", "buildings", "roads", "boundaries", "places"},
		Attribution: `<a href="https://protomaps.com">Protomaps</a> © <a href="https://www.openstreetmap.org/copyright">OpenStreetMap</a>`}
	for zoom := range 15 {
		left, top := t.at(point{-townSize, townSize}, zoom)
		right, bottom := t.at(point{townSize, -townSize}, zoom)
		for column := int(left); column <= int(right); column++ {
			for row := int(top); row <= int(bottom); row++ {
				m.Tiles[Square{zoom, column, row}] = t.tile(zoom, column, row, m.Layers)
			}
		}
	}
	return m
}

const (
	townSize = 15_000 // metres from its middle to its edge
	coast    = -5_000
	extent   = 4096 // of a tile, in its own units
	beyond   = 64   // how far shapes go on behind the edge of a tile
	point1   = 1    // the kind of shapes that are points
)

// point is metres east and north of the middle.
type point struct{ x, y float64 }

type shape struct {
	layer, kind, name string
	form, from        int // line, polygon or point, and from which zoom on
	points            []point
}

type town struct {
	latitude, longitude float64
	shapes              []shape
}

// at is where a point is among the tiles of a zoom.
func (t *town) at(p point, zoom int) (column, row float64) {
	const metres = 111_320
	latitude := (t.latitude + p.y/metres) * math.Pi / 180
	longitude := t.longitude + p.x/metres/math.Cos(t.latitude*math.Pi/180)
	side := math.Exp2(float64(zoom))
	return side * (longitude + 180) / 360, side * (1 - math.Asinh(math.Tan(latitude))/math.Pi) / 2
}

func (t *town) add(s shape) { t.shapes = append(t.shapes, s) }

func (t *town) draw() {
	t.add(shape{"earth", "earth", "", polygon, 0, square(0, 0, townSize)})
	shore := []point{{townSize, -townSize}, {-townSize, -townSize}}
	for x := -townSize; x <= townSize; x += 500 {
		shore = append(shore, point{float64(x), coast + 600*math.Sin(float64(x)/2300)})
	}
	t.add(shape{"water", "ocean", "", polygon, 0, shore})
	t.add(shape{"water", "lake", "Korle Lagoon", polygon, 8, circle(-4000, -2600, 900, 0, 2)})
	t.add(shape{"landuse", "residential", "", polygon, 10, square(0, 0, 6000)})
	for i, p := range []point{{2600, 1600}, {-2500, 3300}, {4200, -2400}} {
		t.add(shape{"landuse", "park", "", polygon, 10, circle(p.x, p.y, 350+100*float64(i), 0, 2)})
	}
	t.add(shape{"roads", "highway", "Ring Road", line, 5, circle(0, 0, 5200, -.2, 1.2)})
	t.add(shape{"roads", "rail", "", line, 9, []point{{-townSize, 7000}, {-1700, 1300}, {-1500, -4100}}})
	t.add(shape{"roads", "major_road", "Liberation Road", line, 7, []point{{-townSize, 0}, {townSize, 0}}})
	t.add(shape{"roads", "major_road", "Independence Avenue", line, 7, []point{{0, townSize}, {0, -4000}}})
	for i := -24; i <= 24; i++ {
		at, kind, from := float64(i*250), "minor_road", 13
		if i%4 == 0 {
			kind, from = "medium_road", 11
		}
		if i == 0 {
			continue
		}
		t.add(shape{"roads", kind, fmt.Sprintf("%d Street", 100+i), line, from, []point{{at, 6000}, {at, -4000}}})
		if at > -4000 {
			t.add(shape{"roads", kind, fmt.Sprintf("%d Lane", 200+i), line, from, []point{{-6000, at}, {6000, at}}})
		}
	}
	for x := -2400.0; x < 2400; x += 83 {
		for y := -2400.0; y < 2400; y += 83 {
			t.add(shape{"buildings", "building", "", polygon, 14, square(x+41, y+41, 24)})
		}
	}
	t.add(shape{"boundaries", "county", "", line, 7, []point{{9000, townSize}, {8000, -4400}}})
	t.add(shape{"places", "locality", "Accra", point1, 4, []point{{0, 0}}})
	for name, p := range map[string]point{"Osu": {3000, -2000}, "Dansoman": {-5000, -1200}, "Achimota": {-2200, 4200}, "Legon": {3500, 5500}} {
		t.add(shape{"places", "neighbourhood", name, point1, 11, []point{p}})
	}
}

func square(x, y, half float64) []point {
	return []point{{x - half, y + half}, {x + half, y + half}, {x + half, y - half}, {x - half, y - half}}
}

// circle is its points between two angles, in halves of a turn.
func circle(x, y, radius, from, to float64) (all []point) {
	for a := from; a < to; a += .02 {
		all = append(all, point{x + radius*math.Cos(a*math.Pi), y + radius*math.Sin(a*math.Pi)})
	}
	return all
}

func (t *town) tile(zoom, column, row int, layers []string) (all []byte) {
	for _, name := range layers {
		var kinds, features []byte
		texts := map[string]int{}
		text := func(s string) int {
			if _, there := texts[s]; !there {
				texts[s] = len(texts)
				kinds = append(kinds, field(4, field(1, []byte(s)))...)
			}
			return texts[s]
		}
		for _, s := range t.shapes {
			if s.layer != name || s.from > zoom {
				continue
			}
			var points []point
			for _, p := range s.points {
				x, y := t.at(p, zoom)
				points = append(points, point{(x - float64(column)) * extent, (y - float64(row)) * extent})
			}
			geometry := s.geometry(points)
			if geometry == nil {
				continue
			}
			tags := binary.AppendUvarint(binary.AppendUvarint(nil, 0), uint64(text(s.kind)))
			if s.name != "" {
				tags = binary.AppendUvarint(binary.AppendUvarint(tags, 1), uint64(text(s.name)))
			}
			features = append(features, field(2, slices.Concat(field(2, tags), field(3, s.form), field(4, geometry)))...)
		}
		if features != nil {
			all = append(all, field(3, slices.Concat(field(15, 2), field(1, []byte(name)), features,
				field(3, []byte("kind")), field(3, []byte("name")), kinds, field(5, extent)))...)
		}
	}
	return all
}

// geometry is what of a shape is on a tile or near it; nil: nothing.
func (s *shape) geometry(points []point) (b []byte) {
	last := point{}
	put := func(command int, points ...point) {
		var numbers []int
		for _, p := range points {
			p = point{math.Round(p.x), math.Round(p.y)}
			numbers = append(numbers, int(p.x-last.x), int(p.y-last.y))
			last = p
		}
		b = append(b, steps(command, max(1, len(points)), numbers...)...)
	}
	switch s.form {
	case point1:
		if p := points[0]; min(p.x, p.y) >= 0 && max(p.x, p.y) < extent {
			put(moveTo, p)
		}
	case line:
		for i := 1; i < len(points); i++ {
			if from, to, in := within(points[i-1], points[i]); in {
				put(moveTo, from)
				put(lineTo, to)
			}
		}
	default:
		if points = cut(points); len(points) > 2 {
			put(moveTo, points[0])
			put(lineTo, points[1:]...)
			put(closed)
		}
	}
	return b
}

// within is the part of a line that is on a tile.
func within(a, b point) (from, to point, in bool) {
	first, last := 0.0, 1.0
	for _, side := range [][2]float64{
		{a.x - b.x, a.x + beyond}, {b.x - a.x, extent + beyond - a.x}, {a.y - b.y, a.y + beyond}, {b.y - a.y, extent + beyond - a.y},
	} {
		switch way, room := side[0], side[1]; {
		case way == 0 && room < 0:
			return a, b, false
		case way < 0:
			first = max(first, room/way)
		case way > 0:
			last = min(last, room/way)
		}
	}
	part := func(f float64) point { return point{a.x + f*(b.x-a.x), a.y + f*(b.y-a.y)} }
	return part(first), part(last), first < last
}

// cut is the part of a polygon that is on a tile, by one side of it after the other.
func cut(points []point) []point {
	for _, room := range []func(point) float64{
		func(p point) float64 { return p.x + beyond }, func(p point) float64 { return extent + beyond - p.x },
		func(p point) float64 { return p.y + beyond }, func(p point) float64 { return extent + beyond - p.y },
	} {
		var left []point
		for i, p := range points {
			before := points[(i+len(points)-1)%len(points)]
			if in := room(p) >= 0; in != (room(before) >= 0) {
				f := room(before) / (room(before) - room(p))
				left = append(left, point{before.x + f*(p.x-before.x), before.y + f*(p.y-before.y)})
			}
			if room(p) >= 0 {
				left = append(left, p)
			}
		}
		points = left
	}
	return points
}
