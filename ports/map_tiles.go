package ports

import (
	"errors"

	"waybill/domain"
)

// ErrNoTile means that the street map has nothing at that place, such as far out at sea.
var ErrNoTile = errors.New("the street map has no tile there")

// MapTiles provides a street map, as its owner keeps it up to date: vector tiles (MVT) in the
// squares of Web Mercator.
type MapTiles interface {
	// StreetMap describes the current map. Its errors explain to the operator why there is none.
	StreetMap() (StreetMap, error)
	// Tile reads the tile at a column and a row of a zoom level, or returns ErrNoTile.
	Tile(zoom, column, row int) (MapTile, error)
}

// StreetMap describes a street map.
type StreetMap struct {
	// Version changes whenever any tile may have changed.
	Version              string
	MinZoom, MaxZoom     int
	SouthWest, NorthEast domain.Coordinates // the covered area
	Layers               []string           // of its tiles, with their original names
	// Attribution names the owners of the data, as text or HTML. It comes from them: do not trust
	// it as HTML.
	Attribution string
}

// MapTile is one tile.
type MapTile struct {
	Content []byte
	Packed  bool   // by gzip
	Version string // of the street map
}
