package main

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"
)

// Bars are as long as what was reached, the aim being 1; what is longer than
// longest is cut off.
const (
	longest   = 2.0
	aimColumn = 20 // of a bar in text
)

// sides sorts goals by the side of the aim that is the good one.
func sides(goals []goal) (least, most []goal) {
	for _, g := range goals {
		if g.atLeast > 0 {
			least = append(least, g)
		} else {
			most = append(most, g)
		}
	}
	return least, most
}

const (
	leastTitle = "at least: the bar has to reach the mark"
	mostTitle  = "at most: the bar has to end before the mark"
)

// printBars draws the goals in text.
func printBars(w io.Writer, goals []goal) {
	least, most := sides(goals)
	for _, side := range []struct {
		title string
		goals []goal
	}{{leastTitle, least}, {mostTitle, most}} {
		if len(side.goals) == 0 {
			continue
		}
		fmt.Fprintf(w, "%-44s %s\n", "", side.title)
		for _, g := range side.goals {
			fmt.Fprintf(w, "%-44s %s %.*f %s\n", g.name, bar(g.reach()), g.digits, g.value(), g.verdict())
		}
	}
}

// bar ends in > where it is cut off.
func bar(reach float64) string {
	width := int(longest * aimColumn)
	full := min(width, max(0, int(reach*aimColumn+0.5)))
	cells := []byte(strings.Repeat("=", full) + strings.Repeat(" ", width-full))
	if reach > longest {
		cells[width-1] = '>'
	}
	return string(cells[:aimColumn]) + "|" + string(cells[aimColumn:])
}

// Measures of the drawing, in pixels.
const (
	plotWidth   = 900
	labelWidth  = 330
	barWidth    = 400 // of the longest
	rowHeight   = 24
	titleHeight = 40
)

// plot draws the goals as SVG, by hand: two groups of bars, the aims one under the
// other.
func plot(to io.Writer, title string, goals []goal) error {
	w := bufio.NewWriter(to)
	least, most := sides(goals)
	rows := len(goals)
	for _, side := range [][]goal{least, most} {
		if len(side) > 0 {
			rows++
		}
	}
	height := titleHeight + rowHeight*rows + rowHeight
	fmt.Fprintf(w,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="13">`+"\n",
		plotWidth, height, plotWidth, height)
	fmt.Fprintf(w, `<rect width="100%%" height="100%%" fill="#ffffff"/>`+"\n")
	fmt.Fprintf(w, `<text x="12" y="24" font-size="15" font-weight="bold">%s</text>`+"\n", html.EscapeString(title))
	y := titleHeight
	y = plotSide(w, leastTitle, least, y)
	plotSide(w, mostTitle, most, y)
	fmt.Fprintln(w, "</svg>")
	return w.Flush()
}

// plotSide draws goals from a height on and returns the next free one.
func plotSide(w io.Writer, title string, goals []goal, y int) int {
	if len(goals) == 0 {
		return y
	}
	const aim = labelWidth + barWidth/longest
	fmt.Fprintf(w, `<text x="%d" y="%d" fill="#555555" font-style="italic">%s</text>`+"\n", labelWidth, y+16, title)
	top := y + rowHeight
	for i, g := range goals {
		at := top + i*rowHeight
		colour := "#2e7d4f"
		if g.missed() {
			colour = "#c0392b"
		}
		length := barWidth * min(longest, max(0, g.reach())) / longest
		fmt.Fprintf(w, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", labelWidth-8, at+16, html.EscapeString(g.name))
		fmt.Fprintf(w, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", labelWidth, at+4, length, rowHeight-8, colour)
		if g.reach() > longest {
			// A bar that goes on.
			fmt.Fprintf(w, `<path d="M%d %d l10 %d l-10 %d z" fill="%s"/>`+"\n", labelWidth+barWidth, at+4, (rowHeight-8)/2, (rowHeight-8)/2, colour)
		}
		fmt.Fprintf(w, `<text x="%d" y="%d">%.*f <tspan fill="#555555">%s, %s</tspan></text>`+"\n",
			labelWidth+barWidth+16, at+16, g.digits, g.value(), html.EscapeString(g.aim()), g.verdict())
	}
	bottom := top + len(goals)*rowHeight
	fmt.Fprintf(w, `<line x1="%g" y1="%d" x2="%g" y2="%d" stroke="#222222" stroke-width="2" stroke-dasharray="4 2"/>`+"\n", aim, top, aim,
		bottom)
	return bottom
}
