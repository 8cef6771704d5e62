package console

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"time"

	"waybill/adapters/pages"
	"waybill/application/reports"
	"waybill/domain"
)

// The size of the map in its own units: pixels at a width of 1,280.
const (
	mapWidth, mapHeight = 880, 560
	// cellSize sets the side of the squares whose deliveries share a mark.
	cellSize = 64
	tileSize = 256
	maxZoom  = 18
	// mostListed limits the deliveries of a mark on one page.
	mostListed = 100
)

// The layers of the map: dropoffs, and pickups of deliveries that wait for them.
const (
	layerDropoffs = "dropoffs"
	layerPickups  = "pickups"
)

// mapAsk holds the query of a map.
type mapAsk struct {
	narrowing
	Status, Layer pages.Field
	Filters       *pages.Filters
	zoom          int
	x, y          float64 // the middle, in units at that zoom
}

// cell is a square of the map at a zoom. It does not move with the view.
type cell struct{ zoom, x, y int }

func (k cell) String() string { return fmt.Sprintf("%d-%d-%d", k.zoom, k.x, k.y) }

func parseCell(text string) (k cell, ok bool) {
	n, err := fmt.Sscanf(text, "%d-%d-%d", &k.zoom, &k.x, &k.y)
	return k, err == nil && n == 3 && k.zoom >= 0 && k.zoom <= maxZoom && k.String() == text
}

// project returns the position of a point at a zoom, in the Web Mercator projection.
func project(at domain.Coordinates, zoom int) (x, y float64) {
	size := tileSize * math.Exp2(float64(zoom))
	sine := math.Sin(max(-85, min(85, at.Latitude)) * math.Pi / 180)
	return size * (at.Longitude + 180) / 360, size * (.5 - math.Log((1+sine)/(1-sine))/(4*math.Pi))
}

// unproject returns the point at a position.
func unproject(x, y float64, zoom int) domain.Coordinates {
	size := tileSize * math.Exp2(float64(zoom))
	return domain.Coordinates{
		Longitude: 360*x/size - 180, Latitude: 180 / math.Pi * math.Atan(math.Sinh(math.Pi*(1-2*y/size))),
	}
}

func cellOf(at domain.Coordinates, zoom int) cell {
	x, y := project(at, zoom)
	return cell{zoom, int(math.Floor(x / cellSize)), int(math.Floor(y / cellSize))}
}

// markView is a mark for one delivery, or for several close together.
type markView struct {
	cell         cell
	X, Y, R      string
	x, y         float64
	at           domain.Coordinates // the middle of its deliveries
	Count        int
	ID           string // of the delivery or the cell
	Label, Place string
	Where        string // in degrees
	Href         string
	Late         bool // a delivery has been in its status for long
	places       map[string]int
}

type mapView struct {
	mapAsk
	drawing
	Shown, All  int64
	More        bool
	At          time.Time
	OfPickups   bool
	Points      string
	Streets     string // the street map; empty: there is none
	StreetsGone string // why the requested streets are missing
}

// drawing holds the map itself, with links that move it.
type drawing struct {
	Width, Height int
	Area          []string // points of polygons
	Pickups       []spot   // where the deliveries in view are picked up; none on the map of pickups
	Marks         []markView
	Moves         []pages.Link
	Elsewhere     string // link that fits the map to all deliveries
}

// spot is the corner of a small square on the map.
type spot struct{ X, Y string }

// spotSize sets the side of the squares of pickups. Pickups closer together share one.
const spotSize = 8

// spots returns the pickups in view, each once.
func (a *mapAsk) spots(open []domain.OpenDelivery) (all []spot) {
	seen := map[spot]bool{}
	for i := range open {
		x, y := project(open[i].Pickup, a.zoom)
		column, row := math.Floor((x-a.x+mapWidth/2)/spotSize), math.Floor((y-a.y+mapHeight/2)/spotSize)
		at := spot{units(column * spotSize), units(row * spotSize)}
		if column < 0 || row < 0 || column >= mapWidth/spotSize || row >= mapHeight/spotSize || seen[at] {
			continue
		}
		seen[at] = true
		all = append(all, at)
	}
	return all
}

func (p *Console) askMap(c *call) (a mapAsk, err error) {
	if a.narrowing, err = p.narrow(c); err != nil {
		return a, err
	}
	statuses := []pages.Option{{Text: "All open"}}
	for _, s := range domain.OpenStatuses() {
		statuses = append(statuses, pages.Option{Value: string(s), Text: capital(string(s))})
	}
	a.Status = a.choice(c, "status", "Status", statuses)
	a.parameter(c, withoutStreets)
	a.Layer = a.choice(c, "show", "Show", []pages.Option{{Value: layerDropoffs, Text: "Dropoffs"}, {Value: layerPickups, Text: "Pickups"}})
	return a, nil
}

