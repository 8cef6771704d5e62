package doctor

import (
	"context"
	"time"

	"waybill/adapters/cli/term"
)

// operators finds tokens that allow more, or are valid longer, than necessary.
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
