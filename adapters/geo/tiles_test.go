package geo_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"waybill/adapters/geo"
	"waybill/ports"
	"waybill/test/streets"
)

var _ ports.MapTiles = (*geo.TileArchive)(nil)

func write(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "map.pmtiles")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, content []byte) *geo.TileArchive {
	t.Helper()
	a, err := geo.OpenTiles(write(t, content))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// plain returns a tile unpacked.
func plain(t testing.TB, tile ports.MapTile) string {
	t.Helper()
	if !tile.Packed {
		return string(tile.Content)
	}
	z, err := gzip.NewReader(bytes.NewReader(tile.Content))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// patchwork returns a map with zooms 2 to 5, in which squares have their own tiles, share one
// with their neighbours, or have none.
func patchwork(change func(*streets.Map)) streets.Map {
	m := streets.Map{Tiles: map[streets.Square][]byte{}, Layers: []string{"roads"}, Attribution: "Survey"}
	for zoom := 2; zoom <= 5; zoom++ {
		for column := range 1 << zoom {
			for row := range 1 << zoom {
				switch {
				case column*3+row < 1<<zoom:
					m.Tiles[streets.Square{Zoom: zoom, Column: column, Row: row}] = []byte("sea")
				case (column+row)%3 > 0:
					m.Tiles[streets.Square{Zoom: zoom, Column: column, Row: row}] = fmt.Appendf(nil, "%d/%d/%d", zoom, column, row)
				}
			}
		}
	}
	change(&m)
	return m
}

func TestEveryTileIsFoundInEachShapeOfAFile(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*streets.Map){
		"one directory":                func(*streets.Map) {},
		"packed":                       func(m *streets.Map) { m.Packed = true },
		"directories below":            func(m *streets.Map) { m.LeafSize = 50 },
		"directories below, packed":    func(m *streets.Map) { m.LeafSize, m.Packed = 7, true },
		"directories of a single tile": func(m *streets.Map) { m.LeafSize = 1 },
		"tiles in another order":       func(m *streets.Map) { m.LeafSize, m.Packed, m.Scattered = 50, true, true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := patchwork(change)
			a := open(t, m.Bytes())
			none := 0
			for zoom := range 7 {
				for column := -1; column <= 1<<zoom; column++ {
					for row := -1; row <= 1<<zoom; row++ {
						want, there := m.Tiles[streets.Square{Zoom: zoom, Column: column, Row: row}]
						tile, err := a.Tile(zoom, column, row)
						switch {
						case !there:
							if none++; !errors.Is(err, ports.ErrNoTile) {
								t.Fatalf("%d/%d/%d: %q, %v", zoom, column, row, tile.Content, err)
							}
						case err != nil || plain(t, tile) != string(want) || tile.Packed != m.Packed:
							t.Fatalf("%d/%d/%d: %q, %v, want %q", zoom, column, row, tile.Content, err, want)
						}
					}
				}
			}
			if none < 500 || len(m.Tiles) < 800 {
				t.Errorf("%d squares without a tile, and %d with one", none, len(m.Tiles))
			}
		})
	}
}

func TestASquareHasTheNumberThatTheFormatGivesIt(t *testing.T) {
	t.Parallel()
	for _, q := range []struct{ number, zoom, column, row int }{ // as the specification of PMTiles lists them
		{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 1, 0, 1}, {3, 1, 1, 1}, {4, 1, 1, 0}, {5, 2, 0, 0}, {19078479, 12, 3423, 1763},
	} {
		a := open(t, set(set(withRoot(1, uint64(q.number), 1, 3, 1), 100, 0), 101, 12))
		for zoom := range 13 {
			for _, at := range [][2]int{{q.column, q.row}, {q.row, q.column}, {q.column ^ 1, q.row}, {0, 0}} {
				_, err := a.Tile(zoom, at[0], at[1])
				if there := zoom == q.zoom && at == [2]int{q.column, q.row}; there != (err == nil) {
					t.Errorf("%d: %d/%v: %v", q.number, zoom, at, err)
				}
			}
		}
	}
}

func TestAMapTellsWhatItIs(t *testing.T) {
	t.Parallel()
	got, err := open(t, streets.World(4).Bytes()).StreetMap()
	if err != nil || got.Version == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	want := ports.StreetMap{
		Version: got.Version, MaxZoom: 4, Layers: []string{"earth", "water", "roads"},
		Attribution: `<a href="https://www.openstreetmap.org/copyright">© OpenStreetMap</a> contributors`,
	}
	want.SouthWest.Longitude, want.SouthWest.Latitude, want.NorthEast.Longitude, want.NorthEast.Latitude = -180, -85, 180, 85
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestAnotherFileIsServedAtOnceUnderAnotherVersion(t *testing.T) {
	t.Parallel()
	first, second := patchwork(func(m *streets.Map) { m.LeafSize = 50 }), patchwork(func(m *streets.Map) { m.LeafSize = 50 })
	for at := range second.Tiles {
		second.Tiles[at] = append([]byte(nil), "new"...)
	}
	path := write(t, first.Bytes())
	a, err := geo.OpenTiles(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(what string) ports.MapTile {
		t.Helper()
		tile, err := a.Tile(5, 30, 31)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return tile
	}
	old := read("the first file")
	if again := read("the first file again"); again.Version != old.Version || string(again.Content) != "5/30/31" {
		t.Errorf("%q of version %q, then %q", again.Content, old.Version, again.Version)
	}
	for name, replace := range map[string]func() error{
		"renamed over it": func() error { return os.Rename(write(t, second.Bytes()), path) },
		"written into it": func() error {
			err := os.WriteFile(path, second.Bytes(), 0o600)
			return errors.Join(err, os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)))
		},
	} {
		if err := os.WriteFile(path, first.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		old := read(name)
		if err := replace(); err != nil {
			t.Fatal(err)
		}
		if tile := read(name); string(tile.Content) != "new" || tile.Version == old.Version {
			t.Errorf("%s: %q of version %q, which was %q", name, tile.Content, tile.Version, old.Version)
		}
	}
	if err := os.Truncate(path, 200); err != nil {
		t.Fatal(err)
	}
	if _, err := a.StreetMap(); err == nil || !strings.Contains(err.Error(), "not copied whole") {
		t.Errorf("cut off: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Tile(5, 30, 31); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
	if err := os.WriteFile(path, first.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if tile := read("back again"); string(tile.Content) != "5/30/31" {
		t.Errorf("back again: %q", tile.Content)
	}
}

func TestManyReadersFindTheirTilesWhileFilesChange(t *testing.T) {
	t.Parallel()
	m := patchwork(func(m *streets.Map) { m.LeafSize = 10 })
	path := write(t, m.Bytes())
	a, err := geo.OpenTiles(path)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 8)
	for range cap(failed) {
		go func() {
			for at, want := range m.Tiles {
				tile, err := a.Tile(at.Zoom, at.Column, at.Row)
				if err == nil && !bytes.Equal(tile.Content, want) {
					err = fmt.Errorf("%v is %q", at, tile.Content)
				}
				if err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range 20 {
		if err := os.Rename(write(t, m.Bytes()), path); err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}
