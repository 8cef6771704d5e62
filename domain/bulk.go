package domain

import (
	"fmt"
	"sort"
)

// BulkItem is the outcome of one item of a bulk, stored until all are there.
type BulkItem struct {
	Index   int
	Created bool   // false: the item was refused
	Result  []byte // the entry of the answer, rendered when the item ended
}

// BulkProblem is one error of one item.
type BulkProblem struct {
	Index   int
	Code    string
	Message string
	Field   string // within the item; empty where the error concerns no single field
}

// BulkProblemsOf turns an error of one item into its problems.
func BulkProblemsOf(index int, e *Error) []BulkProblem {
	if len(e.Fields) == 0 {
		return []BulkProblem{{Index: index, Code: e.Code, Message: e.Message}}
	}
	problems := make([]BulkProblem, 0, len(e.Fields))
	for _, f := range e.Fields {
		message := f.Message
		if f.Field != "" {
			message = Invalid(f).Message
		}
		problems = append(problems, BulkProblem{Index: index, Code: e.Code, Message: message, Field: f.Field})
	}
	return problems
}

// DuplicateExternalIDs returns a problem for every item with the external_id of an earlier one.
// Empty ones do not count.
func DuplicateExternalIDs(externalIDs []string) []BulkProblem {
	var problems []BulkProblem
	first := make(map[string]int, len(externalIDs))
	for i, id := range externalIDs {
		earlier, taken := first[id]
		switch {
		case id == "":
		case taken:
			problems = append(problems, BulkProblem{
				Index: i, Code: CodeDuplicateExternalID, Field: "external_id",
				Message: fmt.Sprintf("external_id %s is already that of item %d.", id, earlier),
			})
		default:
			first[id] = i
		}
	}
	return problems
}

// BulkInvalid refuses a bulk of so many items, with all of its problems by item.
func BulkInvalid(items int, problems []BulkProblem) *Error {
	sort.SliceStable(problems, func(i, j int) bool { return problems[i].Index < problems[j].Index })
	entries := make([]map[string]any, 0, len(problems))
	broken := 0
	for i, p := range problems {
		if i == 0 || problems[i-1].Index != p.Index {
			broken++
		}
		entry := map[string]any{"index": p.Index, "code": p.Code, "message": p.Message}
		if p.Field != "" {
			entry["field"] = p.Field
		}
		entries = append(entries, entry)
	}
	return &Error{
		Kind: KindInvalid, Code: CodeBulkValidationFailed,
		Message: fmt.Sprintf("%s in %d of %s; nothing was created.", counted(len(problems), "problem"), broken, counted(items, "item")),
		Details: map[string]any{"errors": entries},
	}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
