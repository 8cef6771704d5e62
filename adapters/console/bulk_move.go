package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"waybill/adapters/pages"
	"waybill/adapters/web"
	"waybill/application/bulk"
	"waybill/domain"
)

const (
	bulkAt = "/bulk"
	runsAt = bulkAt + "/runs"
	// bulkPatience limits how long the form waits for the result. After that, the page of the run
	// shows the progress.
	bulkPatience = 1500 * time.Millisecond
	// bulkReload sets how often that page reloads while the run is in progress, in seconds.
	bulkReload = "1"
	maxBulk    = 256 << 10 // bytes of the form
	// recentRuns of the last lookedThrough runs are shown.
	recentRuns    = 10
	lookedThrough = 500
)

func (p *Console) bulkRoutes() []pages.Route {
	const get, post = http.MethodGet, http.MethodPost
	read, move := pages.Always(domain.ActReadEverything), pages.Always(domain.ActMoveDeliveries)
	return []pages.Route{
		{Method: get, Path: bulkAt, Act: read, Handle: p.askBulk},
		{Method: post, Path: bulkAt, Act: move, Handle: p.previewBulk, MaxForm: maxBulk},
		{Method: get, Path: bulkAt + "/move", Act: read, Handle: p.askBulk},
		{Method: post, Path: bulkAt + "/move", Act: move, Handle: p.moveBulk, MaxForm: maxBulk},
		{Method: get, Path: runsAt + "/:run", Act: read, Handle: p.showRun},
		{Method: get, Path: runsAt + "/:run/results.csv", Act: read, Handle: p.runTable},
	}
}

type bulkView struct {
	Notice         *pages.Notice
	May            bool // the person may move deliveries
	Once           string
	Text, Error    string // the references
	Status, Reason pages.Field
	Most           int64
	Preview        *bulkPreview // nil: nothing was sent yet, or it is invalid
	Runs           []runLine
}

type bulkPreview struct {
	Lines  []lineView
	Names  string   // a table with one column
	Found  string   // how many names the text had, and how many other words
	Words  []string // the other words, if they are few
	To     string
	Reason string
	Aim    string // To and Reason as text
	Again  string // link to the form with the same values
	Ready  int64  // deliveries that can be moved
	Others int64
	Tiles  []tileView // number of lines per outcome
}

// lineView is a line of a preview or a result.
type lineView struct {
	Number          int
	Sent, Reference string
	ID              string // the delivery; empty: there is none
	Status          string // now, or at the time of the outcome; empty: unknown
	Fate, Tone      string
	Why             string
}

type runLine struct {
	Href, ID, By, What, Fate string
	At                       time.Time
}

func (p *Console) askBulk(c *call) error {
	fillForm(c)
	return p.bulkPage(c, http.StatusOK, nil, nil)
}

func (p *Console) bulkPage(c *call, status int, preview *bulkPreview, n *pages.Notice) error {
	v := bulkView{
		Notice: n, May: c.May(domain.ActMoveDeliveries), Once: p.OnceShown(c, domain.PrefixMoveRun, status),
		Text: typedText(c), Error: c.Fault("references", "references", "Deliveries"),
		Status: c.Field(pages.Field{Name: "status", Label: "Move to", Options: statusOptions()}),
		Reason: c.Field(pages.Field{Name: "reason_code", Label: "Reason", Options: reasonOptions(),
			Hint: "Required for failed and cancelled, and only for these. The customer sees it."}),
		Most: domain.MaxMoves, Preview: preview,
	}
	if preview != nil { // no names of people in it; the Back button may show it again
		c.Header("Cache-Control", "private, no-cache")
	}
	if n == nil {
		v.Notice = c.Told()
	}
	if preview == nil {
		runs, err := p.Moves.Runs(c.Ctx(), domain.PageRequest{Limit: lookedThrough})
		if err != nil {
			return err
		}
		for _, r := range recent(runs) {
			full, err := p.Moves.Run(c.Ctx(), r.ID)
			if err != nil {
				return err
			}
			line := runLine{What: fmt.Sprintf("%d of %d to %s", full.Count(domain.MoveAdvanced), len(full.Items), aim(&full)),
				Href: c.At(runsAt + "/" + string(r.ID)), ID: string(r.ID), By: r.By.Name, At: r.CreatedAt, Fate: "under way"}
			if r.FinishedAt != nil {
				line.Fate = "finished"
			}
			v.Runs = append(v.Runs, line)
		}
	}
	return p.Show(c, status, "bulk", "Move many deliveries", v)
}

