package geo

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/paulmach/orb"

	"waybill/domain"
)

// maxBytes limits a file: a detailed border of a country has a few megabytes.
const maxBytes = 16 << 20

// ReadArea reads an area from a file of at most 16 MiB.
func ReadArea(path string) (*Area, error) {
	f, err := os.Open(path) //nolint:gosec // the file that the settings name
	if err != nil {
		return nil, fmt.Errorf("service area: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("service area: %w", err)
	}
	area, err := ParseArea(data)
	if err != nil {
		return nil, fmt.Errorf("service area %s: %w", path, err)
	}
	return area, nil
}

// ParseArea parses an area. Its errors tell the author of the file what is wrong and where.
func ParseArea(data []byte) (*Area, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("larger than %d MiB", maxBytes>>20)
	}
	polygons, err := readFile(data)
	if err != nil {
		return nil, err
	}
	return newArea(polygons), nil
}

// object is any GeoJSON object. Its type decides which members matter.
type object struct {
	Type        string           `json:"type"`
	Coordinates jsontext.Value   `json:"coordinates"`
	Geometry    jsontext.Value   `json:"geometry"`
	Features    []jsontext.Value `json:"features"`
}

func readFile(data jsontext.Value) (orb.MultiPolygon, error) {
	const where = "the file"
	o, err := readObject(data, where)
	if err != nil {
		return nil, err
	}
	switch o.Type {
	case "Feature":
		return readFeature(o, where)
	case "FeatureCollection":
		if len(o.Features) == 0 {
			return nil, fmt.Errorf("%s has no features", where)
		}
		var all orb.MultiPolygon
		for i, data := range o.Features {
			where := fmt.Sprintf("feature %d", i+1)
			feature, err := readObject(data, where)
			if err != nil {
				return nil, err
			}
			polygons, err := readFeature(feature, where)
			if err != nil {
				return nil, err
			}
			all = append(all, polygons...)
		}
		return all, nil
	}
	return readGeometry(o, where)
}

func readObject(data jsontext.Value, where string) (object, error) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return o, fmt.Errorf("%s is not GeoJSON: %w", where, err)
	}
	return o, nil
}

func readFeature(o object, where string) (orb.MultiPolygon, error) {
	if o.Type != "Feature" {
		return nil, fmt.Errorf("%s is a %q, not a Feature", where, o.Type)
	}
	if o.Geometry == nil || o.Geometry.Kind() == jsontext.KindNull {
		return nil, fmt.Errorf("%s has no geometry", where)
	}
	where = "the geometry of " + where
	geometry, err := readObject(o.Geometry, where)
	if err != nil {
		return nil, err
	}
	return readGeometry(geometry, where)
}

func readGeometry(o object, where string) (orb.MultiPolygon, error) {
	switch o.Type {
	case "Polygon":
		p, err := readPolygon(o.Coordinates, where)
		return orb.MultiPolygon{p}, err
	case "MultiPolygon":
		return readMultiPolygon(o.Coordinates, where)
	case "":
		return nil, fmt.Errorf("%s has no type", where)
	}
	return nil, fmt.Errorf("%s is a %q; an area is a Polygon or a MultiPolygon, alone or in features", where, o.Type)
}

func readMultiPolygon(coordinates jsontext.Value, where string) (orb.MultiPolygon, error) {
	var raw []jsontext.Value
	if err := json.Unmarshal(coordinates, &raw); err != nil || len(raw) == 0 {
		return nil, fmt.Errorf("%s has no polygons in its coordinates", where)
	}
	all := make(orb.MultiPolygon, len(raw))
	for i := range raw {
		p, err := readPolygon(raw[i], fmt.Sprintf("polygon %d of %s", i+1, where))
		if err != nil {
			return nil, err
		}
		all[i] = p
	}
	return all, nil
}

func readPolygon(coordinates jsontext.Value, where string) (orb.Polygon, error) {
	if coordinates == nil {
		return nil, fmt.Errorf("%s has no coordinates", where)
	}
	var raw [][][]*float64 // pointers, so that a null is not read as 0
	if err := json.Unmarshal(coordinates, &raw); err != nil {
		return nil, fmt.Errorf("the coordinates of %s are not rings of [longitude, latitude]: %w", where, err)
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("%s has no rings", where)
	}
	rings := make(orb.Polygon, len(raw))
	for i := range raw {
		ring, err := readRing(raw[i])
		if err != nil {
			return nil, fmt.Errorf("ring %d of %s: %w", i+1, where, err)
		}
		rings[i] = ring
	}
	return rings, nil
}

func readRing(raw [][]*float64) (orb.Ring, error) {
	if len(raw) < 4 {
		return nil, fmt.Errorf("it has %d positions; a closed ring has at least 4", len(raw))
	}
	ring := make(orb.Ring, len(raw))
	for i, position := range raw {
		if len(position) < 2 || position[0] == nil || position[1] == nil {
			return nil, fmt.Errorf("position %d is not a longitude and a latitude", i+1)
		}
		lon, lat := *position[0], *position[1] // an altitude may follow
		if !domain.MaxLongitude.Holds(lon) || !domain.MaxLatitude.Holds(lat) {
			return nil, fmt.Errorf("position %d is [%v, %v]; longitude comes first, within %s, then latitude, within %s",
				i+1, lon, lat, domain.MaxLongitude, domain.MaxLatitude)
		}
		ring[i] = orb.Point{lon, lat}
	}
	if !ring.Closed() {
		return nil, errors.New("its last position is not its first: the ring is open")
	}
	// A ring that encloses nothing would silently switch off every delivery.
	if b := ring.Bound(); b.Min[0] == b.Max[0] || b.Min[1] == b.Max[1] {
		return nil, errors.New("it encloses nothing")
	}
	return ring, nil
}
