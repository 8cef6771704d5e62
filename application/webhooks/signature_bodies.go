package webhooks

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// What may change a body on the way.
const (
	changedBOM     = "A byte order mark was put in front of it. Verify the bytes as they came, before anything decodes them."
	changedEnd     = "A line break or spaces were put behind it. Something has printed the body or read it as lines: verify the raw bytes."
	changedCRLF    = "Its line breaks were changed to CRLF. Verify the raw bytes, before anything treats them as text."
	changedSpace   = "It was parsed and written again as JSON, with other spaces or line breaks. Verify the raw bytes, and parse afterwards."
	changedEscapes = "It was parsed and written again as JSON: characters are escaped in another way. Verify the raw bytes, and " +
		"parse afterwards."
	changedOrder   = "It was parsed and written again as JSON: its keys are in another order. Verify the raw bytes, and parse afterwards."
	changedNumbers = "It was parsed and written again as JSON: numbers are written in another way. Verify the raw bytes, and parse afterwards."
)

// candidate is a body as it may have been sent, and what has changed it since.
type candidate struct {
	body []byte
	how  string
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// trimmed returns the pasted body without the browser's changes of line breaks.
func trimmed(q ReceivedRequest) []byte {
	if q.Raw {
		return q.Body
	}
	return bytes.ReplaceAll(q.Body, []byte("\r\n"), []byte("\n"))
}

// bodies lists what may have been sent, the likeliest first.
func bodies(q ReceivedRequest) (all []candidate) {
	text := trimmed(q)
	all = []candidate{{text, ""}}
	if !q.Raw {
		all = append(all, candidate{q.Body, ""})
	}
	if q.Sent != nil {
		all = append(all, candidate{q.Sent, difference(text, q.Sent)})
	}
	plain := bytes.TrimPrefix(text, byteOrderMark)
	all = append(all, candidate{plain, changedBOM}, candidate{bytes.ReplaceAll(plain, []byte("\r\n"), []byte("\n")), changedCRLF},
		candidate{bytes.TrimRight(plain, "\r\n\t \x00"), changedEnd}, candidate{bytes.TrimSpace(plain), changedEnd},
		candidate{append(slices.Clone(plain), '\n'), "A line break at its end was taken off. Verify the raw bytes."})
	tree, err := parse(plain)
	if err != nil {
		return all
	}
	for _, style := range styles {
		all = append(all, candidate{tree.write(style), changedEscapes})
	}
	all[len(all)-len(styles)].how = changedSpace
	if alike, err := parse(q.Alike); err == nil && q.Alike != nil {
		tree.order(alike)
		for _, style := range styles {
			all = append(all, candidate{tree.write(style), changedOrder})
		}
	}
	return all
}

// difference describes how a body differs from the one that was sent.
func difference(got, sent []byte) string {
	trim := func(b []byte) []byte { return bytes.TrimSpace(bytes.TrimPrefix(b, byteOrderMark)) }
	switch {
	case bytes.Equal(got, sent):
		return ""
	case bytes.Equal(bytes.TrimPrefix(got, byteOrderMark), sent):
		return changedBOM
	case bytes.Equal(trim(got), trim(sent)):
		return changedEnd
	case bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), sent):
		return changedCRLF
	}
	a, err := parse(trim(got))
	if err != nil {
		return "It is no JSON any more: a part of it is missing, or was added. Verify the raw bytes."
	}
	b, err := parse(sent)
	if err != nil {
		return "It is another text than was sent."
	}
	for _, try := range []struct {
		style style
		how   string
	}{{style{raw: true}, changedSpace}, {style{}, changedEscapes}, {style{sorted: true}, changedOrder}, {style{sorted: true, numbers: true},
		changedNumbers}} {
		if bytes.Equal(a.write(try.style), b.write(try.style)) {
			return try.how
		}
	}
	return "It says something else than was sent: a value was changed, added or left out. Verify the raw bytes, before anything works on them."
}

// style is a way to write JSON.
type style struct {
	raw     bool // texts unchanged
	html    bool // < > & and the two line separators as \u003c and so on
	ascii   bool // nothing beyond ASCII
	slashes bool // \/
	sorted  bool // keys by their bytes
	numbers bool // numbers by their value
}

// styles lists how a body may have been written when it was sent: unchanged except for spaces, as
// Go, as most others, as Python, as PHP.
var styles = []style{{raw: true}, {html: true}, {}, {ascii: true}, {ascii: true, slashes: true}}