// filters returns the line of filters above the map at a path.
func (a *mapAsk) filters(c *call, path string) *pages.Filters {
	return pages.NewFilters(c.At(path), a.values, nil, []pages.Field{a.Environment, a.Customer, a.Status, a.Layer}, withoutStreets)
}

// selected returns the deliveries that match the filters, and their snapshot.
func (p *Console) selected(c *call, a *mapAsk) (reports.Snapshot, []domain.OpenDelivery, error) {
	snapshot, err := p.Map.Snapshot(c.Ctx(), domain.Environment(a.Environment.Value))
	if err != nil {
		return snapshot, nil, err
	}
	var open []domain.OpenDelivery
	for _, d := range snapshot.Open {
		if a.Customer.Value != "" && string(d.BusinessID) != a.Customer.Value || a.Status.Value != "" && string(d.Status) != a.Status.Value ||
			a.pickups() && d.Status != domain.Booked && d.Status != domain.Assigned && d.Status != domain.Outsourced {
			continue
		}
		open = append(open, d)
	}
	return snapshot, open, nil
}

func (a *mapAsk) pickups() bool { return a.Layer.Value == layerPickups }

// where returns the end of a trip that the map shows.
func (a *mapAsk) where(d *domain.OpenDelivery) domain.Coordinates {
	if a.pickups() {
		return d.Pickup
	}
	return d.Dropoff
}

// look sets the view: the one in the address, or else all deliveries, or else the service area.
func (a *mapAsk) look(c *call, open []domain.OpenDelivery, area [][]domain.Coordinates) {
	lat, errLat := strconv.ParseFloat(a.parameter(c, "lat"), 64)
	lon, errLon := strconv.ParseFloat(a.parameter(c, "lon"), 64)
	zoom, errZoom := strconv.Atoi(a.parameter(c, "zoom"))
	if errLat == nil && errLon == nil && errZoom == nil && math.Abs(lat) <= 85 && math.Abs(lon) <= 180 && zoom >= 0 && zoom <= maxZoom {
		a.zoom = zoom
		a.x, a.y = project(domain.Coordinates{Latitude: lat, Longitude: lon}, zoom)
		return
	}
	var all []domain.Coordinates
	for i := range open {
		all = append(all, a.where(&open[i]))
	}
	if len(all) == 0 {
		all = slices.Concat(area...)
	}
	a.fit(all)
}

// fit zooms in as far as all points stay in view, but no further than a town.
func (a *mapAsk) fit(all []domain.Coordinates) {
	const town, margin = 13, 80
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, at := range all {
		x, y := project(at, 0)
		left, top, right, bottom = min(left, x), min(top, y), max(right, x), max(bottom, y)
	}
	if len(all) == 0 {
		left, top, right, bottom = 0, 0, tileSize, tileSize
	}
	for a.zoom = town; a.zoom > 0; a.zoom-- {
		if scale := math.Exp2(float64(a.zoom)); scale*(right-left) <= mapWidth-2*margin && scale*(bottom-top) <= mapHeight-2*margin {
			break
		}
	}
	scale := math.Exp2(float64(a.zoom))
	a.x, a.y = scale*(left+right)/2, scale*(top+bottom)/2
}

// marks returns the marks of the deliveries in view, one per square. There are no more marks than
// squares.
func (a *mapAsk) marks(open []domain.OpenDelivery, now time.Time) (marks []markView, shown int) {
	by := map[cell]*markView{}
	for i := range open {
		d := &open[i]
		x, y := project(a.where(d), a.zoom)
		if x, y = x-a.x+mapWidth/2, y-a.y+mapHeight/2; x < 0 || y < 0 || x > mapWidth || y > mapHeight {
			continue
		}
		shown++
		k := cellOf(a.where(d), a.zoom)
		m := by[k]
		if m == nil {
			m = &markView{cell: k, ID: string(d.ID), places: map[string]int{}}
			by[k] = m
		}
		m.Count++
		m.x, m.y = m.x+x, m.y+y
		if !a.pickups() { // the municipality is the dropoff's
			m.places[d.Municipality]++
		}
		m.Late = m.Late || now.Sub(d.Since) > lateOnMap
	}
	for _, m := range by {
		m.x, m.y = m.x/float64(m.Count), m.y/float64(m.Count)
		m.at = unproject(m.x+a.x-mapWidth/2, m.y+a.y-mapHeight/2, a.zoom)
		m.draw(a)
		if m.Count > 1 {
			m.ID = m.cell.String()
		}
		m.Place = mainPlace(m.places)
		m.Where = fmt.Sprintf("%.3f, %.3f", m.at.Latitude, m.at.Longitude)
		switch {
		case a.pickups():
			m.Place = "Pickup"
		case m.Place == "":
			m.Place = "No municipality"
		case len(m.places) > 1:
			m.Place = "Around " + m.Place
		}
		marks = append(marks, *m)
	}
	sort.Slice(marks, func(i, j int) bool {
		return cmp.Or(marks[j].Count-marks[i].Count, cmp.Compare(marks[i].ID, marks[j].ID)) < 0
	})
	return marks, shown
}

