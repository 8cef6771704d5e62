package geo_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"waybill/adapters/geo"
	"waybill/test/streets"
)

// put writes a number of 8 bytes into a copy of a file.
func put(file []byte, at int, n uint64) []byte {
	file = slices.Clone(file)
	binary.LittleEndian.PutUint64(file[at:], n)
	return file
}

func set(file []byte, at int, b byte) []byte {
	file = slices.Clone(file)
	file[at] = b
	return file
}

// withRoot returns a file whose root directory consists of these numbers.
func withRoot(numbers ...uint64) []byte {
	var root []byte
	for _, n := range numbers {
		root = binary.AppendUvarint(root, n)
	}
	return withRootBytes(root)
}

func withRootBytes(root []byte) []byte {
	return replaceRoot(patchwork(func(m *streets.Map) { m.LeafSize = 50 }).Bytes(), root)
}

// replaceRoot puts another root directory into a file, which moves everything after it.
func replaceRoot(file, root []byte) []byte {
	was := binary.LittleEndian.Uint64(file[16:])
	file = slices.Concat(put(file, 16, uint64(len(root)))[:127], root, file[127+was:])
	for at := 24; at < 72; at += 16 {
		file = put(file, at, binary.LittleEndian.Uint64(file[at:])-was+uint64(len(root)))
	}
	return file
}

// bomb returns bytes that unpack to so many zeros.
func bomb(bytesOf int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(make([]byte, bytesOf))
	_ = z.Close()
	return b.Bytes()
}

func TestAFileThatIsNoMapIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	good := patchwork(func(m *streets.Map) { m.LeafSize = 50 }).Bytes()
	world := streets.World(3).Bytes()
	const rootLength, metadataLength, leafOffset, tilesLength = 16, 32, 40, 64
	most := ^uint64(0)
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":                  {nil, "no PMTiles file"},
		"another format":         {[]byte(strings.Repeat("SQLite format 3", 50)), "no PMTiles file"},
		"version 2":              {set(good, 7, 2), "version 2"},
		"cut off":                {good[:len(good)-1], "not copied whole"},
		"its header alone":       {good[:127], "not copied whole"},
		"a part without end":     {put(good, tilesLength, most), "not copied whole"},
		"a part from beyond":     {put(good, leafOffset, most-3), "not copied whole"},
		"a large root":           {put(slices.Concat(good, make([]byte, 1<<16)), rootLength, 20_000), "root directory ends"},
		"large metadata":         {put(slices.Concat(good, make([]byte, 8<<20)), metadataLength, 4<<20), "the most"},
		"pictures":               {set(good, 99, 2), "vector tiles"},
		"by Brotli":              {set(good, 98, 3), "gzip"},
		"by nobody knows":        {set(good, 97, 0), "gzip"},
		"zooms from above":       {set(good, 100, 9), "zooms"},
		"zooms without end":      {set(good, 101, 255), "zooms"},
		"outside the world":      {put(good, 102, most>>1), "no part of the world"},
		"not packed as it says":  {set(good, 97, 2), "not packed by gzip"},
		"a broken packing":       {set(world, 127+12, world[127+12]^0xff), "unpack"},
		"no entries":             {withRoot(0), "entries"},
		"entries without number": {withRoot(most, 1, 1, 1, 1), "entries"},
		"fewer than it says":     {withRoot(3, 0, 1, 1, 1, 1), "entries"},
		"numbers without end":    {withRootBytes(bytes.Repeat([]byte{0xff}, 100)), "before its last number"},
		"the same ID twice":      {withRoot(2, 5, 0, 1, 1, 3, 3, 1, 1), "do not rise"},
		"IDs that overflow":      {withRoot(2, 5, most, 1, 1, 3, 3, 1, 1), "do not rise"},
		"a run without end":      {withRoot(1, 0, 1<<40, 3, 1), "a run or a length"},
		"no bytes":               {withRoot(1, 0, 1, 0, 1), "a run or a length"},
		"behind nothing":         {withRoot(1, 0, 1, 3, 0), "leads nowhere"},
		"a tile from beyond":     {withRoot(1, 0, 1, 3, 1<<50), "leads to byte"},
		"a directory too far":    {withRoot(1, 0, 0, 3, 1<<20), "leads to byte"},
		"packed, as it denies":   {set(world, 97, 1), "no JSON"},
	} {
		_, err := geo.OpenTiles(write(t, c.content))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := geo.OpenTiles(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Errorf("a folder: %v", err)
	}
	pipe := write(t, nil) + ".pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := geo.OpenTiles(pipe); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Errorf("a pipe: %v", err)
	}
}

