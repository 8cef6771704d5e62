package domain

import "strconv"

// quoted is a text of a caller as a message may repeat it: in quotes, at most
// 64 characters of it, and control characters escaped.
func quoted(text string) string {
	const most = 64
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return strconv.Quote(text)
}
