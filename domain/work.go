package domain

import (
	"slices"
	"strings"
	"time"
)

// Open reports whether a delivery of the status is in progress. A failed one is not: it is over for
// its customer, although the platform may retry it.
func (s Status) Open() bool { return slices.Contains(OpenStatuses(), s) }

// Age is how long a delivery has been in its status: longer than From and at most Until. Zero means
// no limit.
type Age struct{ From, Until time.Duration }

const (
	// FailedWindow is how long after its failure a delivery counts as work.
	FailedWindow = day
	// SandboxWindow is how long after its last move a sandbox delivery counts as work. No rider
	// waits for it.
	SandboxWindow = 7 * day
)

var ageEdges = []time.Duration{
	5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, FailedWindow, 3 * day, SandboxWindow,
}

// AgeEdges lists the ages that separate the bands of deliveries. Deliveries older than the last one
// form one more band.
func AgeEdges() []time.Duration { return slices.Clone(ageEdges) }

// ParseAge reads limits such as 30m-2h, 30m- and -24h, each of which is an age edge.
func ParseAge(text string) (Age, bool) {
	from, until, both := strings.Cut(text, "-")
	a := Age{From: edgeOf(from), Until: edgeOf(until)}
	return a, both && a.From >= 0 && a.Until >= 0 && a != Age{} && (a.Until == 0 || a.From < a.Until)
}

// edgeOf returns the age edge of a text; 0 for an empty text, -1 for any other.
func edgeOf(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := ParseLifetime(text)
	if err != nil || !slices.Contains(ageEdges, d) {
		return -1
	}
	return d
}

// String returns what ParseAge reads; empty without limits.
func (a Age) String() string {
	if a == (Age{}) {
		return ""
	}
	return edgeText(a.From) + "-" + edgeText(a.Until)
}

func edgeText(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d%time.Hour != 0:
		return strings.TrimSuffix(d.String(), "0s")
	}
	return strings.TrimSuffix(d.String(), "0m0s")
}

// Bound narrows a search to deliveries of this age at a moment.
func (a Age) Bound(s *DeliverySearch, at time.Time) {
	if a.From > 0 {
		s.UpdatedBefore = new(at.Add(-a.From))
	}
	if a.Until > 0 {
		s.UpdatedAfter = new(at.Add(-a.Until))
	}
}

// WorkFilter selects deliveries that need people. A number on the board and the list it links to
// use the same filter.
type WorkFilter struct {
	Environment Environment
	BusinessID  ID     // empty: of any
	Status      Status // an open one, or Failed; empty: any open one
	Age         Age
}

// Bounded returns the filter without deliveries that are too old to count as work.
func (f WorkFilter) Bounded() WorkFilter {
	within := time.Duration(0)
	switch {
	case f.Status == Failed:
		within = FailedWindow
	case f.Environment == Sandbox:
		within = SandboxWindow
	}
	if within > 0 && (f.Age.Until == 0 || f.Age.Until > within) {
		f.Age.Until = within
	}
	return f
}

// Search returns the search for the deliveries that the filter counts at a moment.
func (f WorkFilter) Search(at time.Time) DeliverySearch {
	f = f.Bounded()
	s := DeliverySearch{Environment: f.Environment, BusinessID: f.BusinessID, Status: f.Status, Open: f.Status != Failed}
	f.Age.Bound(&s, at)
	return s
}

// WorkTally counts the deliveries of a business in a status at an age. Band 0 reaches to the first
// age edge, and the last band has no end.
type WorkTally struct {
	BusinessID ID
	Status     Status
	Band       int
	Count      int
}

// WorkTallies holds all tallies of an environment at a moment.
type WorkTallies []WorkTally

// Together returns the tallies of a business, one for each status and band. Without a business, it
// adds up those of all businesses.
func (all WorkTallies) Together(business ID) WorkTallies {
	counts := map[WorkTally]int{}
	for _, t := range all {
		if business == "" || business == t.BusinessID {
			counts[WorkTally{BusinessID: business, Status: t.Status, Band: t.Band}] += t.Count
		}
	}
	together := make(WorkTallies, 0, len(counts))
	for t, n := range counts {
		t.Count = n
		together = append(together, t)
	}
	return together
}

// Count returns how many deliveries the filter's search finds at the moment of the tallies, which
// are of its environment.
func (all WorkTallies) Count(f WorkFilter) (n int) {
	f = f.Bounded()
	for _, t := range all {
		if f.admits(t) {
			n += t.Count
		}
	}
	return n
}

func (f WorkFilter) admits(t WorkTally) bool {
	switch {
	case f.BusinessID != "" && f.BusinessID != t.BusinessID,
		f.Status == "" && !t.Status.Open(),
		f.Status != "" && f.Status != t.Status,
		f.Age.From > 0 && (t.Band == 0 || ageEdges[t.Band-1] < f.Age.From),
		f.Age.Until > 0 && (t.Band == len(ageEdges) || ageEdges[t.Band] > f.Age.Until):
		return false
	}
	return true
}

// AgeBand returns the band for an age.
func AgeBand(age time.Duration) int {
	band := 0
	for band < len(ageEdges) && age > ageEdges[band] {
		band++
	}
	return band
}