// recent returns the runs to show, those of people first. A dispatch system starts a run every few
// seconds, and people look for their own.
func recent(runs []domain.MoveRun) []domain.MoveRun {
	sort.SliceStable(runs, func(i, j int) bool { return runs[i].By.IsPerson() && !runs[j].By.IsPerson() })
	return runs[:min(len(runs), recentRuns)]
}

func statusOptions() []pages.Option {
	return append([]pages.Option{{Text: "Choose a status"}}, web.Each(domain.Statuses()[1:], func(s domain.Status) pages.Option {
		return pages.Option{Value: string(s), Text: spaced(string(s))}
	})...)
}

func reasonOptions() []pages.Option {
	return append([]pages.Option{{Text: "No reason"}}, web.Each(domain.PlatformReasonCodes(), func(r domain.ReasonCode) pages.Option {
		return pages.Option{Value: string(r), Text: spaced(string(r))}
	})...)
}

// notFound explains a reference that matches no delivery.
const notFound = "No delivery has this reference or ID. To find an external ID, use the search of Deliveries."

func spaced(code string) string { return pages.Spaced(code) }

// typedText returns the text for the field. It has the names of a file too, which a browser does
// not send again.
func typedText(c *call) string {
	text := strings.TrimPrefix(c.Form.Get("references"), asTable(nil))
	if len(c.File) > 0 {
		names, _ := namesIn(string(c.File))
		text = strings.TrimSpace(text + "\n" + strings.Join(names, "\n"))
	}
	return text
}

// bulkOrders parses the form. If it returns false, c.Faults has the errors.
func bulkOrders(c *call) (orders []bulk.MoveOrder, sound bool) {
	c.Faults = map[string]string{}
	names, ignored := sentNames(c)
	to, reason := domain.Status(c.Form.Get("status")), domain.ReasonCode(c.Form.Get("reason_code"))
	longest := slices.ContainsFunc(names, func(n string) bool { return len(n) > domain.MaxTypedReference })
	switch {
	case !utf8.Valid(c.File):
		c.Faults["references"] = "The file is no text in UTF-8. Save it as CSV in UTF-8, and send it again."
	case len(names) == 0 && len(ignored) > 0:
		c.Faults["references"] = "This text has no reference, ID or tracking link. A reference looks like XMK2-QS3D-PP2G."
	case len(names) == 0:
		c.Faults["references"] = "Scan, paste or upload at least one reference."
	case len(names) > domain.MaxMoves:
		c.Faults["references"] = fmt.Sprintf("These are %d references, and one run takes %d. Take out %d and move them in a second run.",
			len(names), domain.MaxMoves, len(names)-domain.MaxMoves)
	case longest:
		c.Faults["references"] = fmt.Sprintf("One of these has more than %d characters. Put each reference on a line of its own.",
			domain.MaxTypedReference)
	}
	switch {
	case !slices.Contains(domain.Statuses()[1:], to):
		c.Faults["status"] = "Choose a status."
	case reason == "" && to.TakesReason():
		c.Faults["reason_code"] = "Choose why they are " + spaced(string(to)) + "."
	case reason != "" && !to.TakesReason():
		c.Faults["reason_code"] = "Only failed and cancelled take a reason. Choose no reason."
	case reason != "" && !slices.Contains(domain.PlatformReasonCodes(), reason):
		c.Faults["reason_code"] = "Choose a reason from the list."
	}
	for _, name := range names {
		orders = append(orders, bulk.MoveOrder{Name: name, To: to, Reason: reason})
	}
	return orders, len(c.Faults) == 0
}

