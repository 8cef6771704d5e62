package console

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"waybill/adapters/pages"
	"waybill/application/reports"
	"waybill/domain"
)

const (
	boardAt         = "/board"
	boardBusinesses = 50 // per page
)

// boardAges lists the columns of the board. Each begins and ends at one of domain.AgeEdges.
var boardAges = []domain.Age{
	{Until: 15 * time.Minute}, {From: 15 * time.Minute, Until: 30 * time.Minute}, {From: 30 * time.Minute, Until: time.Hour},
	{From: time.Hour, Until: 4 * time.Hour}, {From: 4 * time.Hour, Until: 24 * time.Hour},
	{From: 24 * time.Hour, Until: 72 * time.Hour}, {From: 72 * time.Hour},
}

// boardStatuses returns the rows of the board.
func boardStatuses() []domain.Status { return append(domain.OpenStatuses(), domain.Failed) }

// boardView holds the data of the board page.
type boardView struct {
	Notice        *pages.Notice
	Environment   domain.Environment
	Environments  pages.Tabs
	At            time.Time
	Business      string // the only customer shown; empty: all
	All           string // the board of all customers
	Ages          []string
	Statuses      []string
	Rows          []boardLine // one per status, and their sum
	Businesses    []boardLine
	Customers     int64
	Newest, Older string
	Stream        string
}

// boardLine is a row of numbers.
type boardLine struct {
	Name, Href, ID string
	Tone           string // colour of the status; empty: none
	Cells          []boardCell
}

// boardCell holds a number and a link to the list that it counts.
type boardCell struct {
	Key, Label, Href string
	N                int64
	Late             int // shade: 1 is half an hour, 5 is three days; 0: none
	filter           domain.WorkFilter
}

// looked holds the query of a board.
type looked struct {
	environment domain.Environment
	business    domain.ID
	page        int
}

func lookedFor(c *call) (l looked, err error) {
	l.environment = domain.Environment(cmp.Or(c.Query("environment"), string(domain.Live)))
	if _, sound := domain.ParseEnvironment(string(l.environment)); !sound {
		return l, domain.ErrNotFound
	}
	if text := c.Query("business"); text != "" {
		if l.business, err = domain.ParseID(domain.PrefixBusiness, text); err != nil {
			return l, err
		}
	}
	if text := c.Query("page"); text != "" {
		if l.page, err = strconv.Atoi(text); err != nil || l.page < 0 || l.page > 1_000_000 {
			return l, domain.ErrNotFound
		}
	}
	return l, nil
}

func (l looked) query() string {
	q := url.Values{"environment": {string(l.environment)}}
	if l.business != "" {
		q.Set("business", string(l.business))
	}
	if l.page > 0 {
		q.Set("page", strconv.Itoa(l.page))
	}
	return q.Encode()
}

// drawn holds the numbers of a board, computed once for all readers of the same query.
type drawn struct {
	at         time.Time
	rows       []boardLine
	businesses []boardLine
	customers  int
	business   string // the name of the only customer, if one was chosen
	numbers    string // as JSON by key, without zeros
}

// boards caches the latest numbers of each board in use.
type boards struct {
	mu   sync.Mutex
	made map[looked]*drawn
}

// mostBoards limits the cached boards.
const mostBoards = 64

// of returns the cached numbers of the snapshot, or computes them.
func (b *boards) of(w *reports.Work, l looked) *drawn {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := b.made[l]; d != nil && d.at.Equal(w.At) {
		return d
	}
	if b.made == nil || len(b.made) >= mostBoards {
		b.made = map[looked]*drawn{}
	}
	d := draw(w, l)
	b.made[l] = d
	return d
}

func draw(w *reports.Work, l looked) *drawn {
	d := &drawn{at: w.At}
	numbers := map[string]int{}
	cell := func(key, label string, n int, f domain.WorkFilter) boardCell {
		f.Environment = l.environment
		if n != 0 {
			numbers[key] = n
		}
		return boardCell{Key: key, Label: label, Href: workPath(f, w.At), N: int64(n), filter: f}
	}
	together := w.Tallies.Together(l.business) // once, because each cell goes through all tallies
	for _, status := range append(boardStatuses(), "") {
		line := boardLine{Name: cmp.Or(pages.Spaced(string(status)), "all open"), Tone: pages.StatusTones[status]}
		if status == domain.Failed {
			line.Name = "failed, last " + span(domain.FailedWindow)
		}
		for i, age := range append(boardAges, domain.Age{}) {
			f := domain.WorkFilter{Environment: l.environment, BusinessID: l.business, Status: status, Age: age}
			if status == domain.Failed && age.From >= domain.FailedWindow {
				line.Cells = append(line.Cells, boardCell{}) // these deliveries are no longer work
				continue
			}
			one := cell(cellKey(status, i), line.Name+", "+ageName(age), together.Count(f), f)
			one.Late = max(0, i-1) // the first two columns are not late
			if age == (domain.Age{}) {
				one.Late = 0
			}
			line.Cells = append(line.Cells, one)
		}
		d.rows = append(d.rows, line)
	}
	d.business = w.Names[l.business]
	if l.business == "" {
		all := w.Businesses()
		d.customers = len(all)
		first := min(l.page*boardBusinesses, len(all))
		counts := w.ByStatus()
		for _, id := range all[first:min(first+boardBusinesses, len(all))] {
			line := boardLine{Name: cmp.Or(w.Names[id], string(id)), ID: string(id),
				Href: boardAt + "?" + looked{environment: l.environment, business: id}.query()}
			for _, status := range append(boardStatuses(), "") {
				f := domain.WorkFilter{BusinessID: id, Status: status}
				line.Cells = append(line.Cells, cell(string(id)+"/"+string(status), line.Name+", "+cmp.Or(pages.Spaced(string(status)), "all open"),
					counts[id][status], f))
			}
			d.businesses = append(d.businesses, line)
		}
	}
	text, err := json.Marshal(numbers)
	if err != nil {
		panic(err) // numbers and texts always encode as JSON
	}
	d.numbers = string(text)
	return d
}

