package strictjson

// Reader reads the members of one object and notes what is wrong with them.
// Readers of nested objects and arrays note into the same list, in the order
// of reading.
//
// Every read returns the value and whether it is there and sound; otherwise
// the value is zero. So values may be used unchecked once Problems is empty,
// and ok then says present. A nil Reader reads every field as absent and notes
// nothing, which makes reading below an absent or broken object harmless.
//
// A Reader belongs to one goroutine.
type Reader struct {
	at    *path
	value *Value // nil: no members
	notes *[]Problem
	mute  bool // note nothing more: that this is no object says it all
}

// NewReader reads the members of a body. A nil root stands for a request
// without a body and reads like {}.
func NewReader(root *Value) *Reader {
	return &Reader{value: root, notes: new([]Problem)}
}

// maxProblems is how many are noted: a caller mends no more at a time, and a
// body of wrong values must not become a larger answer.
const maxProblems = 100

func note(notes *[]Problem, p Problem) {
	if len(*notes) < maxProblems {
		*notes = append(*notes, p)
	}
}

// Problems is everything noted so far by this Reader, by those it came from
// and by those made from it, the first hundred; nil when there is nothing.
func (r *Reader) Problems() []Problem {
	if r == nil {
		return nil
	}
	return *r.notes
}

// Has reports whether a field is there and not null, of whatever kind.
func (r *Reader) Has(name string) bool { return r.field(name).there }

// AnyHas reports whether any object in an array has a field that is not null.
// It costs no memory, however many items there are.
func (r *Reader) AnyHas(array, field string) bool {
	f := r.field(array)
	if !f.there || f.value.kind() != kindArray {
		return false
	}
	for i := 1; i < len(f.value.nodes); i = f.value.next(i) {
		if item := f.value.child(i); item.kind() == kindObject {
			if v, there := item.member(field); there && v.kind() != kindNull {
				return true
			}
		}
	}
	return false
}

// Reject notes a problem found by the caller. The field is a name in this
// object, and empty for the object itself.
func (r *Reader) Reject(field string, code Code, message string) {
	if r == nil || r.mute {
		return
	}
	note(r.notes, Problem{joinField(r.at.String(), field), code, message})
}

// Text reads a string without the white space around it. Control characters
// are refused unless a rule permits some.
func (r *Reader) Text(name string, need Need, rules ...TextRule) (string, bool) {
	return r.field(name).text(need, rules)
}

// Enum reads a string that must be one of the allowed, exactly.
func (r *Reader) Enum(name string, need Need, allowed []string) (string, bool) {
	return r.field(name).enum(need, allowed)
}

// Number reads a number as the nearest float64. One beyond every float64 is
// out_of_range. Use Decimal for money.
func (r *Reader) Number(name string, need Need, rules ...NumberRule) (float64, bool) {
	return r.field(name).number(need, rules)
}

// Integer reads a whole number, however it is written: 15, 15.0 and 1.5e1 are
// the same. A fraction is invalid_type, one beyond 64 bits out_of_range.
func (r *Reader) Integer(name string, need Need, rules ...NumberRule) (int, bool) {
	return r.field(name).integer(need, rules)
}

// Decimal reads a number without rounding it.
func (r *Reader) Decimal(name string, need Need) (Decimal, bool) {
	return r.field(name).decimal(need)
}

// Bool reads true or false.
func (r *Reader) Bool(name string, need Need) (value, ok bool) {
	return r.field(name).boolean(need)
}

// Object returns a Reader over a nested object, or nil where it is absent or
// no object.
func (r *Reader) Object(name string, need Need) *Reader {
	return r.field(name).object(need)
}

// Array returns the items of an array, or nil where it is absent, no array, or
// has a number of items that the rules refuse.
func (r *Reader) Array(name string, need Need, rules ...CountRule) *List {
	return r.field(name).array(need, rules)
}

// field looks a member up.
func (r *Reader) field(name string) field {
	if r == nil {
		return field{}
	}
	f := field{up: r.at, name: name, index: isMember, notes: r.notes}
	if r.mute {
		f.notes = nil
	}
	if r.value != nil {
		f.value, f.there = r.value.member(name)
		f.there = f.there && f.value.kind() != kindNull
	}
	return f
}

// List is the items of an array that was read. A nil List has no items.
type List struct {
	at    *path
	items []Value
	notes *[]Problem
}

// Len is the number of items.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.items)
}

// Object returns a Reader over item i, or nil where the item is no object.
func (l *List) Object(i int) *Reader { return l.item(i).object(Required) }

// Text reads item i as Reader.Text does.
func (l *List) Text(i int, rules ...TextRule) (string, bool) { return l.item(i).text(Required, rules) }

// Enum reads item i as Reader.Enum does.
func (l *List) Enum(i int, allowed []string) (string, bool) { return l.item(i).enum(Required, allowed) }

// Reject notes a problem that the caller found with item i.
func (l *List) Reject(i int, code Code, message string) { l.item(i).fail(code, message) }

// Detached returns a Reader over item i with a list of problems of its own, in
// which fields are named from the item on. An item that is no object has one
// problem, with an empty field, and reads as absent.
func (l *List) Detached(i int) *Reader {
	r := NewReader(&l.items[i])
	if k := r.value.kind(); k != kindObject {
		r.Reject("", CodeInvalidType, wrongKind("an object", k))
		r.mute, r.value = true, nil
	}
	return r
}

// item is item i as a field.
func (l *List) item(i int) field {
	v := l.items[i]
	return field{up: l.at, index: i, notes: l.notes, value: v, there: v.kind() != kindNull}
}
