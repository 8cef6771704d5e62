package strictjson

import (
	"bytes"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth limits the nesting of objects and arrays. The outermost object has depth 1.
const MaxDepth = 16

// maxBody keeps offsets within 32 bits even if every string has escapes and so is stored twice.
const maxBody = 1 << 30

// MaxValues limits the values of a body, names not counted. It is far more than any request
// needs, so that a body of tiny values costs no memory.
const MaxValues = 10_000

// maxLoose limits the fields of an object that appears where the shape expects another kind.
// All its names are kept to find a duplicate.
const maxLoose = 100

// Parse checks a request body and returns it as a tree. It accepts exactly one JSON object with
// white space around it. It refuses everything else: empty bodies, other top-level values,
// duplicate names, content after the object, invalid UTF-8, lone surrogates (also escaped), NUL
// in any form, nesting beyond MaxDepth, and names that the shape does not declare, in exact
// case. It stops at the first of these, so that the rest of a bad body costs nothing. It does
// not check names below a value of another kind than the shape declares: reading that value
// reports the error. A nil shape accepts any names.
//
// Exactly one of the results is nil. The body is neither kept nor changed.
func Parse(body []byte, shape Shape) (*Value, *SyntaxError) {
	if len(body) > maxBody {
		return nil, &SyntaxError{Message: "The body is too large.", Line: 1, Column: 1}
	}
	p := parsers.Get().(*parser)
	p.start(body, shape)
	bad := p.document()
	var v *Value
	if bad == nil {
		v = &Value{src: string(p.body) + string(p.decoded), nodes: slices.Clone(p.nodes)}
	}
	p.release()
	return v, bad
}

// parsers reuses the stacks of the decoder and the grown tape. The finished tape is copied out
// at its exact size.
var parsers = sync.Pool{New: func() any { return new(parser) }}

// frame is an open object or array.
type frame struct {
	node  uint32
	items uint32 // children begun so far
	shape Shape  // Object or arrayOf; nil: its content is not checked
}

type parser struct {
	body    []byte
	in      bytes.Buffer
	dec     jsontext.Decoder
	decoded []byte // every string that had escapes; comes after the body
	nodes   []node

	frames [MaxDepth]frame
	depth  int

	nameAt, nameLen uint32
	named           bool  // a name was read and its value has not arrived yet
	want            Shape // of the next value
}

func (p *parser) start(body []byte, shape Shape) {
	p.body, p.want = body, shape
	// From a bytes.Buffer the decoder works on the body itself, without a copy.
	p.in = *bytes.NewBuffer(body)
	p.dec.Reset(&p.in)
}

func (p *parser) release() {
	const keepNodes, keepDecoded = 4096, 16 << 10
	p.body = nil
	p.in = bytes.Buffer{}
	p.dec.Reset(&p.in) // releases the body
	if p.nodes = p.nodes[:0]; cap(p.nodes) > keepNodes {
		p.nodes = nil
	}
	if p.decoded = p.decoded[:0]; cap(p.decoded) > keepDecoded {
		p.decoded = nil
	}
	p.depth, p.named, p.want = 0, false, nil
	parsers.Put(p)
}

// document reads the one object and what comes after it.
func (p *parser) document() *SyntaxError {
	if k := p.dec.PeekKind(); k != jsontext.KindBeginObject {
		return p.notAnObject(k)
	}
	for {
		if bad := p.token(); bad != nil {
			return bad
		}
		if p.depth == 0 {
			break
		}
		if len(p.nodes) > MaxValues {
			return tooMany("The body has more than " + strconv.Itoa(MaxValues) + " values.")
		}
	}
	end := int(p.dec.InputOffset())
	rest := bytes.TrimLeft(p.body[end:], whiteSpace)
	if len(rest) > 0 {
		return p.badTail(len(p.body) - len(rest))
	}
	return nil
}

// token reads the next token: a bracket, a name or a scalar.
func (p *parser) token() *SyntaxError {
	k := p.dec.PeekKind()
	if p.wantsName() {
		switch k {
		case jsontext.KindString, jsontext.KindEndObject, jsontext.KindEndArray, jsontext.KindInvalid:
		default:
			return p.badName()
		}
	}
	switch k {
	case jsontext.KindBeginObject:
		return p.open(kindObject)
	case jsontext.KindBeginArray:
		return p.open(kindArray)
	case jsontext.KindEndObject, jsontext.KindEndArray:
		return p.close()
	}
	raw, err := p.dec.ReadValue()
	if err != nil {
		return p.translate(err)
	}
	at := int(p.dec.InputOffset()) - len(raw)
	switch k {
	case jsontext.KindString:
		return p.str(raw, at)
	case jsontext.KindNumber:
		p.add(node{kind: kindNumber, textAt: uint32(at), textLen: uint32(len(raw))}) //nolint:gosec // a body has at most 1 MiB
	case jsontext.KindTrue:
		p.add(node{kind: kindTrue})
	case jsontext.KindFalse:
		p.add(node{kind: kindFalse})
	default:
		p.add(node{kind: kindNull})
	}
	return nil
}

// wantsName reports whether only a name or the closing brace may come next.
func (p *parser) wantsName() bool {
	return p.depth > 0 && !p.named && p.nodes[p.frames[p.depth-1].node].kind == kindObject
}

func (p *parser) open(k kind) *SyntaxError {
	if p.depth == MaxDepth {
		return p.tooDeep()
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return p.translate(err)
	}
	within := p.want
	p.add(node{kind: k})
	p.frames[p.depth] = frame{node: uint32(len(p.nodes) - 1)} //nolint:gosec // a body has at most 1 MiB
	top := &p.frames[p.depth]
	p.depth++
	p.want = nil
	switch shape := within.(type) {
	case Object:
		if k == kindObject {
			top.shape = shape
		}
	case arrayOf:
		if k == kindArray {
			top.shape, p.want = shape, shape.item
		}
	}
	return nil
}

func (p *parser) close() *SyntaxError {
	if _, err := p.dec.ReadToken(); err != nil {
		return p.translate(err)
	}
	p.depth--
	at := p.frames[p.depth].node
	p.nodes[at].size = uint32(len(p.nodes)) - at //nolint:gosec // a body has at most 1 MiB
	p.want = nil
	if p.depth > 0 {
		if list, ok := p.frames[p.depth-1].shape.(arrayOf); ok {
			p.want = list.item
		}
	}
	return nil
}

// str reads a string token that starts at body[at], as a name or as a value.
func (p *parser) str(raw []byte, at int) *SyntaxError {
	start, text := at+1, raw[1:len(raw)-1]
	if bytes.IndexByte(raw, '\\') >= 0 {
		begun := len(p.decoded)
		// The decoder has checked the string, so this cannot fail.
		p.decoded, _ = jsontext.AppendUnquote(p.decoded, raw)
		start, text = len(p.body)+begun, p.decoded[begun:]
		if bytes.IndexByte(text, 0) >= 0 {
			return p.escapedNUL(raw, at)
		}
	}
	if p.wantsName() {
		p.nameAt, p.nameLen, p.named = uint32(start), uint32(len(text)), true //nolint:gosec // a body has at most 1 MiB
		return p.name(text)
	}
	p.add(node{kind: kindString, textAt: uint32(start), textLen: uint32(len(text))}) //nolint:gosec // a body has at most 1 MiB
	return nil
}

// name looks up the name that was read.
func (p *parser) name(name []byte) *SyntaxError {
	top := &p.frames[p.depth-1]
	declared, ok := top.shape.(Object)
	switch {
	case !ok && top.items >= maxLoose:
		return tooMany("The body has an object with more than " + strconv.Itoa(maxLoose) + " fields.")
	case !ok:
		return nil
	}
	inner, known := declared[string(name)]
	if !known {
		return declared.unknown(string(name), p.openPath())
	}
	p.want = inner
	return nil
}

// text returns a part of the body or of the decoded strings after it.
func (p *parser) text(at, n uint32) string {
	if begun := uint32(len(p.body)); at >= begun { //nolint:gosec // a body has at most 1 MiB
		return string(p.decoded[at-begun:][:n])
	}
	return string(p.body[at:][:n])
}

// add puts a value on the tape, under the name read before it.
func (p *parser) add(n node) {
	n.size = 1
	if p.named {
		n.nameAt, n.nameLen, p.named = p.nameAt, p.nameLen, false
	}
	if p.depth > 0 {
		p.frames[p.depth-1].items++
	}
	p.nodes = append(p.nodes, n)
}
