package console_test

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"waybill/domain"
	"waybill/test/browser"
)

func init() {
	states = append(states, []state{
		{name: "attention", role: domain.RoleDispatcher, path: "/", heading: "Kofi dispatcher", before: busy},
		{name: "board", role: domain.RoleDispatcher, path: "/board", heading: "Board", before: busy},
		{name: "search", role: domain.RoleDispatcher, path: "/search?q=adom", heading: "Search"},
		{name: "board-empty", role: domain.RoleViewer, path: "/board?environment=sandbox", heading: "Board"},
		{name: "deliveries", role: domain.RoleSupport, path: "/deliveries?status=open&age=1h-&order=oldest", heading: "Deliveries", before: busy},
		{name: "delivery", role: domain.RoleDispatcher, path: "/deliveries/:delivery", heading: "-"},
		{name: "delivery-viewer", role: domain.RoleViewer, path: "/deliveries/:delivery", heading: "-"},
		{name: "delivery-unreasoned", role: domain.RoleDispatcher, path: "/deliveries/:delivery", heading: "-", then: func(p *tab) {
			p.send("cancelled", "")
			p.want("Choose why it is cancelled")
		}},
	}...)
	journeys = append(journeys, []journey{
		{"the board shows a move of somebody else by itself", false, liveBoard},
		{"the page of attention tells of a failure by itself", false, liveAttention},
	}...)
}

// elsewhere moves the delivery of the scene in another window.
func (w *walk) elsewhere(status, reason string) {
	w.Helper()
	r := w.signedIn(w.T, domain.RoleAdmin)
	if p := moved(w.T, r, r.get("/deliveries/"+w.ids[":delivery"]), status, reason); p.status != http.StatusOK {
		w.Fatalf("%d", p.status)
	}
}

// send opens the form of a next step, chooses a reason and sends it.
func (p *tab) send(status, reason string) {
	p.Helper()
	form := "#to-" + status
	browser.Eval[bool](p.T, p.Page, `(document.querySelector("`+form+`").parentElement.open = true)`)
	p.choose("#reason-"+status, reason)
	p.click(form+` button`, "-")
}

// at waits until the page shows the delivery in a status.
func (p *tab) at(status string) {
	p.Helper()
	p.Eventually(p.T, "the delivery is "+status, "document.readyState === 'complete' && "+
		"document.querySelector('[data-status]')?.textContent === "+browser.Quoted(strings.ReplaceAll(status, "_", " ")))
}

// cell is a number of the board.
func (p *tab) cell(key string) int {
	p.Helper()
	return browser.Eval[int](p.T, p.Page, `Number(document.querySelector('a[data-cell="`+key+`"]').textContent)`)
}

func liveBoard(w *walk) {
	p := w.as(domain.RoleViewer)
	p.to("/board", "Board")
	p.want("Live")
	booked, assigned := p.cell("a/booked/7"), p.cell("a/assigned/7")
	w.elsewhere("assigned", "")
	for cell, want := range map[string]int{"a/assigned/7": assigned + 1, "a/booked/7": booked - 1} {
		p.Eventually(w.T, "the board counts it in "+cell, `document.querySelector('a[data-cell="`+cell+`"]').textContent === "`+
			strconv.Itoa(want)+`"`)
	}
	// A refusal, as of a database that is away, ends the source; the script tries again.
	browser.Eval[bool](w.T, p.Page, `(() => {
		document.querySelector("[data-board]").dataset.board = "/console/nowhere";
		return ["pagehide", "pageshow"].every((name) => window.dispatchEvent(new Event(name)));
	})()`)
	p.Eventually(w.T, "the board says that it is not connected",
		`document.querySelector("[data-live]").textContent === "Not connected. Reconnecting."`)
}

func liveAttention(w *walk) {
	p := w.as(domain.RoleViewer)
	p.to("/?unassigned=5m", "Good to see you")
	w.elsewhere("assigned", "")
	w.elsewhere("failed", "other")
	p.Eventually(w.T, "the failure is in its queue without a reload",
		`document.querySelector('tr[data-id="`+w.ids[":delivery"]+`"] [data-label="Why"]') !== null`)
}

// events reads a stream of the board until it ends, and sends what it says.
func events(t *testing.T, r *reader, query string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/board/events"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	said := make(chan string, 100)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			said <- lines.Text()
		}
	}()
	return said
}
