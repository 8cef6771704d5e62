package geo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"

	"waybill/domain"
	"waybill/ports"
)

// vectorTiles is the number of the only kind of tiles that is served.
const vectorTiles = 1

// header is the header of a file.
type header struct {
	root, metadata, leaves, tiles section
	directoriesBy, tilesBy        byte // compressions
	minZoom, maxZoom              byte
	southWest, northEast          domain.Coordinates
}

// readHeader reads the header of a file of this size, and checks all its positions against the
// size.
func readHeader(r io.ReaderAt, size uint64) (h header, err error) {
	b := make([]byte, headerSize)
	if _, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return h, fmt.Errorf("it cannot be read: %w", err)
	}
	if size < headerSize || string(b[:7]) != "PMTiles" {
		return h, errors.New("it is no PMTiles file")
	}
	if b[7] != 3 {
		return h, fmt.Errorf("it is PMTiles of version %d, and 3 is wanted: convert it by pmtiles convert", b[7])
	}
	for i, s := range []*section{&h.root, &h.metadata, &h.leaves, &h.tiles} {
		at := b[8+16*i:]
		*s = section{binary.LittleEndian.Uint64(at), binary.LittleEndian.Uint64(at[8:])}
		if what := []string{"root directory", "metadata", "leaf directories", "tiles"}[i]; !s.within(size) {
			return h, fmt.Errorf("its %s have %d bytes from byte %d on, of %d in all: it was not copied whole, or is broken",
				what, s.length, s.offset, size)
		}
	}
	if h.root.end() > mostOfFront {
		return h, fmt.Errorf("its root directory ends at byte %d, and %d is the last one by the format", h.root.end(), mostOfFront)
	}
	h.directoriesBy, h.tilesBy, h.minZoom, h.maxZoom = b[97], b[98], b[100], b[101]
	switch {
	case b[99] != vectorTiles:
		return h, fmt.Errorf("its tiles are of kind %d, and vector tiles (MVT, 1) are wanted", b[99])
	case !known(h.directoriesBy) || !known(h.tilesBy):
		return h, fmt.Errorf("it is packed by ways %d and %d, and gzip (2) or none (1) are wanted", h.directoriesBy, h.tilesBy)
	case h.minZoom > h.maxZoom || h.maxZoom > mostZoom:
		return h, fmt.Errorf("its zooms go from %d to %d, and 0 to %d are wanted", h.minZoom, h.maxZoom, mostZoom)
	}
	degrees := func(at int) float64 { return float64(int32(binary.LittleEndian.Uint32(b[at:]))) / 1e7 } //nolint:gosec // signed by the format
	h.southWest = domain.Coordinates{Longitude: degrees(102), Latitude: degrees(106)}
	h.northEast = domain.Coordinates{Longitude: degrees(110), Latitude: degrees(114)}
	if !inWorld(h.southWest) || !inWorld(h.northEast) || h.southWest.Latitude > h.northEast.Latitude {
		return h, fmt.Errorf("it covers %v to %v, which is no part of the world", h.southWest, h.northEast)
	}
	return h, nil
}

func known(compression byte) bool { return compression == plain || compression == zipped }

func inWorld(at domain.Coordinates) bool {
	return at.Latitude >= -90 && at.Latitude <= 90 && at.Longitude >= -180 && at.Longitude <= 180
}

// describe reads the metadata.
func (h *header) describe(r io.ReaderAt, version string) (ports.StreetMap, error) {
	m := ports.StreetMap{Version: version, MinZoom: int(h.minZoom), MaxZoom: int(h.maxZoom), SouthWest: h.southWest, NorthEast: h.northEast}
	const what = "the metadata"
	b, err := h.metadata.read(r, mostOfMetadata, what)
	if err != nil {
		return m, err
	}
	if b, err = unpacked(b, h.directoriesBy, mostOfMetadata, what); err != nil {
		return m, err
	}
	var described struct {
		Attribution string `json:"attribution"`
		Layers      []struct {
			ID string `json:"id"`
		} `json:"vector_layers"`
	}
	if err := json.Unmarshal(b, &described); err != nil {
		return m, fmt.Errorf("%s are no JSON as expected: %w", what, err)
	}
	if m.Attribution = described.Attribution; len(m.Attribution) > mostText {
		m.Attribution = strings.ToValidUTF8(m.Attribution[:mostText], "")
	}
	for _, l := range described.Layers {
		if len(m.Layers) < mostLayers && len(l.ID) <= mostText {
			m.Layers = append(m.Layers, l.ID)
		}
	}
	return m, nil
}
