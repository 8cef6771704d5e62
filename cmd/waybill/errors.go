package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"waybill/configs"
	"waybill/domain"
)

// usageError is a command line that cannot be meant.
type usageError struct {
	message string
	command string // where its help is
}

func (e *usageError) Error() string { return e.message }

// startError is why a command cannot begin, or go on: what happened, where it
// is set, and how to mend it.
type startError struct {
	code    string // for scripts; empty: CANNOT_START
	what    string
	usedFor string
	fix     string
	err     error
}

func (e *startError) Error() string {
	if e.err != nil {
		return e.what + ": " + plainly(e.err)
	}
	return e.what
}

func (e *startError) Unwrap() error { return e.err }

// startErrors are several reasons at once.
type startErrors []*startError

func (e startErrors) Error() string {
	texts := make([]string, len(e))
	for i, err := range e {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// explained is an error that tells itself as a complaint.
type explained interface {
	error
	complaint() complaint
}

// complaint is an error as it is printed: one per problem.
type complaint struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	SetIn   string `json:"set_in,omitempty"`
	UsedFor string `json:"used_for,omitempty"`
	Fix     string `json:"fix,omitempty"`
	Details any    `json:"details,omitempty"`
}

// complain prints an error on stderr and returns the exit code.
func (p *program) complain(err error) int {
	complaints, code := explain(err)
	for _, c := range complaints {
		if p.asJSON {
			// Nothing can be done about a stderr that is gone.
			_ = json.NewEncoder(p.stderr).Encode(map[string]complaint{"error": c})
			continue
		}
		c.print(p.stderr)
	}
	return code
}

func (c complaint) print(w io.Writer) {
	fmt.Fprintln(w, "error: "+c.Message)
	for _, line := range [][2]string{{"set in:  ", c.SetIn}, {"used for:", c.UsedFor}, {"fix:     ", c.Fix}} {
		if line[1] != "" {
			fmt.Fprintln(w, "  "+line[0]+" "+line[1])
		}
	}
}

func explain(err error) (complaints []complaint, exit int) {
	var (
		problems configs.Problems
		usage    *usageError
		starts   startErrors
		start    *startError
		ours     *domain.Error
		theirs   explained
	)
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			complaints = append(complaints, complaint{Code: "INVALID_SETTING", Message: p.What, SetIn: p.SetIn, Fix: p.Fix})
		}
	case errors.As(err, &usage):
		return []complaint{{Code: "USAGE", Message: usage.message, Fix: usage.command + " --help"}}, exitUsage
	case errors.As(err, &starts):
		for _, s := range starts {
			complaints = append(complaints, s.complaint())
		}
	case errors.As(err, &start):
		complaints = append(complaints, start.complaint())
	case errors.As(err, &ours) && ours.Kind != domain.KindInternal:
		complaints = append(complaints, complaint{Code: ours.Code, Message: ours.Message, Fix: hint(ours), Details: details(ours)})
	case errors.As(err, &theirs):
		complaints = append(complaints, theirs.complaint())
	default:
		complaints = append(complaints, complaint{Code: "FAILED", Message: plainly(err)})
	}
	return complaints, exitFailure
}

func (e *startError) complaint() complaint {
	return complaint{Code: cmp.Or(e.code, "CANNOT_START"), Message: e.Error(), UsedFor: e.usedFor, Fix: e.fix}
}

func details(e *domain.Error) any {
	if len(e.Fields) == 0 {
		if len(e.Details) == 0 {
			return nil
		}
		return e.Details
	}
	fields := make([]map[string]string, 0, len(e.Fields))
	for _, f := range e.Fields {
		fields = append(fields, map[string]string{"field": f.Field, "code": f.Code, "message": f.Message})
	}
	return map[string]any{"fields": fields}
}

// hint says what to do next; several fields each get a word.
func hint(e *domain.Error) string {
	if len(e.Fields) < 2 {
		return ""
	}
	words := make([]string, 0, len(e.Fields))
	for _, f := range e.Fields {
		words = append(words, f.Field+": "+f.Message)
	}
	return strings.Join(words, "; ")
}

// unknown puts NOT_FOUND in the operator's words: the API's text speaks of the
// caller's key, and an operator has none.
func unknown(err error, what string, id domain.ID) error {
	if errors.Is(err, domain.ErrNotFound) {
		return &domain.Error{Kind: domain.KindNotFound, Code: domain.CodeNotFound,
			Message: "There is no " + what + " " + string(id) + " in this database."}
	}
	return err
}
