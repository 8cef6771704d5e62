// Package geo reads the service area from GeoJSON, and a street map to draw below it from
// PMTiles.
//
// # Service area
//
// A file holds a Polygon, a MultiPolygon, a Feature of one of them, or a FeatureCollection of
// such features. The area is the union of all. Holes are outside. Points on a border, of a hole
// too, are inside. Edges are straight in degrees, as in RFC 7946, and an area across the date
// line is two polygons.
//
// Positions are decoded here and not by orb/geojson, which reads a missing latitude as 0 and so
// turns a typing error into an area in the Atlantic.
//
// # Street map
//
// TileArchive reads a street map from one file of PMTiles, version 3: the format of Protomaps,
// whose tool extracts a region from a map of the world.
//
// The file is opened for each tile and never kept open, so that an operator can replace it
// while the program serves: the next tile comes from the new file. The start of the file and
// the directories of recent tiles are cached, for as long as size, time and identity of the
// file stay the same.
//
// Decisions that bind it:
//
//   - The file is not trusted. Every length has a limit, in the file and unpacked (limits.go),
//     every position is checked against the size of the file, and at most three directories
//     lead to another one. The content of a tile is not checked: a browser draws it.
//   - Opening a file fails if it holds pictures, or is compressed with Brotli or Zstandard. No
//     tool writes vector tiles so by default.
//   - It is our own code: four sections, a curve and a table of numbers. The library of the
//     format's authors, github.com/protomaps/go-pmtiles, is a program to make, cut and serve
//     files that can be imported too. Its module requires the SDKs of three clouds, gocloud,
//     Caddy and a second SQLite, and its only package imports those for storage in clouds:
//     more than everything else in this program, for a file on its own disk. It also trusts
//     the sizes in the file, since it reads files that its user made.
package geo
