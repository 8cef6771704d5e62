package strictjson

// kind is the kind of a JSON value, in the words used in messages.
type kind uint8

const (
	kindNull kind = iota
	kindFalse
	kindTrue
	kindNumber
	kindString
	kindObject
	kindArray
)

// String returns the kind with its article, ready for a sentence.
func (k kind) String() string {
	switch k {
	case kindNull:
		return "null"
	case kindFalse, kindTrue:
		return "a boolean"
	case kindNumber:
		return "a number"
	case kindString:
		return "a string"
	case kindObject:
		return "an object"
	default:
		return "an array"
	}
}

// node is one JSON value on the tape. The tape lists a document in reading order, so a value's
// descendants follow it directly and size leads to its next sibling. Offsets instead of strings
// keep a node at 24 bytes without pointers: a 1 MiB body of tiny values must not become 50 MiB
// of tree.
type node struct {
	nameAt, nameLen uint32 // member name; unused for array items and the root
	textAt, textLen uint32 // decoded string, or a number as written
	size            uint32 // nodes in this value, itself included
	kind            kind
}

// Value is a parsed and checked JSON value. Parse returns the outermost one, and nil stands for
// a request without a body. It never changes, so goroutines may share it. It keeps no reference
// to the bytes it was parsed from.
type Value struct {
	src   string // the body, followed by every string that had escapes, decoded
	nodes []node // the value itself, then its descendants
}

func (v Value) kind() kind { return v.nodes[0].kind }

// text returns the decoded string or the number as written, or "" for other kinds.
func (v Value) text() string {
	n := &v.nodes[0]
	return v.src[n.textAt : n.textAt+n.textLen]
}

// plain returns a number or a boolean as it was sent, also in quotes. It returns "" for
// anything else, which might be a secret.
func (v Value) plain() string {
	switch v.kind() {
	case kindFalse:
		return "false"
	case kindTrue:
		return "true"
	case kindNumber:
		return Shown(v.text())
	case kindString:
		if _, err := ParseDecimal(v.text()); err == nil || v.text() == "true" || v.text() == "false" {
			return `"` + Shown(v.text()) + `"`
		}
	}
	return ""
}

// name returns the member name of the value at position i of the tape.
func (v Value) name(i int) string {
	n := &v.nodes[i]
	return v.src[n.nameAt : n.nameAt+n.nameLen]
}

// child returns the value that starts at position i of the tape.
func (v Value) child(i int) Value {
	return Value{src: v.src, nodes: v.nodes[i : i+int(v.nodes[i].size)]}
}

// next returns the position of the sibling after the value at position i. A walk over children
// starts at 1 and ends at len(v.nodes).
func (v Value) next(i int) int { return i + int(v.nodes[i].size) }

// member finds a member of an object. Objects here have few members, and a walk beats building
// a map for each.
func (v Value) member(name string) (Value, bool) {
	for i := 1; i < len(v.nodes); i = v.next(i) {
		if v.name(i) == name {
			return v.child(i), true
		}
	}
	return Value{}, false
}

// count returns the number of direct children.
func (v Value) count() int {
	n := 0
	for i := 1; i < len(v.nodes); i = v.next(i) {
		n++
	}
	return n
}
