package geo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"waybill/ports"
)

// TileArchive is a street map in a file.
type TileArchive struct {
	path string

	mu   sync.Mutex
	last *sheet // what was read of the latest file; nil: nothing
}

// OpenTiles reads the start of a file, so that errors in it show when the program starts.
func OpenTiles(path string) (*TileArchive, error) {
	a := &TileArchive{path: path}
	_, err := a.StreetMap()
	return a, err
}

// StreetMap describes the current file.
func (a *TileArchive) StreetMap() (ports.StreetMap, error) {
	f, s, err := a.open()
	if err != nil {
		return ports.StreetMap{}, err
	}
	defer func() { _ = f.Close() }() // it was read only
	return s.described, nil
}

// Tile reads a tile of the current file.
func (a *TileArchive) Tile(zoom, column, row int) (ports.MapTile, error) {
	f, s, err := a.open()
	if err != nil {
		return ports.MapTile{}, err
	}
	defer func() { _ = f.Close() }() // it was read only
	tile, err := s.tile(f, zoom, column, row)
	if err != nil && !errors.Is(err, ports.ErrNoTile) {
		err = fmt.Errorf("%s: tile %d/%d/%d: %w", a.path, zoom, column, row, err)
	}
	return tile, err
}

// open opens the file. It returns what was already read of it while it is the same file.
func (a *TileArchive) open() (*os.File, *sheet, error) {
	info, err := os.Stat(a.path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return nil, nil, fmt.Errorf("%s is no file", a.path)
	}
	f, err := os.Open(a.path)
	if err != nil {
		return nil, nil, err
	}
	s, err := a.read(f)
	if err != nil {
		_ = f.Close() // it was read only
		return nil, nil, fmt.Errorf("%s cannot be used: %w", a.path, err)
	}
	return f, s, nil
}

func (a *TileArchive) read(f *os.File) (*sheet, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.last; s != nil && os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) {
		return s, nil
	}
	s, err := readSheet(f, uint64(info.Size()), info.ModTime().String()) //nolint:gosec // a file size is not negative
	if err != nil {
		return nil, err
	}
	s.info, a.last = info, s
	return s, nil
}

// sheet holds what was read of a file.
type sheet struct {
	info os.FileInfo
	header
	described ports.StreetMap
	root      []entry

	mu     sync.Mutex
	leaves map[section][]entry
	kept   int // entries in them
}

// readSheet reads the start of a file. The stamp differs for another content of the same size.
func readSheet(r io.ReaderAt, size uint64, stamp string) (*sheet, error) {
	h, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%v %d %s", h, size, stamp))
	s := &sheet{header: h, leaves: map[section][]entry{}}
	if s.described, err = h.describe(r, hex.EncodeToString(sum[:8])); err != nil {
		return nil, err
	}
	s.root, err = s.readDirectory(r, h.root)
	return s, err
}

func (s *sheet) readDirectory(r io.ReaderAt, at section) ([]entry, error) {
	const what = "a directory"
	b, err := at.read(r, mostOfDirectory, what)
	if err != nil {
		return nil, err
	}
	if b, err = unpacked(b, s.directoriesBy, mostOfDirectory, what); err != nil {
		return nil, err
	}
	return parseDirectory(b, &s.header)
}

// directory returns the directory that an entry leads to. When too many are cached it clears
// the cache.
func (s *sheet) directory(r io.ReaderAt, e entry) ([]entry, error) {
	at := section{s.header.leaves.offset + e.offset, uint64(e.length)}
	s.mu.Lock()
	known := s.leaves[at]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	entries, err := s.readDirectory(r, at)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept+len(entries) > mostKept {
		clear(s.leaves)
		s.kept = 0
	}
	if s.leaves[at] == nil {
		s.leaves[at], s.kept = entries, s.kept+len(entries)
	}
	return entries, nil
}

func (s *sheet) tile(r io.ReaderAt, zoom, column, row int) (ports.MapTile, error) {
	if zoom < int(s.minZoom) || zoom > int(s.maxZoom) || min(column, row) < 0 || max(column, row) >= 1<<zoom {
		return ports.MapTile{}, ports.ErrNoTile
	}
	id, entries := tileID(zoom, column, row), s.root
	for range deepest {
		e, found := find(entries, id)
		if !found {
			return ports.MapTile{}, ports.ErrNoTile
		}
		if e.run > 0 {
			b, err := section{s.tiles.offset + e.offset, uint64(e.length)}.read(r, mostOfTile, "a tile")
			return ports.MapTile{Content: b, Packed: s.tilesBy == zipped, Version: s.described.Version}, err
		}
		var err error
		if entries, err = s.directory(r, e); err != nil {
			return ports.MapTile{}, err
		}
	}
	return ports.MapTile{}, errors.New("its directories lead to each other")
}