// node is a JSON value that keeps the order of its keys and the source of its texts.
type node struct {
	kind   json.Delim // 0: a scalar
	keys   []*node
	values []*node
	source string // the unchanged source
	text   *string
}

// parse reads one value and nothing after it.
func parse(text []byte) (*node, error) {
	if !json.Valid(text) {
		return nil, io.ErrUnexpectedEOF
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return read(d, text)
}

func read(d *json.Decoder, text []byte) (*node, error) {
	from := d.InputOffset()
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	n := &node{source: strings.TrimLeft(string(text[from:d.InputOffset()]), " \t\r\n:,")}
	if word, isText := token.(string); isText {
		n.text = &word
	}
	open, isOpen := token.(json.Delim)
	if !isOpen {
		return n, nil
	}
	n.kind = open
	for d.More() {
		if open == '{' {
			key, err := read(d, text)
			if err != nil {
				return nil, err
			}
			n.keys = append(n.keys, key)
		}
		value, err := read(d, text)
		if err != nil {
			return nil, err
		}
		n.values = append(n.values, value)
	}
	_, err = d.Token()
	return n, err
}

// order sorts the keys as in another node, and puts keys that it lacks last.
func (n *node) order(as *node) {
	if n.kind == '[' && as.kind == '[' {
		for i, v := range n.values {
			if len(as.values) > 0 {
				v.order(as.values[min(i, len(as.values)-1)])
			}
		}
	}
	if n.kind != '{' || as.kind != '{' {
		return
	}
	var keys, values []*node
	taken := map[string]bool{}
	for i, k := range as.keys {
		if at := slices.IndexFunc(n.keys, func(own *node) bool { return *own.text == *k.text }); at >= 0 && !taken[*k.text] {
			taken[*k.text] = true
			n.values[at].order(as.values[i])
			keys, values = append(keys, n.keys[at]), append(values, n.values[at])
		}
	}
	for i, k := range n.keys {
		if !taken[*k.text] {
			keys, values = append(keys, k), append(values, n.values[i])
		}
	}
	n.keys, n.values = keys, values
}

func (n *node) write(s style) []byte {
	var b bytes.Buffer
	n.writeTo(&b, s)
	return b.Bytes()
}

func (n *node) writeTo(b *bytes.Buffer, s style) {
	switch {
	case n.kind == 0 && n.text != nil && !s.raw:
		writeText(b, *n.text, s)
		return
	case n.kind == 0 && s.numbers && n.text == nil:
		if value, err := strconv.ParseFloat(n.source, 64); err == nil {
			b.WriteString(strconv.FormatFloat(value, 'g', -1, 64))
			return
		}
		b.WriteString(n.source)
		return
	case n.kind == 0:
		b.WriteString(n.source)
		return
	}
	places := make([]int, len(n.values))
	for i := range places {
		places[i] = i
	}
	if s.sorted && n.kind == '{' {
		slices.SortStableFunc(places, func(a, b int) int { return strings.Compare(*n.keys[a].text, *n.keys[b].text) })
	}
	b.WriteRune(rune(n.kind))
	for i, at := range places {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.kind == '{' {
			n.keys[at].writeTo(b, s)
			b.WriteByte(':')
		}
		n.values[at].writeTo(b, s)
	}
	b.WriteRune(rune(n.kind) + 2) // the closing bracket
}

func writeText(b *bytes.Buffer, text string, s style) {
	b.WriteByte('"')
	for _, r := range text {
		short := strings.IndexRune("\"\\\b\f\n\r\t", r)
		switch {
		case short >= 0:
			b.WriteByte('\\')
			b.WriteByte(`"\bfnrt`[short])
		case r == '/' && s.slashes:
			b.WriteString(`\/`)
		case r < ' ' || s.html && strings.ContainsRune("<>&\u2028\u2029", r) || s.ascii && r >= utf8.RuneSelf:
			if high, low := utf16.EncodeRune(r); r > 0xffff {
				writeUnit(b, high)
				writeUnit(b, low)
			} else {
				writeUnit(b, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

func writeUnit(b *bytes.Buffer, unit rune) {
	hex := strconv.FormatInt(int64(unit), 16)
	b.WriteString(`\u` + strings.Repeat("0", 4-len(hex)) + hex)
}