// allocated returns how many bytes a function allocates, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestASmallFileTakesNoMuchMemory(t *testing.T) { // by itself: memory is counted of the whole process
	const most = 32 << 20
	packed := bomb(256 << 20) // 250 kB, and 256 MiB unpacked
	metadata := streets.World(0).Bytes()
	metadata = put(put(append(metadata, packed...), 24, uint64(len(metadata))), 32, uint64(len(packed)))
	small := bomb(12 << 20) // fits where a root directory does
	if len(small) > 15<<10 {
		t.Fatalf("%d bytes", len(small))
	}
	for name, content := range map[string][]byte{"metadata": metadata, "root": replaceRoot(streets.World(0).Bytes(), small)} {
		path := write(t, content)
		var err error
		took := allocated(func() { _, err = geo.OpenTiles(path) })
		if err == nil || !strings.Contains(err.Error(), "unpacks to more") || took > most {
			t.Errorf("%s: %v, %d bytes", name, err, took)
		}
	}
	// A tile that is said to have all of a file with holes, and a leaf that has.
	for name, run := range map[string]uint64{"tile": 1, "leaf": 0} {
		file := withRoot(1, 0, run, 1<<31, 1)
		part := 64
		if run == 0 {
			part = 48
		}
		path := write(t, set(put(file, part, 1<<31), 100, 0))
		if err := os.Truncate(path, 1<<33); err != nil {
			t.Fatal(err)
		}
		a, err := geo.OpenTiles(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if took := allocated(func() { _, err = a.Tile(0, 0, 0) }); err == nil || !strings.Contains(err.Error(), "are the most") || took > most {
			t.Errorf("%s: %v, %d bytes", name, err, took)
		}
	}
}

func TestDirectoriesThatLeadToEachOtherEnd(t *testing.T) {
	t.Parallel()
	leaf := []byte{1, 0, 0, 5, 1} // its only entry is itself
	file := withRootBytes(leaf)
	at := int(binary.LittleEndian.Uint64(file[40:]))
	copy(file[at:], leaf)
	a := open(t, set(file, 100, 0))
	if _, err := a.Tile(0, 0, 0); err == nil || !strings.Contains(err.Error(), "lead to each other") {
		t.Error(err)
	}
}

// examine reads everything from a file. It may fail, but must return.
func examine(t *testing.T, path string) {
	t.Helper()
	a, err := geo.OpenTiles(path)
	if err != nil {
		return
	}
	if m, err := a.StreetMap(); err == nil && (len(m.Layers) > 200 || m.MaxZoom > 30 || m.MinZoom > m.MaxZoom) {
		t.Errorf("%+v", m)
	}
	for _, zoom := range []int{0, 2, 5, 30} {
		for _, at := range []int{0, 1<<zoom - 1, 1 << zoom / 3} {
			if tile, err := a.Tile(zoom, at, 1<<zoom-1-at); err == nil && len(tile.Content) == 0 {
				t.Errorf("%d/%d: a tile of no bytes", zoom, at)
			}
		}
	}
}

func samples() [][]byte {
	return [][]byte{
		streets.World(2).Bytes(), patchwork(func(m *streets.Map) { m.LeafSize = 50 }).Bytes(),
		patchwork(func(m *streets.Map) { m.LeafSize, m.Packed = 50, true }).Bytes(), withRoot(1, 0, 0, 5, 1),
	}
}

func TestLongNoByteOfAFileMakesItsReaderPanic(t *testing.T) {
	t.Parallel()
	path := write(t, nil)
	for _, sample := range samples() {
		front := min(len(sample), 600) // header, directories and metadata, where the reader looks
		for at := range front {
			for _, b := range []byte{0, 0xff, sample[at] ^ 1} {
				if err := os.WriteFile(path, set(sample, at, b), 0o600); err != nil {
					t.Fatal(err)
				}
				examine(t, path)
			}
		}
	}
}

func FuzzArchive(f *testing.F) {
	for _, sample := range samples() {
		f.Add(sample)
	}
	f.Fuzz(func(t *testing.T, content []byte) { examine(t, write(t, content)) })
}
