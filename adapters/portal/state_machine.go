package portal

import (
	"math"
	"slices"
	"strconv"

	"waybill/adapters/pages"
	"waybill/domain"
)

// machineView holds the state machine of a sandbox delivery, as a drawing and as a list with the
// same facts.
type machineView struct {
	Width, Height int
	States        []stateView
	Arrows        []arrowView
	Label         string // describes the drawing
}

// stateView is a status with its position in the drawing.
type stateView struct {
	Name, X, Y, TextX, TextY string // the corner of its box, and the middle of its text
	Now, Next, Over          bool   // the delivery is there, may move there, or ends there
	To                       []string
}

// arrowView is a transition.
type arrowView struct {
	Path string
	Next bool // it is possible now
}

// The size of a box, and of the drawing.
const (
	boxWidth, boxHeight       = 92, 32
	machineWidth              = 320
	machineHeight             = 344
	left, middle, right       = 52, 160, 268
	row1, row2, row3, row4    = 32, 102, 172, 242
	row5                      = 312
	arrowGap                  = 3 // between an arrow's head and a box
	twoWay                    = 9 // offset of arrows in both directions
	overTheTop, cornerOfArrow = 8, 8
)

// places holds the middle of each box.
var places = map[domain.Status][2]float64{
	domain.Booked: {middle, row1}, domain.Assigned: {middle, row2}, domain.PickedUp: {middle, row3}, domain.InTransit: {middle, row4},
	domain.Delivered: {middle, row5}, domain.Outsourced: {right, row2}, domain.Failed: {left, row3}, domain.Cancelled: {left, row1},
}

// testMoves returns the transitions that people and programs can make in the sandbox, by starting
// status.
func testMoves() map[domain.Status][]domain.Status {
	moves := map[domain.Status][]domain.Status{}
	for _, t := range domain.Transitions() {
		if slices.Contains(t.By, domain.ActorHelper) {
			moves[t.From] = append(moves[t.From], t.To)
		}
	}
	return moves
}

// drawMachine draws all states and marks those that can follow. now is empty if there is no
// delivery.
func drawMachine(now domain.Status, next []domain.Status) machineView {
	v := machineView{Width: machineWidth, Height: machineHeight}
	moves := testMoves()
	for _, from := range domain.Statuses() {
		at := places[from]
		state := stateView{
			Name: pages.Spaced(string(from)), X: units(at[0] - boxWidth/2), Y: units(at[1] - boxHeight/2), TextX: units(at[0]),
			TextY: units(at[1] + 4),
			Now:   from == now, Next: slices.Contains(next, from), Over: len(moves[from]) == 0,
		}
		for _, to := range moves[from] {
			state.To = append(state.To, pages.Spaced(string(to)))
			v.Arrows = append(v.Arrows, arrowView{
				Path: arrow(from, to, slices.Contains(moves[to], from)), Next: from == now && slices.Contains(next, to),
			})
		}
		v.States = append(v.States, state)
	}
	v.Label = "The statuses of a delivery and the moves between them. The list beside it says the same."
	if now != "" {
		v.Label = "The delivery is " + pages.Spaced(string(now)) + ". The list beside it says what can follow."
	}
	return v
}

// arrow returns the path from one box to another. If there are moves in both directions, each keeps
// to its own side.
func arrow(from, to domain.Status, both bool) string {
	a, b := places[from], places[to]
	if from == domain.Outsourced && to == domain.Cancelled { // over the top, as booked is in between
		return "M" + units(a[0]) + " " + units(a[1]-boxHeight/2) + "V" + units(overTheTop+cornerOfArrow) + "q0 -" + units(cornerOfArrow) + " -" +
			units(cornerOfArrow) + " -" + units(cornerOfArrow) + "H" + units(b[0]+cornerOfArrow) + "q-" + units(cornerOfArrow) + " 0 -" +
			units(cornerOfArrow) + " 5"
	}
	dx, dy := b[0]-a[0], b[1]-a[1]
	length := math.Hypot(dx, dy)
	if both {
		aside := [2]float64{-dy / length * twoWay, dx / length * twoWay}
		a, b = [2]float64{a[0] + aside[0], a[1] + aside[1]}, [2]float64{b[0] + aside[0], b[1] + aside[1]}
	}
	out := edge(places[from], a, dx, dy)
	in := edge(places[to], b, -dx, -dy)
	in = [2]float64{in[0] - dx/length*arrowGap, in[1] - dy/length*arrowGap}
	return "M" + units(out[0]) + " " + units(out[1]) + "L" + units(in[0]) + " " + units(in[1])
}

// edge returns the point where a ray from inside a box leaves it.
func edge(box, from [2]float64, dx, dy float64) [2]float64 {
	t := math.Inf(1)
	if dx != 0 {
		t = min(t, (box[0]+math.Copysign(boxWidth/2, dx)-from[0])/dx)
	}
	if dy != 0 {
		t = min(t, (box[1]+math.Copysign(boxHeight/2, dy)-from[1])/dy)
	}
	return [2]float64{from[0] + dx*t, from[1] + dy*t}
}

func units(f float64) string { return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) }
