package brand

import (
	"fmt"
	"math"
	"strconv"
)

// The surfaces of adapters/pages/assets/tokens.css on which text has the accent colour.
var (
	lightSurfaces = []colour{parse("#f8f8f5"), parse("#eff0ec"), parse("#ffffff")}
	darkSurfaces  = []colour{parse("#11161d"), parse("#1d252f"), parse("#181f28")}
)

const (
	minContrast = 4.5 // WCAG AA for text
	tintShare   = .12 // of the accent in a tint
)

// colour holds red, green and blue from 0 to 255.
type colour [3]float64

// parse reads #rrggbb. The settings checked it.
func parse(s string) (c colour) {
	for i := range c {
		n, err := strconv.ParseUint(s[1+2*i:3+2*i], 16, 8)
		if err != nil {
			panic(err) // the settings were checked
		}
		c[i] = float64(n)
	}
	return c
}

func (c colour) String() string {
	return fmt.Sprintf("#%02x%02x%02x", uint8(c[0]), uint8(c[1]), uint8(c[2]))
}

// mix returns the colour with a share of another one.
func (c colour) mix(with colour, share float64) (m colour) {
	for i := range c {
		m[i] = math.Round(c[i]*(1-share) + with[i]*share)
	}
	return m
}

// luminance is the relative luminance of WCAG 2.
func (c colour) luminance() float64 {
	var linear colour
	for i, v := range c {
		if v /= 255; v <= .04045 {
			linear[i] = v / 12.92
		} else {
			linear[i] = math.Pow((v+.055)/1.055, 2.4)
		}
	}
	return .2126*linear[0] + .7152*linear[1] + .0722*linear[2]
}

// contrast is the contrast ratio of WCAG 2.
func contrast(a, b colour) float64 {
	l, m := a.luminance(), b.luminance()
	return (max(l, m) + .05) / (min(l, m) + .05)
}

// onLight returns the colour, darkened until text in it can be read on light pages.
func onLight(c colour) colour { return legible(c, parse("#000000"), lightSurfaces) }

// onDark returns the colour, lightened until text in it can be read on dark pages.
func onDark(c colour) colour { return legible(c, parse("#ffffff"), darkSurfaces) }

// legible moves a colour towards an end until it has enough contrast on every surface and on its
// own tint.
func legible(c, end colour, surfaces []colour) colour {
	for share := 0.0; share < 1; share += .02 {
		moved := c.mix(end, share)
		enough := contrast(moved, tintOf(moved, surfaces)) >= minContrast
		for _, s := range surfaces {
			enough = enough && contrast(moved, s) >= minContrast
		}
		if enough {
			return moved
		}
	}
	return end
}

// tintOf returns the background of chosen entries. The last surface is the one of cards.
func tintOf(c colour, surfaces []colour) colour { return surfaces[len(surfaces)-1].mix(c, tintShare) }

// styleOf returns the colours that follow from the accent, as tokens.css names them.
func styleOf(accent colour) string {
	light, dark := onLight(accent), onDark(accent)
	return fmt.Sprintf(`:root { --brand: %[1]s; --accent: %[1]s; --tint: %[2]s; }
@media (prefers-color-scheme: dark) {
  :root { --brand: %[3]s; --on-brand: %[5]s; --accent: %[3]s; --tint: %[4]s; }
}
`, light, tintOf(light, lightSurfaces), dark, tintOf(dark, darkSurfaces), darkSurfaces[0])
}
