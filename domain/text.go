package domain

import (
	"fmt"
	"strings"
	"unicode"
)

// TextFault describes what is wrong with a text that other people see on one line, such as the name
// of a person, a business or a pickup location. It returns an empty text where nothing is wrong.
// Controls, line ends and the characters that turn the direction of writing are refused: no text may
// turn the letters around it. Other invisible characters are accepted, since names in many languages
// need some of them.
func TextFault(text string) string { return textFault(text, false) }

// textFault checks a text, which may have line ends and tabs where it is multiline.
func textFault(text string, multiline bool) string {
	n := 0
	for _, r := range text {
		n++
		switch {
		case multiline && (r == '\n' || r == '\r' || r == '\t'):
		case unicode.IsControl(r):
			return fmt.Sprintf("must not have control characters; character %d is %U", n, r)
		case turnsDirection(r):
			return fmt.Sprintf("must not have characters that turn the direction of writing; character %d is %U", n, r)
		}
	}
	return ""
}

// turnsDirection reports whether a character formats bidirectional text.
func turnsDirection(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// CompanyName is the name of the delivery company on pages that show who did something.
const CompanyName = "Delivery company"

// lookalikes lists, for letters of CompanyName, what looks like them: with marks, of other scripts
// and in other styles, all in small letters. An I, an l and a 1 look alike in many fonts.
var lookalikes = map[rune]string{
	'a': "ªàáâãäåāăąǎǟǡǻȁȃȧᴬᵃḁạảấầẩẫậắằẳẵặₐⓐ🄰ᴀɑαа@4🅐🅰",
	'c': "çćĉċčᶜḉℂℭⅽⓒꟲ🄫🄲©ᴄϲсƈȼ🅒🅲",
	'd': "ďᴰᵈḋḍḏḑḓⅅⅆⅾⓓ🄳ᴅđɖɗԁ🅓🅳",
	'e': "èéêëēĕėęěȅȇȩᴱᵉḕḗḙḛḝẹẻẽếềểễệₑℯℰⅇⓔ🄴ᴇɛєеѐёҽ3🅔🅴",
	'l': "iìíîïĩīĭįǐȉȋᴵᵢḭḯỉịⁱℐℑℹⅈⅰⓘ🄸ıɩɪιіїӏ1|ĺļľˡᴸḷḹḻḽₗℒℓⅼⓛ🄻łʟ🅘🅸🅛🅻",
	'm': "ᴹᵐḿṁṃₘℳⅿⓜ🄼ᴍмϻ🅜🅼",
	'n': "ñńņňǹᴺṅṇṉṋⁿₙℕⓝ🄽ɴηпո🅝🅽",
	'o': "ºòóôõöōŏőơǒǫǭȍȏȫȭȯȱᴼᵒṍṏṑṓọỏốồổỗộớờởỡợₒℴⓞ🄾øᴏοσоӧօ0🅞🅾",
	'p': "ᴾᵖṕṗₚℙⓟ🄿ᴘρрƿ🅟🅿",
	'r': "ŕŗřȑȓʳᴿᵣṙṛṝṟℛℜℝⓡ🄬🅁ʀг®🅡🆁",
	'v': "ᵛᵥṽṿⅴⓥⱽ🅅ᴠνѵʋ🅥🆅",
	'y': "ýÿŷȳʸẏẙỳỵỷỹⓨ🅈ʏγуүўӯ🅨🆈",
}

// plainLetter maps each of lookalikes to the letter that it looks like.
var plainLetter = func() map[rune]rune {
	plain := map[rune]rune{}
	for letter, all := range lookalikes {
		for _, r := range all {
			plain[r] = letter
		}
	}
	return plain
}()

// plainLetters returns the letters of a text in a form that is the same for texts that look alike.
func plainLetters(text string) string {
	letters := strings.Map(func(r rune) rune {
		switch {
		case r >= '\uff01' && r <= '\uff5e': // of full width
			r -= '\uff01' - '!'
		case r >= '\U0001d400' && r <= '\U0001d6a3': // mathematical alphabets, each of 26 letters
			r = 'a' + (r-'\U0001d400')%26
		}
		r = unicode.ToLower(r)
		if plain, alike := plainLetter[r]; alike {
			return plain
		}
		if !unicode.IsLetter(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
			return -1
		}
		return r
	}, text)
	return strings.NewReplacer("rn", "m", "cl", "d").Replace(letters)
}

// PersonNameFault checks the name of a person, as TextFault does. It also refuses what passes for
// CompanyName, in any case, in letters that look like its own and with anything between them.
func PersonNameFault(text string) string {
	if fault := TextFault(text); fault != "" {
		return fault
	}
	if strings.Contains(plainLetters(text), plainLetters(CompanyName)) {
		return "must not be that of the delivery company, which pages and emails name so"
	}
	return ""
}

// printableFault checks a text that programs choose and people may read.
func printableFault(text string) string {
	for i, r := range []rune(text) {
		if !unicode.IsPrint(r) {
			return fmt.Sprintf("may hold printable characters only; character %d is %U", i+1, r)
		}
	}
	return ""
}
