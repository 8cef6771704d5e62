// Package geojson tells from a GeoJSON file where the company delivers.
//
// A file holds a Polygon, a MultiPolygon, a Feature of one of them, or a
// FeatureCollection of such features; the area is the union of all. Holes are
// outside; points on a border, of a hole too, are inside. Edges are straight
// in degrees, as RFC 7946 has it, and an area across the date line is two
// polygons.
//
// Positions are decoded here and not by orb/geojson, which reads a missing
// latitude as 0 and so turns a typing error into an area in the Atlantic.
package geojson
