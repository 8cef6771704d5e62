package geo

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// What a file may have. A map of the whole world stays far below each of these.
const (
	headerSize = 127
	// mostOfFront is where the root directory ends at the latest, by the format.
	mostOfFront = 16 << 10
	// mostOfDirectory and mostOfMetadata are bytes, packed and unpacked; an entry of a
	// directory has four of them or more.
	mostOfDirectory = 2 << 20
	mostOfMetadata  = 2 << 20
	mostOfTile      = 2 << 20 // as it lies in the file
	// mostKept are entries of directories in memory, of 24 bytes each.
	mostKept = 1 << 20
	// deepest is how many directories lead to a tile.
	deepest = 4
	// mostZoom is where a square is a few centimetres wide.
	mostZoom = 30
	// mostLayers and mostText bound what is taken over from the metadata.
	mostLayers, mostText = 200, 2000
)

// The compressions, by their numbers in the header.
const (
	plain  = 1
	zipped = 2
)

// section is a part of the file.
type section struct{ offset, length uint64 }

// end is behind its last byte. It does not overflow once the section was held against the
// size of a file.
func (s section) end() uint64 { return s.offset + s.length }

// within reports whether all of it lies in the first size bytes.
func (s section) within(size uint64) bool { return s.offset <= size && s.length <= size-s.offset }

// read reads a section that has most bytes at most.
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

// unpacked undoes a compression, of what has most bytes then at most.
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
