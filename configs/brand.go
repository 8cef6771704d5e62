package configs

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"net/mail"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of the brand settings. Every page shows them.
const (
	maxBrandName = 40
	maxLogo      = 256 << 10
	maxLogoSide  = 2048 // pixels
)

var accentColour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

func checkBrandName(s string) error {
	switch {
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return bad("has characters that cannot be shown", "plain text, such as Adom Express")
	case utf8.RuneCountInString(s) > maxBrandName:
		return bad("is too long", "at most "+strconv.Itoa(maxBrandName)+" characters, such as Adom Express")
	}
	return nil
}

func checkSupportURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
		return bad("is no address of a web page", "such as https://example.com/help")
	}
	return nil
}

func checkSupportEmail(s string) error {
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || strings.ContainsAny(s, "?&%\"") {
		return bad("is no email address", "the address alone, such as support@example.com")
	}
	return nil
}

// checkLogo reads the file, because every page would show what is wrong with it.
func checkLogo(path string) error {
	f, err := os.Open(path) //nolint:gosec // the file that the settings name
	if err != nil {
		return bad("cannot be read", "name a file that this user may read")
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxLogo+1))
	if err != nil {
		return bad("cannot be read", "name a file that this user may read")
	}
	if len(content) > maxLogo {
		return bad("is larger than 256 KB", "an SVG, or a PNG of about 200 x 200 pixels")
	}
	if IsPNG(content) {
		return checkPNG(content)
	}
	return checkSVG(content)
}

// IsPNG reports whether the content of a logo is a PNG. Otherwise it is an SVG.
func IsPNG(content []byte) bool { return bytes.HasPrefix(content, []byte("\x89PNG\r\n\x1a\n")) }

func checkPNG(content []byte) error {
	about, err := png.DecodeConfig(bytes.NewReader(content))
	if err == nil && (about.Width > maxLogoSide || about.Height > maxLogoSide) {
		return bad("has more than 2048 pixels on a side", "an SVG, or a PNG of about 200 x 200 pixels")
	}
	if err == nil {
		_, err = png.Decode(bytes.NewReader(content))
	}
	if err != nil {
		return bad("is no PNG that can be read", "export the logo again as PNG or SVG")
	}
	return nil
}

var (
	// activeElements lists elements of SVG that run scripts, load content or change attributes.
	activeElements = regexp.MustCompile(`(?i)^(script|handler|listener|foreignobject|iframe|object|embed|audio|video|link|meta|set|animate.*|discard)$`)
	// outsideCSS finds CSS that loads a file. A backslash may spell any of these words.
	outsideCSS   = regexp.MustCompile(`(?i)@import|image-set|src\s*\(|\\|expression|javascript:`)
	cssURL       = regexp.MustCompile(`(?i)url\s*\(\s*["']?\s*`)
	embeddedData = regexp.MustCompile(`(?i)^data:image/(png|jpeg|gif|webp)[;,]`)
)

// checkSVG refuses an SVG with scripts or references to other files.
func checkSVG(content []byte) error {
	const fix = "export the logo as plain SVG, or as PNG"
	d := xml.NewDecoder(bytes.NewReader(content))
	root := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return bad("is neither a PNG nor an SVG that can be read", fix)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !root && (token.Name.Local != "svg" || token.Name.Space != "http://www.w3.org/2000/svg") {
				return bad("is neither a PNG nor an SVG", fix)
			}
			root = true
			if activeElements.MatchString(token.Name.Local) {
				return bad("is an SVG with the element "+token.Name.Local+", which may run a script or load a file", fix)
			}
			for _, a := range token.Attr {
				if !harmless(a) {
					return bad("is an SVG whose attribute "+a.Name.Local+" runs a script or refers to another file", fix)
				}
			}
		case xml.CharData:
			if loadsFile(string(token)) {
				return bad("is an SVG whose styles refer to another file", fix)
			}
		case xml.Directive:
			if bytes.ContainsRune(token, '[') {
				return bad("is an SVG with definitions of its own in the DOCTYPE", fix)
			}
		case xml.ProcInst:
			if token.Target != "xml" {
				return bad("is an SVG that refers to a stylesheet", fix)
			}
		}
	}
	if !root {
		return bad("is neither a PNG nor an SVG", fix)
	}
	return nil
}

// harmless reports whether an attribute neither runs a script nor refers to another file.
func harmless(a xml.Attr) bool {
	name, value := strings.ToLower(a.Name.Local), strings.TrimSpace(a.Value)
	switch {
	case a.Name.Space == "xmlns" || name == "xmlns": // the name of a vocabulary, which nothing opens
		return true
	case strings.HasPrefix(name, "on"):
		return false
	case name == "href" || name == "src":
		return value == "" || strings.HasPrefix(value, "#") || embeddedData.MatchString(value)
	}
	return !loadsFile(value)
}

// loadsFile reports whether a text refers to a file, as CSS does.
func loadsFile(text string) bool {
	for _, at := range cssURL.FindAllStringIndex(text, -1) {
		if !strings.HasPrefix(text[at[1]:], "#") && !embeddedData.MatchString(text[at[1]:]) {
			return true
		}
	}
	return outsideCSS.MatchString(text)
}
