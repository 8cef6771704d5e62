package ports

import (
	"errors"

	"waybill/domain"
)

// ErrNoTile means that the street map has nothing at that place, such as far out at sea.
var ErrNoTile = errors.New("the street map has no tile there")

// MapTiles are a street map: vector tiles (MVT) in the squares of the web's Mercator
// projection, as its owner keeps them up to date.
type MapTiles interface {
	// StreetMap describes the map as it is now. Its errors say to the operator why there
	// is none.
	StreetMap() (StreetMap, error)
	// Tile reads the tile at a column and a row of a zoom; ErrNoTile where there is none.
	Tile(zoom, column, row int) (MapTile, error)
}

// StreetMap is what a street map tells of itself.
type StreetMap struct {
	// Version is another one as soon as any tile may be.
	Version              string
	MinZoom, MaxZoom     int
	SouthWest, NorthEast domain.Coordinates // of what it covers
	Layers               []string           // of its tiles, as its makers name them
	// Attribution names those whose data it is, as a text or as HTML; it is theirs, and
	// is not to be trusted as HTML.
	Attribution string
}

// MapTile is one tile.
type MapTile struct {
	Content []byte
	Packed  bool   // by gzip
	Version string // of the street map
}
