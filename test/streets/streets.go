// Package streets writes street maps for tests, in each of the shapes that a PMTiles file
// may have. It shares nothing with the reader of the program.
package streets

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
)

// Square is one of those that a zoom divides the world into.
type Square struct{ Zoom, Column, Row int }

// Map is a street map.
type Map struct {
	Tiles       map[Square][]byte
	Packed      bool // directories, metadata and tiles, by gzip
	LeafSize    int  // entries of a directory below the first one; 0: there is only that
	Scattered   bool // the tiles lie in the reverse order
	Attribution string
	Layers      []string
}

// World is a map of zooms 0 to most. On each tile all is land, the eastern half is water,
// and a road called Liberation Road runs through the middle from west to east.
func World(most int) Map {
	m := Map{Tiles: map[Square][]byte{}, Packed: true, Layers: []string{"earth", "water", "roads"},
		Attribution: `<a href="https://www.openstreetmap.org/copyright">© OpenStreetMap</a> contributors`}
	tile := slices.Concat(layer("earth", feature{polygon, box(0, 4096), "earth", ""}), layer("water", feature{polygon, box(2048, 4096), "ocean", ""}),
		layer("roads", feature{line, across(), "major_road", "Liberation Road"}))
	for zoom := range most + 1 {
		for column := range 1 << zoom {
			for row := range 1 << zoom {
				m.Tiles[Square{zoom, column, row}] = tile
			}
		}
	}
	return m
}

// number is where a square is on Hilbert's curve, behind all squares of lower zooms.
func (q Square) number() uint64 {
	number := uint64(0)
	for z := range q.Zoom {
		number += 1 << (2 * z)
	}
	side := 1 << q.Zoom
	x, y := q.Column, q.Row
	for half := side / 2; half > 0; half /= 2 {
		right, low := 0, 0
		if x&half > 0 {
			right = 1
		}
		if y&half > 0 {
			low = 1
		}
		number += uint64(half * half * ((3 * right) ^ low))
		if low == 0 {
			if right == 1 {
				x, y = side-1-x, side-1-y
			}
			x, y = y, x
		}
	}
	return number
}

type entry struct{ id, offset, length, run uint64 }

// Bytes is the file.
func (m Map) Bytes() []byte {
	numbers := map[uint64][]byte{}
	minZoom, maxZoom := 31, 0
	for q, tile := range m.Tiles {
		numbers[q.number()] = tile
		minZoom, maxZoom = min(minZoom, q.Zoom), max(maxZoom, q.Zoom)
	}
	ids := slices.Sorted(maps.Keys(numbers))
	order := slices.Clone(ids)
	if m.Scattered {
		slices.Reverse(order)
	}
	var tiles []byte
	at := map[string]entry{}
	for _, id := range order {
		tile := string(numbers[id])
		if _, there := at[tile]; !there {
			packed := m.pack([]byte(tile))
			at[tile] = entry{offset: uint64(len(tiles)), length: uint64(len(packed))}
			tiles = append(tiles, packed...)
		}
	}
	var entries []entry
	for _, id := range ids {
		e := at[string(numbers[id])]
		if last := len(entries) - 1; last >= 0 && entries[last].offset == e.offset && entries[last].id+entries[last].run == id {
			entries[last].run++
			continue
		}
		e.id, e.run = id, 1
		entries = append(entries, e)
	}
	var root, leaves []byte
	if m.LeafSize == 0 {
		root = m.pack(directory(entries))
	} else {
		var above []entry
		for some := range slices.Chunk(entries, m.LeafSize) {
			leaf := m.pack(directory(some))
			above = append(above, entry{id: some[0].id, offset: uint64(len(leaves)), length: uint64(len(leaf))})
			leaves = append(leaves, leaf...)
		}
		root = m.pack(directory(above))
	}
	type vectorLayer struct {
		ID string `json:"id"`
	}
	told := struct {
		Attribution string        `json:"attribution,omitempty"`
		Layers      []vectorLayer `json:"vector_layers"`
	}{m.Attribution, nil}
	for _, name := range m.Layers {
		told.Layers = append(told.Layers, vectorLayer{name})
	}
	metadata, err := json.Marshal(told)
	if err != nil {
		panic(err) // texts only
	}
	metadata = m.pack(metadata)

	header := make([]byte, 127)
	copy(header, "PMTiles\x03")
	end := uint64(len(header))
	for i, part := range [][]byte{root, metadata, leaves, tiles} {
		binary.LittleEndian.PutUint64(header[8+16*i:], end)
		binary.LittleEndian.PutUint64(header[16+16*i:], uint64(len(part)))
		end += uint64(len(part))
	}
	for i, n := range []int{len(ids), len(entries), len(at)} {
		binary.LittleEndian.PutUint64(header[72+8*i:], uint64(n))
	}
	way := byte(1)
	if m.Packed {
		way = 2
	}
	clustered := byte(1)
	if m.Scattered {
		clustered = 0
	}
	copy(header[96:], []byte{clustered, way, way, 1, byte(minZoom), byte(maxZoom)})
	for i, degrees := range []int32{-180, -85, 180, 85} {
		binary.LittleEndian.PutUint32(header[102+4*i:], uint32(degrees*10_000_000))
	}
	return slices.Concat(header, root, metadata, leaves, tiles)
}

func (m Map) pack(b []byte) []byte {
	if !m.Packed {
		return b
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(b) // a buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}

func directory(entries []entry) []byte {
	b := binary.AppendUvarint(nil, uint64(len(entries)))
	last := uint64(0)
	for _, e := range entries {
		b, last = binary.AppendUvarint(b, e.id-last), e.id
	}
	for _, e := range entries {
		b = binary.AppendUvarint(b, e.run)
	}
	for _, e := range entries {
		b = binary.AppendUvarint(b, e.length)
	}
	for i, e := range entries {
		if i > 0 && e.offset == entries[i-1].offset+entries[i-1].length {
			b = binary.AppendUvarint(b, 0)
		} else {
			b = binary.AppendUvarint(b, e.offset+1)
		}
	}
	return b
}