// mainPlace returns the municipality with the most deliveries; empty: none has one.
func mainPlace(places map[string]int) (main string) {
	most := 0
	for place, n := range places {
		if place != "" && (n > most || n == most && place < main) {
			main, most = place, n
		}
	}
	return main
}

// draw places a mark's circle near its middle but inside its square. Marks never overlap, and a
// mouse reaches each of them.
func (m *markView) draw(a *mapAsk) {
	r := min(30, 9+5*math.Log10(float64(m.Count))*2)
	within := func(at float64, square int, origin float64) float64 {
		first := float64(square)*cellSize - origin
		return max(first+r, min(first+cellSize-r, at))
	}
	m.X, m.Y = units(within(m.x, m.cell.x, a.x-mapWidth/2)), units(within(m.y, m.cell.y, a.y-mapHeight/2))
	m.R = units(r)
}

// lateOnMap sets how long a delivery stays in one status until its mark stands out.
const lateOnMap = time.Hour

func units(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// showMap shows the map without streets. Without a query it opens the street map, if there is one.
func (p *Console) showMap(c *call) error {
	if p.options.Streets != nil && c.Request.URL.RawQuery == "" {
		return c.Lead(streetAt)
	}
	return p.showMapWithout(c, "")
}

// showMapWithout shows the map without streets, and says why they are missing.
func (p *Console) showMapWithout(c *call, streetsGone string) error {
	a, err := p.askMap(c)
	if err != nil {
		return err
	}
	snapshot, open, err := p.selected(c, &a)
	if err != nil {
		return err
	}
	a.look(c, open, p.Map.Area())
	v := mapView{
		mapAsk: a, All: int64(len(open)), More: snapshot.More, At: snapshot.At,
		OfPickups: a.pickups(), Points: a.address(c, "/map/points"),
	}
	if v.StreetsGone = streetsGone; p.options.Streets != nil {
		v.Streets = a.address(c, streetAt, "lat", "", "lon", "", "zoom", "", withoutStreets, "")
	}
	v.drawing, v.Shown = p.draw(c, &a, open)
	middle := unproject(a.x, a.y, a.zoom)
	v.Filters = a.filters(c, "/map")
	v.Filters.Kept = append(v.Filters.Kept, pages.Kept{Name: "lat", Value: degrees(middle.Latitude)},
		pages.Kept{Name: "lon", Value: degrees(middle.Longitude)}, pages.Kept{Name: "zoom", Value: strconv.Itoa(a.zoom)})
	return p.Show(c, http.StatusOK, "map", "Map", v)
}

// plainMap returns the address of the map without streets, with changed parameters.
func (p *Console) plainMap(c *call, n *narrowing, changed ...string) string {
	chosen := ""
	if p.options.Streets != nil {
		chosen = "no"
	}
	return n.address(c, "/map", append(changed, withoutStreets, chosen)...)
}

// draw returns the map at its position, and the number of deliveries in view.
func (p *Console) draw(c *call, a *mapAsk, open []domain.OpenDelivery) (d drawing, shown int64) {
	d = drawing{Width: mapWidth, Height: mapHeight, Moves: a.moves(c),
		Elsewhere: p.plainMap(c, &a.narrowing, "lat", "", "lon", "", "zoom", "")}
	var in int
	if !a.pickups() {
		d.Pickups = a.spots(open)
	}
	d.Marks, in = a.marks(open, p.options.Clock.Now())
	for i := range d.Marks {
		m := &d.Marks[i]
		if m.Label = "1 delivery, " + m.Place + ", " + m.Where; m.Count > 1 {
			m.Label = fmt.Sprintf("%s deliveries, %s, %s", pages.Count(int64(m.Count)), m.Place, m.Where)
			m.Href = a.address(c, "/map/deliveries", "cell", m.cell.String())
		} else {
			m.Href = c.At("/deliveries/" + m.ID)
		}
	}
	for _, line := range p.Map.Area() {
		d.Area = append(d.Area, a.drawn(line))
	}
	return d, int64(in)
}

// drawn returns the points of a polygon.
func (a *mapAsk) drawn(line []domain.Coordinates) string {
	var points []byte
	// Points far outside are moved closer: a country border at street zoom has numbers too large
	// for some browsers.
	near := func(at, most float64) float64 { return max(-most, min(2*most, at)) }
	for _, at := range line {
		x, y := project(at, a.zoom)
		points = append(points, units(near(x-a.x+mapWidth/2, mapWidth*20))+","+units(near(y-a.y+mapHeight/2, mapHeight*20))+" "...)
	}
	return string(points)
}

// moves returns links that move and zoom the map.
func (a *mapAsk) moves(c *call) (links []pages.Link) {
	to := func(text string, x, y float64, zoom int) {
		at := unproject(x, y, zoom)
		if size := tileSize * math.Exp2(float64(zoom)); x < 0 || y < 0 || x > size || y > size || zoom < 0 || zoom > maxZoom {
			return
		}
		links = append(links, pages.Link{Text: text,
			Href: a.address(c, "/map", "lat", degrees(at.Latitude), "lon", degrees(at.Longitude), "zoom", strconv.Itoa(zoom))})
	}
	to("Zoom in", 2*a.x, 2*a.y, a.zoom+1)
	to("Zoom out", a.x/2, a.y/2, a.zoom-1)
	to("North", a.x, a.y-mapHeight/2, a.zoom)
	to("South", a.x, a.y+mapHeight/2, a.zoom)
	to("West", a.x-mapWidth/2, a.y, a.zoom)
	to("East", a.x+mapWidth/2, a.y, a.zoom)
	return links
}

func degrees(f float64) string { return strconv.FormatFloat(f, 'f', 5, 64) }

type mapListView struct {
	Title, Place       string
	Back, Nearer, Next string
	Rows               []mapRowView
	All                int64
	First, Last        int
	At                 time.Time
}

type mapRowView struct {
	ID, Reference, Href, Status, Tone, Customer, Municipality string
	Since                                                     time.Time
}

// showMark lists the deliveries of one mark, longest waiting first.
func (p *Console) showMark(c *call) error {
	a, err := p.askMap(c)
	if err != nil {
		return err
	}
	k, ok := parseCell(c.Query("cell"))
	if c.Query("cell") == "" {
		return c.Lead("/map")
	}
	if !ok {
		return domain.ErrNotFound
	}
	snapshot, open, err := p.selected(c, &a)
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(d domain.OpenDelivery) bool { return cellOf(a.where(&d), k.zoom) != k })
	places := map[string]int{}
	for i := range open {
		if !a.pickups() { // the municipality is the dropoff's
			places[open[i].Municipality]++
		}
	}
	sort.SliceStable(open, func(i, j int) bool { return open[i].Since.Before(open[j].Since) })
	middle := unproject((float64(k.x)+.5)*cellSize, (float64(k.y)+.5)*cellSize, k.zoom)
	for _, name := range []string{"lat", "lon", "zoom", "page"} {
		a.parameter(c, name)
	}
	page, err := strconv.Atoi(a.values.Get("page"))
	if a.values.Del("page"); err != nil || page < 1 || page > len(open)/mostListed+1 {
		page = 1
	}
	v := mapListView{
		All: int64(len(open)), First: (page-1)*mostListed + 1, Last: min(len(open), page*mostListed), At: snapshot.At,
		Back: p.plainMap(c, &a.narrowing),
		Nearer: a.address(c, "/map", "lat", degrees(middle.Latitude), "lon", degrees(middle.Longitude),
			"zoom", strconv.Itoa(min(maxZoom, k.zoom+2))),
		Place: cmp.Or(mainPlace(places), fmt.Sprintf("%.3f, %.3f", middle.Latitude, middle.Longitude)),
	}
	v.Title = "1 delivery around " + v.Place
	if v.All != 1 {
		v.Title = pages.Count(v.All) + " deliveries around " + v.Place
	}
	if v.Last < len(open) {
		v.Next = a.address(c, "/map/deliveries", "cell", k.String(), "page", strconv.Itoa(page+1))
	}
	for _, d := range open[min(len(open), v.First-1):v.Last] {
		v.Rows = append(v.Rows, mapRowView{
			ID: string(d.ID), Reference: string(d.Reference), Href: c.At("/deliveries/" + string(d.ID)), Status: capital(string(d.Status)), Tone: pages.StatusTones[d.Status],
			Customer: cmp.Or(a.names[d.BusinessID], string(d.BusinessID)), Municipality: d.Municipality, Since: d.Since,
		})
	}
	return p.Show(c, http.StatusOK, "map_list", v.Title, v)
}