// previewBulk shows for each line the delivery and whether it can be moved. It changes nothing.
func (p *Console) previewBulk(c *call) error {
	orders, sound := bulkOrders(c)
	if !sound {
		return p.bulkPage(c, http.StatusUnprocessableEntity, nil, nil)
	}
	names, ignored := sentNames(c)
	lines, err := p.Moves.Preview(c.Ctx(), names)
	if err != nil {
		return err
	}
	to := orders[0].To
	preview := &bulkPreview{Names: asTable(names), Found: foundText(len(names), len(ignored)), To: string(to), Reason: string(orders[0].Reason),
		Aim: aimOf(to, orders[0].Reason), Again: c.At(formAgain(names, orders[0]))}
	if len(ignored) <= wordsShown {
		preview.Words = ignored
	}
	for i, line := range lines {
		v := foreseen(line, to)
		v.Number, v.Sent = i+1, line.Name
		if v.Tone == "good" {
			preview.Ready++
		} else {
			preview.Others++
		}
		preview.Lines = append(preview.Lines, v)
		preview.Tiles = tally(preview.Tiles, v.Fate)
	}
	staysFirst(preview.Lines)
	return p.bulkPage(c, http.StatusOK, preview, nil)
}

// wordsShown limits the ignored words that a preview lists.
const wordsShown = 20

// foundText says what a text had.
func foundText(names, ignored int) string {
	text := plural(names, "reference") + " found"
	if ignored > 0 {
		text += ", " + plural(ignored, "other word") + " ignored"
	}
	return text + "."
}

// tally adds a line to the count of its outcome.
func tally(tiles []tileView, fate string) []tileView {
	for i := range tiles {
		if tiles[i].Name == fate {
			tiles[i].Count++
			return tiles
		}
	}
	return append(tiles, tileView{fate, 1})
}

// staysFirst sorts lines that need attention before the others. Within each group the order stays.
func staysFirst(lines []lineView) {
	order := []string{"bad", "over", "me", "good"}
	sort.SliceStable(lines, func(i, j int) bool { return slices.Index(order, lines[i].Tone) < slices.Index(order, lines[j].Tone) })
}

// foreseen returns the outcome that a move would have now.
func foreseen(l bulk.MoveLine, to domain.Status) (v lineView) {
	d := l.Delivery
	if d == nil {
		return lineView{Fate: "not found", Tone: "bad", Why: notFound}
	}
	v.ID = string(d.ID)
	v.Reference, v.Status = string(d.Reference), spaced(string(d.Status()))
	switch {
	case l.Duplicate:
		v.Fate, v.Tone, v.Why = "duplicate", "over", "Same delivery as an earlier line."
	case d.Status() == to:
		v.Fate, v.Tone = "already there", "over"
	case d.Simulating():
		v.Fate, v.Tone, v.Why = "not now", "bad", "A simulation is moving it."
	case slices.Contains(l.Next, to):
		v.Fate, v.Tone = "can be moved", "good"
	default:
		v.Fate, v.Tone, v.Why = "not now", "bad", nextAllowed(l.Next)
	}
	return v
}

func nextAllowed(next []domain.Status) string {
	if len(next) == 0 {
		return "No further step is possible."
	}
	return "It can be moved to " + spaced(strings.Join(web.Texts(next), ", ")) + "."
}

// moveBulk performs the previewed moves. It does so only once, because the form has the ID of the
// run.
func (p *Console) moveBulk(c *call) error {
	orders, sound := bulkOrders(c)
	if !sound {
		return p.bulkPage(c, http.StatusUnprocessableEntity, nil, nil)
	}
	id := p.OnceSent(c, domain.PrefixMoveRun)
	_, _, err := p.Moves.Advance(c.Ctx(), bulk.MoveOrders{Run: id, Key: "console-" + string(id), By: c.Actor(), Items: orders, Patience: bulkPatience})
	p.Board.Moved()
	var e *domain.Error
	switch {
	case domain.HasCode(err, domain.CodeIdempotencyConflict):
		return p.bulkPage(c, http.StatusConflict, nil, &pages.Notice{Tone: "warn", Title: "This form was already sent for other deliveries",
			Lines: []string{"Nothing was moved now. Preview the deliveries again to move them."},
			Link:  &pages.Link{Href: c.At(runsAt + "/" + string(id)), Text: "See the result of the first run"}})
	case err != nil && !domain.HasCode(err, domain.CodeIdempotencyInProgress):
		if errors.As(err, &e) && c.Wrong(err) {
			return p.bulkPage(c, http.StatusUnprocessableEntity, nil, nil)
		}
		return err
	}
	return c.Lead(runsAt + "/" + string(id))
}

