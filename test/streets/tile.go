package streets

import (
	"encoding/binary"
	"slices"
)

// The kinds of shapes in a vector tile.
const (
	line    = 2
	polygon = 3
)

// layer is one of a vector tile, with one shape that is called Liberation Road.
func layer(name string, kind int, shape []byte) []byte {
	feature := slices.Concat(field(2, []byte{0, 0}), field(3, kind), field(4, shape)) // the first name has the first value
	return field(3, slices.Concat(field(15, 2), field(1, []byte(name)), field(2, feature), field(3, []byte("name")),
		field(4, field(1, []byte("Liberation Road"))), field(5, 4096)))
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
