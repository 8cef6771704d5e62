package geo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// entry says where the tiles with the IDs from first on are or, with a run of 0, where their
// directory is.
type entry struct {
	first, offset uint64
	length, run   uint32
}

// errCut reports that numbers are missing.
var errCut = errors.New("a directory ends before its last number")

// parseDirectory reads a directory. It holds the number of entries, and then columns for all of
// them: the distance of each ID from the previous one, runs, lengths, and offsets plus one,
// where 0 means directly after the previous entry. All positions are checked against their
// section.
func parseDirectory(b []byte, h *header) ([]entry, error) {
	number := func() (uint64, error) {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return 0, errCut
		}
		b = b[size:]
		return n, nil
	}
	count, err := number()
	if err != nil {
		return nil, err
	}
	if count == 0 || count > uint64(len(b)/4) {
		return nil, fmt.Errorf("a directory of %d bytes is said to have %d entries", len(b), count)
	}
	entries := make([]entry, count)
	for column := range 4 {
		for i := range entries {
			n, err := number()
			if err != nil {
				return nil, err
			}
			if err := entries[i].take(column, n, entries[:i]); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range entries {
		home := h.tiles
		if e.run == 0 {
			home = h.leaves
		}
		if !(section{e.offset, uint64(e.length)}).within(home.length) {
			return nil, fmt.Errorf("a directory leads to byte %d of a part of %d", e.offset, home.length)
		}
	}
	return entries, nil
}

// take sets a column of an entry.
func (e *entry) take(column int, n uint64, before []entry) error {
	last := entry{}
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	switch column {
	case 0:
		if e.first = last.first + n; e.first < n || len(before) > 0 && n == 0 {
			return errors.New("the IDs of a directory do not rise")
		}
	case 1, 2:
		if n > math.MaxUint32 || column == 2 && n == 0 {
			return fmt.Errorf("a directory has a run or a length of %d", n)
		}
		if column == 1 {
			e.run = uint32(n)
		} else {
			e.length = uint32(n)
		}
	default:
		if n > 0 {
			e.offset = n - 1
		} else if e.offset = last.offset + uint64(last.length); len(before) == 0 || e.offset < last.offset {
			return errors.New("a directory leads nowhere")
		}
	}
	return nil
}

// find returns the entry of a tile or of its directory.
func find(entries []entry, id uint64) (e entry, found bool) {
	i, exact := slices.BinarySearchFunc(entries, id, func(e entry, id uint64) int {
		switch {
		case e.first < id:
			return -1
		case e.first > id:
			return 1
		}
		return 0
	})
	if !exact {
		i--
	}
	if i < 0 {
		return e, false
	}
	e = entries[i]
	return e, e.run == 0 || id-e.first < uint64(e.run)
}

// tileID returns the number of a square. Lower zooms come first, and the squares of one zoom
// follow Hilbert's curve.
func tileID(zoom, column, row int) uint64 {
	id := (uint64(1)<<(2*zoom) - 1) / 3
	x, y := uint64(column), uint64(row) //nolint:gosec // neither is below 0
	for side := uint64(1) << zoom >> 1; side > 0; side >>= 1 {
		right, low := x&side/side, y&side/side
		id += side * side * (3*right ^ low)
		if low == 0 {
			if right == 1 {
				x, y = ^x, ^y
			}
			x, y = y, x
		}
	}
	return id
}
