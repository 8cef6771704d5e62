package strictjson

// Reader reads the members of one object and records their errors. Readers of nested objects
// and arrays record into the same list, in the order of reading.
//
// Every read returns the value and whether it is present and valid. Otherwise the value is
// zero. So values may be used unchecked once Problems is empty, and ok then means present. A
// nil Reader reads every field as absent and records nothing, which makes reading below an
// absent or broken object harmless.
//
// A Reader belongs to one goroutine.
type Reader struct {
	at    *path
	value *Value // nil: no members
	notes *[]Problem
	mute  bool // record nothing more: that this is no object is enough
}

// NewReader reads the members of a body. A nil root stands for a request without a body and
// reads like {}.
func NewReader(root *Value) *Reader {
	return &Reader{value: root, notes: new([]Problem)}
}

// maxProblems limits the recorded errors. Nobody fixes more at a time, and a body of wrong
// values must not become a larger response.
const maxProblems = 100

func note(notes *[]Problem, p Problem) {
	if len(*notes) < maxProblems {
		*notes = append(*notes, p)
	}
}

// Problems returns everything recorded so far by this Reader, by its parents and by its
// children: the first hundred, or nil when there is nothing.
func (r *Reader) Problems() []Problem {
	if r == nil {
		return nil
	}
	return *r.notes
}

// Has reports whether a field is present and not null, of any kind.
func (r *Reader) Has(name string) bool { return r.field(name).there }

// AnyHas reports whether any object in an array has a field that is not null. It costs no
// memory, however many items there are.
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

// Reject records an error that the caller found. The field is a name in this object, or empty
// for the object itself.
func (r *Reader) Reject(field string, code Code, message string) {
	if r == nil || r.mute {
		return
	}
	note(r.notes, Problem{joinField(r.at.String(), field), code, message})
}

// Text reads a string and trims white space. It refuses control characters unless a rule
// permits some.
func (r *Reader) Text(name string, need Need, rules ...TextRule) (string, bool) {
	return r.field(name).text(need, rules)
}

// Enum reads a string that must be exactly one of the allowed.
func (r *Reader) Enum(name string, need Need, allowed []string) (string, bool) {
	return r.field(name).enum(need, allowed)
}

// Number reads a number as the nearest float64. One beyond every float64 is out_of_range. Use
// Decimal for money.
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

// Object returns a Reader of a nested object, or nil if it is absent or no object.
func (r *Reader) Object(name string, need Need) *Reader {
	return r.field(name).object(need)
}

// Array returns the items of an array. It returns nil if it is absent, no array, or has a
// number of items that the rules refuse.
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

// List holds the items of an array. A nil List has no items.
type List struct {
	at    *path
	items []Value
	notes *[]Problem
}

// Len returns the number of items.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.items)
}

// Object returns a Reader of item i, or nil if the item is no object.
func (l *List) Object(i int) *Reader { return l.item(i).object(Required) }

// Text reads item i as Reader.Text does.
func (l *List) Text(i int, rules ...TextRule) (string, bool) { return l.item(i).text(Required, rules) }

// Enum reads item i as Reader.Enum does.
func (l *List) Enum(i int, allowed []string) (string, bool) { return l.item(i).enum(Required, allowed) }

// Reject records an error that the caller found in item i.
func (l *List) Reject(i int, code Code, message string) { l.item(i).fail(code, message) }

// Detached returns a Reader of item i with its own list of errors, in which field paths start
// at the item. An item that is no object has one error, with an empty field, and reads as
// absent.
func (l *List) Detached(i int) *Reader {
	r := NewReader(&l.items[i])
	if k := r.value.kind(); k != kindObject {
		r.Reject("", CodeInvalidType, wrongKind("an object", k))
		r.mute, r.value = true, nil
	}
	return r
}

// item returns item i as a field.
func (l *List) item(i int) field {
	v := l.items[i]
	return field{up: l.at, index: i, notes: l.notes, value: v, there: v.kind() != kindNull}
}
