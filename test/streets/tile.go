package streets

import (
	"encoding/binary"
	"slices"
)

// The kinds of shapes in a vector tile.
const (
	point   = 1
	line    = 2
	polygon = 3
)

// feature is a shape on a tile with what it is and what it is called.
type feature struct {
	form       int
	shape      []byte
	kind, name string
}

// layer is one of a vector tile.
func layer(name string, features ...feature) []byte {
	all := slices.Concat(field(15, 2), field(1, []byte(name)))
	var texts []byte
	for i, f := range features {
		tags := []byte{0, byte(2 * i), 1, byte(2*i + 1)} // of each key the number of its value
		all = append(all, field(2, slices.Concat(field(2, tags), field(3, f.form), field(4, f.shape)))...)
		texts = slices.Concat(texts, field(4, field(1, []byte(f.kind))), field(4, field(1, []byte(f.name))))
	}
	return field(3, slices.Concat(all, field(3, []byte("kind")), field(3, []byte("name")), texts, field(5, 4096)))
}

// field is one of a message of Protocol Buffers: a number, or bytes.
func field(number int, value any) []byte {
	if v, ok := value.(int); ok {
		return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number<<3)), uint64(v))
	}
	content := slices.Clone(value.([]byte))
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number<<3|2)), uint64(len(content))), content...)
}

// steps are a command and its numbers, each from where the one before ended.
func steps(command, times int, numbers ...int) []byte {
	b := binary.AppendUvarint(nil, uint64(times<<3|command))
	for _, n := range numbers {
		b = binary.AppendUvarint(b, uint64(n<<1)^uint64(n>>63))
	}
	return b
}

const (
	moveTo = 1
	lineTo = 2
	closed = 7
)

// box is a shape as high as the tile.
func box(from, to int) []byte {
	return slices.Concat(steps(moveTo, 1, from, 0), steps(lineTo, 3, to-from, 0, 0, 4096, from-to, 0), steps(closed, 1))
}

func across() []byte { return slices.Concat(steps(moveTo, 1, 0, 1024), steps(lineTo, 1, 4096, 0)) }

func down(at int) []byte { return slices.Concat(steps(moveTo, 1, at, 0), steps(lineTo, 1, 0, 4096)) }
