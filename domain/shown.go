package domain

import "strconv"

// quoted returns a text of a caller for use in a message: in quotes, at most 64 characters, with
// control characters escaped.
func quoted(text string) string {
	const most = 64
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return strconv.Quote(text)
}
