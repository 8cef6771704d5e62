package term

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

// usageError is an invalid command line.
type usageError struct {
	message string
	command string // where its help is
}

func (e *usageError) Error() string { return e.message }

// StartError is the reason why a command cannot start, or continue: the failure, the setting,
// and the fix.
type StartError struct {
	Code    string // for scripts; empty: CANNOT_START
	What    string
	UsedFor string
	Fix     string
	Err     error
}

func (e *StartError) Error() string {
	if e.Err != nil {
		return e.What + ": " + Plainly(e.Err)
	}
	return e.What
}

func (e *StartError) Unwrap() error { return e.Err }

// StartErrors holds several reasons at once.
type StartErrors []*StartError

func (e StartErrors) Error() string {
	texts := make([]string, len(e))
	for i, err := range e {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// explained is an error that returns its own complaint.
type explained interface {
	error
	Complaint() Complaint
}

// Complaint is an error as it is printed: one per problem.
type Complaint struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	SetIn   string `json:"set_in,omitempty"`
	UsedFor string `json:"used_for,omitempty"`
	Fix     string `json:"fix,omitempty"`
	Details any    `json:"details,omitempty"`
}

// Complain prints an error on stderr and returns the exit code.
func (p *Program) Complain(err error) int {
	complaints, code := Explain(err)
	for _, c := range complaints {
		if p.AsJSON {
			// Nothing can be done about a closed stderr.
			_ = json.NewEncoder(p.Stderr).Encode(map[string]Complaint{"error": c})
			continue
		}
		c.print(p.Stderr)
	}
	return code
}

func (c Complaint) print(w io.Writer) {
	fmt.Fprintln(w, "error: "+c.Message)
	for _, line := range [][2]string{{"set in:  ", c.SetIn}, {"used for:", c.UsedFor}, {"fix:     ", c.Fix}} {
		if line[1] != "" {
			fmt.Fprintln(w, "  "+line[0]+" "+line[1])
		}
	}
}

// Explain returns the text of an error for people, and the exit code of the process.
func Explain(err error) (complaints []Complaint, exit int) {
	var (
		problems configs.Problems
		usage    *usageError
		starts   StartErrors
		start    *StartError
		ours     *domain.Error
		theirs   explained
	)
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			complaints = append(complaints, Complaint{Code: "INVALID_SETTING", Message: p.What, SetIn: p.SetIn, Fix: p.Fix})
		}
	case errors.As(err, &usage):
		return []Complaint{{Code: "USAGE", Message: usage.message, Fix: usage.command + " --help"}}, ExitUsage
	case errors.As(err, &starts):
		for _, s := range starts {
			complaints = append(complaints, s.Complaint())
		}
	case errors.As(err, &start):
		complaints = append(complaints, start.Complaint())
	case errors.As(err, &ours) && ours.Kind != domain.KindInternal:
		complaints = append(complaints, Complaint{Code: ours.Code, Message: ours.Message, Fix: hint(ours), Details: details(ours)})
	case errors.As(err, &theirs):
		complaints = append(complaints, theirs.Complaint())
	default:
		complaints = append(complaints, Complaint{Code: "FAILED", Message: Plainly(err)})
	}
	return complaints, ExitFailure
}

// Complaint returns the error as it is printed.
func (e *StartError) Complaint() Complaint {
	return Complaint{Code: cmp.Or(e.Code, "CANNOT_START"), Message: e.Error(), UsedFor: e.UsedFor, Fix: e.Fix}
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

// hint says what to do next. Several fields get a few words each.
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

// Unknown rewrites NOT_FOUND for operators: the API's text mentions the caller's key, and an
// operator has none.
func Unknown(err error, what string, id domain.ID) error {
	if errors.Is(err, domain.ErrNotFound) {
		return &domain.Error{Kind: domain.KindNotFound, Code: domain.CodeNotFound,
			Message: "There is no " + what + " " + string(id) + " in this database."}
	}
	return err
}