type runView struct {
	ID, By       string
	At           time.Time
	Finished     bool
	Done, All    int64
	Tiles        []tileView
	Lines        []lineView
	Aim          string
	Table, Again string
	Stayed       string // link to the form with the unmoved deliveries; empty: all were moved
}

type tileView struct {
	Name  string
	Count int64
}

// outcomeTones maps outcomes to colours.
var outcomeTones = map[domain.MoveOutcome]string{
	domain.MoveAdvanced: "good", domain.MoveAlreadyThere: "over", domain.MoveDuplicate: "over", domain.MovePending: "me",
	domain.MoveRefused: "bad", domain.MoveNotFound: "bad",
}

// fateOf returns the text of an outcome, matching the buttons.
func fateOf(o domain.MoveOutcome) string {
	if o == domain.MoveAdvanced {
		return "moved"
	}
	return spaced(string(o))
}

// showRun shows the outcome of each line, where it is known. While the run is in progress the
// browser reloads the page.
func (p *Console) showRun(c *call) error {
	run, err := p.Moves.Run(c.Ctx(), domain.ID(c.Param("run")))
	if err != nil {
		return err
	}
	v := runView{
		ID: string(run.ID), By: run.By.Name, At: run.CreatedAt, Finished: run.FinishedAt != nil, All: int64(len(run.Items)),
		Done:  int64(len(run.Items) - run.Count(domain.MovePending)),
		Table: c.At(runsAt + "/" + string(run.ID) + "/results.csv"), Again: c.At(bulkAt), Aim: aim(&run),
	}
	if names := stayed(&run); v.Finished && len(names) > 0 && c.May(domain.ActMoveDeliveries) {
		v.Stayed = c.At(namedForm(names))
	}
	for _, o := range domain.MoveOutcomes() {
		v.Tiles = append(v.Tiles, tileView{fateOf(o), int64(run.Count(o))})
	}
	for i := range run.Items {
		v.Lines = append(v.Lines, resultOf(&run.Items[i]))
	}
	staysFirst(v.Lines)
	title := fmt.Sprintf("%d of %d moved", run.Count(domain.MoveAdvanced), len(run.Items))
	if !v.Finished {
		title = fmt.Sprintf("Moving: %d of %d done", v.Done, v.All)
		c.Header("Refresh", bulkReload)
	}
	return p.Show(c, http.StatusOK, "bulk_run", title, struct {
		runView
		Title string
	}{v, title})
}

func resultOf(i *domain.MoveItem) lineView {
	v := lineView{Number: i.Index + 1, Sent: i.Sent, Reference: string(i.Reference), ID: string(i.DeliveryID),
		Status: spaced(string(i.Current)),
		Fate:   fateOf(i.Outcome), Tone: outcomeTones[i.Outcome], Why: i.Message}
	switch i.Outcome {
	case domain.MoveNotFound:
		v.Why = notFound
	case domain.MoveDuplicate:
		v.Why = "Same delivery as an earlier line."
	}
	return v
}

func (p *Console) runTable(c *call) error {
	run, err := p.Moves.Run(c.Ctx(), domain.ID(c.Param("run")))
	if err != nil {
		return err
	}
	return c.CSV(string(run.ID)+".csv", func(write func(...string) error) error {
		err := write("line", "sent", "reference", "delivery_id", "requested_status", "outcome", "current_status", "code", "message")
		if err != nil {
			return err
		}
		for _, i := range run.Items {
			if err := write(strconv.Itoa(i.Index+1), i.Sent, string(i.Reference), string(i.DeliveryID), string(i.To), string(i.Outcome),
				string(i.Current), i.Code, i.Message); err != nil {
				return err
			}
		}
		return nil
	})
}
