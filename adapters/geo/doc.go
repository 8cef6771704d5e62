// Package geo reads where the company delivers, from GeoJSON, and a street map to draw below
// it, from PMTiles.
//
// # Service area
//
// A file holds a Polygon, a MultiPolygon, a Feature of one of them, or a
// FeatureCollection of such features; the area is the union of all. Holes are
// outside; points on a border, of a hole too, are inside. Edges are straight
// in degrees, as RFC 7946 has it, and an area across the date line is two
// polygons.
//
// Positions are decoded here and not by orb/geojson, which reads a missing
// latitude as 0 and so turns a typing error into an area in the Atlantic.
//
// # Street map
//
// TileArchive reads a street map from one file of PMTiles, version 3: the format of
// Protomaps, whose tool cuts a region out of a map of the world.
//
// The file is opened for each tile and nothing keeps it open, so that an operator puts a
// newer one in its place while the program serves: the next tile is of that one. What is
// kept is the front of the file and the directories that tiles were found by, for as long
// as size, time and identity of the file stay the same.
//
// Decisions that bind it:
//
//   - The file is not trusted. Every length has a bound, in the file and unpacked (limits.go),
//     every place is held against the size of the file, and a directory leads to another
//     one thrice at most. A tile itself is not looked into: it is drawn by a browser.
//   - Pictures and compressions by Brotli and Zstandard are refused when the file is opened.
//     No tool writes vector tiles so, unless it is told to.
//   - It is our own code: four sections, a curve and a table of numbers. The library of the
//     format's authors, github.com/protomaps/go-pmtiles, is a program to make, cut and serve files
//     that can be imported too. Its module requires the SDKs of three clouds, gocloud, Caddy and a
//     second SQLite, and its only package imports those for storage in clouds: more than all else
//     that this program is made of, for a file on its own disk. And a reader for files of one's
//     own making takes the sizes in them as they are told.
package geo
