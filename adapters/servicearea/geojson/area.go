package geojson

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.ServiceArea = (*Area)(nil)

// onBorder is how far from a border, in degrees, still counts as on it: a
// tenth of a millimetre, which absorbs the rounding of slanted edges.
const onBorder = 1e-9

// Area is where the company delivers. It never changes.
type Area struct {
	polygons []polygon
}

type polygon struct {
	rings orb.Polygon // the outer one, then the holes
	bound orb.Bound   // of the outer ring, padded by onBorder
}

// Default is a box around Ghana.
func Default() *Area {
	box := orb.Bound{Min: orb.Point{-3.4, 4.5}, Max: orb.Point{1.3, 11.3}}
	return newArea(orb.MultiPolygon{box.ToPolygon()})
}

func newArea(polygons orb.MultiPolygon) *Area {
	a := &Area{polygons: make([]polygon, len(polygons))}
	for i, p := range polygons {
		a.polygons[i] = polygon{rings: p, bound: p.Bound().Pad(onBorder)}
	}
	return a
}

// Contains reports whether the point is inside or on a border. NaN is outside.
func (a *Area) Contains(c domain.Coordinates) bool {
	if math.IsNaN(c.Latitude) || math.IsNaN(c.Longitude) {
		return false
	}
	at := orb.Point{c.Longitude, c.Latitude}
	for _, p := range a.polygons {
		if p.bound.Contains(at) && (planar.PolygonContains(p.rings, at) || p.borders(at)) {
			return true
		}
	}
	return false
}

// borders is asked last: it visits each edge, and hardly a point is on one.
func (p polygon) borders(at orb.Point) bool {
	for _, ring := range p.rings {
		for i := range len(ring) - 1 {
			if planar.DistanceFromSegmentSquared(ring[i], ring[i+1], at) <= onBorder*onBorder {
				return true
			}
		}
	}
	return false
}
