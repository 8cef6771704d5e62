package strictjson

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep objects and arrays may nest; the outermost object is
// depth 1.
const MaxDepth = 16

// maxBody keeps offsets within 32 bits even where every string has escapes and
// so is stored twice.
const maxBody = 1 << 30

// MaxValues is how many values a body may have, names not counted: far more
// than any request needs, so that a body of tiny values costs no memory.
const MaxValues = 40_000

// Parse checks a request body and returns it as a tree. It accepts exactly one
// JSON object with white space around it and refuses everything else: empty
// bodies, other top-level values, duplicate names, content behind the object,
// invalid UTF-8, lone surrogates (also escaped), NUL in any form, and nesting
// beyond MaxDepth. Exactly one of the results is nil. The body is neither kept
// nor changed.
func Parse(body []byte) (*Value, *SyntaxError) {
	if len(body) > maxBody {
		return nil, &SyntaxError{Message: "The body is too large.", Line: 1, Column: 1}
	}
	p := parsers.Get().(*parser)
	p.start(body)
	bad := p.document()
	var v *Value
	if bad == nil {
		v = &Value{src: p.src.String(), nodes: slices.Clone(p.nodes)}
	}
	p.release()
	return v, bad
}

// parsers saves the decoder's stacks and the growth of the tape for the next
// request. The finished tape is copied out at its exact size.
var parsers = sync.Pool{New: func() any { return new(parser) }}

// frame is an open object or array.
type frame struct {
	node  uint32
	items uint32 // children begun so far
}

type parser struct {
	body    []byte
	in      bytes.Buffer
	dec     jsontext.Decoder
	src     strings.Builder
	scratch []byte
	nodes   []node

	frames [MaxDepth]frame
	depth  int

	nameAt, nameLen uint32
	named           bool // a name was read and its value has not come yet
}

func (p *parser) start(body []byte) {
	p.body = body
	// From a bytes.Buffer the decoder works on the body itself, without a copy.
	p.in = *bytes.NewBuffer(body)
	p.dec.Reset(&p.in)
	p.src.Grow(len(body))
	p.src.Write(body)
}

func (p *parser) release() {
	const keepNodes, keepScratch = 4096, 16 << 10
	p.body = nil
	p.in = bytes.Buffer{}
	p.dec.Reset(&p.in) // lets go of the body
	p.src.Reset()
	if p.nodes = p.nodes[:0]; cap(p.nodes) > keepNodes {
		p.nodes = nil
	}
	if p.scratch = p.scratch[:0]; cap(p.scratch) > keepScratch {
		p.scratch = nil
	}
	p.depth, p.named = 0, false
	parsers.Put(p)
}

// document reads the one object and what lies behind it.
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
			return &SyntaxError{Message: "The body has more than " + strconv.Itoa(MaxValues) + " values.", Line: 1, Column: 1, TooMany: p.soFar()}
		}
	}
	end := int(p.dec.InputOffset())
	rest := bytes.TrimLeft(p.body[end:], whiteSpace)
	if len(rest) > 0 {
		return p.badTail(len(p.body) - len(rest))
	}
	return nil
}

// soFar is the part of the tape that is read, as if everything ended there.
func (p *parser) soFar() *Value {
	for _, f := range p.frames[:p.depth] {
		p.nodes[f.node].size = uint32(len(p.nodes)) - f.node
	}
	return &Value{src: p.src.String(), nodes: slices.Clone(p.nodes)}
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
		p.add(node{kind: kindNumber, textAt: uint32(at), textLen: uint32(len(raw))})
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
	p.add(node{kind: k})
	p.frames[p.depth] = frame{node: uint32(len(p.nodes) - 1)}
	p.depth++
	return nil
}

func (p *parser) close() *SyntaxError {
	if _, err := p.dec.ReadToken(); err != nil {
		return p.translate(err)
	}
	p.depth--
	at := p.frames[p.depth].node
	p.nodes[at].size = uint32(len(p.nodes)) - at
	return nil
}

// str takes a string token that starts at body[at] as a name or as a value.
func (p *parser) str(raw []byte, at int) *SyntaxError {
	start, length := uint32(at+1), uint32(len(raw)-2)
	if bytes.IndexByte(raw, '\\') >= 0 {
		// The decoder has checked the string, so this cannot fail.
		p.scratch, _ = jsontext.AppendUnquote(p.scratch[:0], raw)
		if bytes.IndexByte(p.scratch, 0) >= 0 {
			return p.escapedNUL(raw, at)
		}
		start, length = uint32(p.src.Len()), uint32(len(p.scratch))
		p.src.Write(p.scratch)
	}
	if p.wantsName() {
		p.nameAt, p.nameLen, p.named = start, length, true
		return nil
	}
	p.add(node{kind: kindString, textAt: start, textLen: length})
	return nil
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
