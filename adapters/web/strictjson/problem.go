package strictjson

// Code says what is wrong with a field, for programs.
type Code string

// The codes of field errors.
const (
	CodeRequired      Code = "required"
	CodeTooShort      Code = "too_short"
	CodeTooLong       Code = "too_long"
	CodeOutOfRange    Code = "out_of_range"
	CodeInvalidFormat Code = "invalid_format"
	CodeInvalidType   Code = "invalid_type"
	CodeNotAllowed    Code = "not_allowed"
)

// Problem is one error of one field.
type Problem struct {
	Field   string // path, such as recipient.address.latitude; empty for the object itself
	Code    Code
	Message string // a sentence shown next to the field; repeats no text of the client but an enum value
}

// Need says whether a field may be absent. null counts as absent.
type Need bool

// A field is Required or Optional.
const (
	Optional Need = false
	Required Need = true
)

// Ptr converts what a Reader returns into the pointer that a change needs. It returns nil for
// an absent field: strictjson.Ptr(r.Text("name", strictjson.Optional)).
func Ptr[T any](value T, ok bool) *T {
	if !ok {
		return nil
	}
	return &value
}
