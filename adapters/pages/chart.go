package pages

import (
	"math"
	"strconv"
	"time"
)

// The size of a chart, in SVG units.
const (
	chartWidth  = 640
	chartHeight = 160
	chartTop    = 14 // space for the label of the top grid line
	chartLeft   = 48 // space for the labels of the grid lines
)

// Bar holds one value of a chart. Values are not negative.
type Bar struct {
	Label string
	At    time.Time // shown in the reader's time zone in place of Label, unless it is zero
	Value int64
	Bad   int64  // the failed part of Value
	Href  string // link of the table row; empty: none
}

// Chart holds a bar chart and the same figures for a table.
type Chart struct {
	Title, By, Unit string // of the chart, of its labels, of its values
	BadUnit         string // of the failed parts; empty: there are none
	Width, Height   int
	Columns         []Column
	First, Last     *Column // leftmost and rightmost; nil: there is none
	Grid            []GridLine
}

// Column is a bar with its position in the chart.
type Column struct {
	Bar
	X, Y, Height string
	Width        string

	BadY, BadHeight string
}

// GridLine is a horizontal line across the chart.
type GridLine struct{ Y, TextY, Text string }

// NewChart lays out the bars from left to right.
func NewChart(title, by, unit string, bars []Bar) Chart {
	c := Chart{Title: title, By: by, Unit: unit, Width: chartWidth, Height: chartHeight}
	most := int64(1)
	for _, b := range bars {
		most = max(most, b.Value)
	}
	top := roundUp(most)
	y := func(value int64) float64 {
		return chartTop + (chartHeight-chartTop)*(1-float64(value)/float64(top))
	}
	for _, value := range []int64{top, top / 2} {
		if value > 0 {
			c.Grid = append(c.Grid, GridLine{Y: units(y(value)), TextY: units(y(value) - 3), Text: Count(value)})
		}
	}
	step := float64(chartWidth-chartLeft) / float64(max(1, len(bars)))
	for i, b := range bars {
		c.Columns = append(c.Columns, Column{
			Bar: b, X: units(chartLeft + float64(i)*step + step*.1), Width: units(step * .8), Y: units(y(b.Value)),
			Height: units(chartHeight - y(b.Value)),
			BadY:   units(y(b.Bad)), BadHeight: units(chartHeight - y(b.Bad)),
		})
	}
	if n := len(c.Columns); n > 0 {
		c.First, c.Last = &c.Columns[0], &c.Columns[n-1]
	}
	return c
}

// roundUp rounds up to the next 1, 2 or 5 times a power of ten.
func roundUp(n int64) int64 {
	for power := int64(1); power <= math.MaxInt64/10; power *= 10 {
		for _, digit := range []int64{1, 2, 5} {
			if n <= digit*power {
				return digit * power
			}
		}
	}
	return n
}

func units(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
