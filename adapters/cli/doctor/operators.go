package doctor

import (
	"context"
	"time"

	"waybill/adapters/cli/term"
)

// operators looks for tokens that open more, or longer, than they have to.
func (d *diagnosis) operators(ctx context.Context, store Database) {
	const check = "operator tokens"
	tokens, err := store.Read().Operators.List(ctx)
	if err != nil {
		d.failed(check, err)
		return
	}
	if message, fix := term.Endless(tokens); message != "" {
		d.warn(check, message, fix)
		return
	}
	usable := 0
	for _, t := range tokens {
		if t.Usable(time.Now()) == nil {
			usable++
		}
	}
	d.ok(check, term.Counted(usable, "token")+", all with an expiry")
}
