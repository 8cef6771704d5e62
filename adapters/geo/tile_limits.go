package geo

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// Limits of a file. A map of the whole world stays far below each of them.
const (
	headerSize = 127
	// mostOfFront is the last possible end of the root directory, by the format.
	mostOfFront = 16 << 10
	// mostOfDirectory and mostOfMetadata limit the bytes, packed and unpacked. An entry of a
	// directory has at least four bytes.
	mostOfDirectory = 2 << 20
	mostOfMetadata  = 2 << 20
	mostOfTile      = 2 << 20 // as stored in the file
	// mostKept limits the cached directory entries, of 24 bytes each.
	mostKept = 1 << 20
	// deepest is how many directories lead to a tile.
	deepest = 4
	// mostZoom is the zoom at which a square is a few centimetres wide.
	mostZoom = 30
	// mostLayers and mostText limit what is read from the metadata.
	mostLayers, mostText = 200, 2000
)

// The compressions, by their numbers in the header.
const (
	plain  = 1
	zipped = 2
)

// section is a part of the file.
type section struct{ offset, length uint64 }

// end returns the position after the last byte. It does not overflow once the section was
// checked against the size of a file.
func (s section) end() uint64 { return s.offset + s.length }

// within reports whether the whole section lies in the first size bytes.
func (s section) within(size uint64) bool { return s.offset <= size && s.length <= size-s.offset }

// read reads a section of at most most bytes.
func (s section) read(r io.ReaderAt, most uint64, what string) ([]byte, error) {
	if s.length > most {
		return nil, fmt.Errorf("%s of %d bytes, and %d are the most", what, s.length, most)
	}
	b := make([]byte, s.length)
	if _, err := r.ReadAt(b, int64(s.offset)); err != nil && (err != io.EOF || s.length > 0) { //nolint:gosec // it lies in the file
		return nil, fmt.Errorf("%s at byte %d: %w", what, s.offset, err)
	}
	return b, nil
}

// unpacked decompresses bytes to at most most bytes.
func unpacked(b []byte, compression byte, most int, what string) ([]byte, error) {
	if compression == plain {
		return b, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s is not packed by gzip: %w", what, err)
	}
	all, err := io.ReadAll(io.LimitReader(z, int64(most)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be unpacked: %w", what, err)
	case len(all) > most:
		return nil, fmt.Errorf("%s unpacks to more than %d bytes", what, most)
	}
	return all, nil
}