// cellKey returns the key of the cell for a status and an age column.
func cellKey(s domain.Status, column int) string {
	return "a/" + string(s) + "/" + strconv.Itoa(column)
}

// cellsSince returns the keys of a status's cells that count deliveries older than a time. It
// returns none if no column begins at that time.
func cellsSince(s domain.Status, from time.Duration) (keys []string) {
	if !slices.ContainsFunc(boardAges, func(a domain.Age) bool { return a.From == from }) {
		return nil
	}
	for i, age := range boardAges {
		if age.From >= from {
			keys = append(keys, cellKey(s, i))
		}
	}
	return keys
}

// ageName returns the text of an age column.
func ageName(a domain.Age) string {
	switch {
	case a == domain.Age{}:
		return "all ages"
	case a.From == 0:
		return "up to " + span(a.Until)
	case a.Until == 0:
		return "over " + span(a.From)
	}
	return span(a.From) + " to " + span(a.Until)
}

func (p *Console) showBoard(c *call) error {
	l, err := lookedFor(c)
	if err != nil {
		return err
	}
	w, err := p.Board.Work(c.Ctx(), l.environment)
	if err != nil && w.At.IsZero() {
		return err
	}
	d := p.boards.of(&w, l)
	v := boardView{Environment: l.environment, At: w.At, Rows: d.rows, Businesses: d.businesses, Customers: int64(d.customers),
		Stream: c.At(boardAt+"/events") + "?" + l.query()}
	if err != nil {
		v.Notice = staleBoard(w.At)
	}
	if l.business != "" {
		v.Business, v.All = cmp.Or(d.business, string(l.business)), c.At(boardAt)+"?"+looked{environment: l.environment}.query()
	}
	for _, age := range append(boardAges, domain.Age{}) {
		v.Ages = append(v.Ages, ageName(age))
	}
	for _, status := range append(boardStatuses(), "") {
		v.Statuses = append(v.Statuses, cmp.Or(pages.Spaced(string(status)), "all open"))
	}
	v.Environments.Label = "Environment"
	for _, e := range []domain.Environment{domain.Live, domain.Sandbox} {
		tab := pages.Link{Href: c.At(boardAt) + "?" + looked{environment: e, business: l.business}.query(), Text: string(e)}
		if e == l.environment {
			tab.Current = "page"
		}
		v.Environments.Tabs = append(v.Environments.Tabs, tab)
	}
	next := l
	if next.page = l.page + 1; l.business == "" && next.page*boardBusinesses < d.customers {
		v.Older = c.At(boardAt) + "?" + next.query()
	}
	if next.page = 0; l.page > 0 {
		v.Newest = c.At(boardAt) + "?" + next.query()
	}
	return p.Show(c, http.StatusOK, "board", "Board", v)
}

func staleBoard(at time.Time) *pages.Notice {
	return &pages.Notice{Tone: "warn", Title: "These numbers are old",
		Lines: []string{"They are from " + at.UTC().Format("15:04:05 UTC") + ". The database does not answer at the moment."}}
}

// streamBoard streams the numbers of a board as they change.
func (p *Console) streamBoard(c *call) error {
	l, err := lookedFor(c)
	if err != nil {
		return err
	}
	if !c.WantsStream(boardAt + "?" + l.query()) {
		return nil
	}
	var last *drawn
	stale := false
	return p.Stream(c, func(ctx context.Context) (string, error) {
		if last != nil {
			select {
			case <-time.After(reports.RefreshEvery):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		for {
			w, err := p.Board.Work(ctx, l.environment)
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			if err == nil {
				d := p.boards.of(&w, l)
				same := last != nil && d.numbers == last.numbers && !stale
				last, stale = d, false
				if same {
					return "event: same\ndata: " + domain.FormatTime(d.at) + "\n\n", nil
				}
				return "event: board\ndata: {\"at\":\"" + domain.FormatTime(d.at) + "\",\"numbers\":" + d.numbers + "}\n\n", nil
			}
			if !stale {
				stale = true
				return "event: stale\ndata: " + domain.FormatTime(w.At) + "\n\n", nil
			}
			select {
			case <-time.After(reports.RefreshEvery):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	})
}
