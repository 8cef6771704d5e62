package geo

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"
	"github.com/paulmach/orb/simplify"

	"waybill/domain"
	"waybill/ports"
)

var (
	_ ports.ServiceArea    = (*Area)(nil)
	_ ports.ServiceOutline = (*Area)(nil)
)

// onBorder is how far from a border, in degrees, a point still counts as on it: a tenth of a
// millimetre, which absorbs the rounding of slanted edges.
const onBorder = 1e-9

// Area is the service area of the company. It never changes.
type Area struct {
	polygons []polygon
}

type polygon struct {
	rings orb.Polygon // the outer one, then the holes
	bound orb.Bound   // of the outer ring, padded by onBorder
}

// DefaultArea returns a box around Ghana.
func DefaultArea() *Area {
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

// mostOutline is about how many points an outline has: a few kilobytes of a page.
const mostOutline = 2000

// Outline leaves out points of a detailed border, until the outline is short enough.
func (a *Area) Outline() [][]domain.Coordinates {
	for tolerance := 0.0; ; tolerance = max(1e-4, 2*tolerance) {
		points := 0
		var outline [][]domain.Coordinates
		for _, p := range a.polygons {
			for _, ring := range p.rings {
				if tolerance > 0 {
					ring = simplify.DouglasPeucker(tolerance).Ring(ring.Clone())
				}
				if points += len(ring); len(ring) < 4 {
					continue // too small to be seen
				}
				drawn := make([]domain.Coordinates, len(ring))
				for i, at := range ring {
					drawn[i] = domain.Coordinates{Latitude: at.Lat(), Longitude: at.Lon()}
				}
				outline = append(outline, drawn)
			}
		}
		if points <= mostOutline || tolerance > 1 {
			return outline
		}
	}
}

// borders reports whether the point is on an edge. Call it last: it visits each edge, and few
// points are on one.
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
