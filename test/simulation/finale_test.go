package simulation

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"waybill/domain"
	"waybill/test/faults"
)

// maxSteps is how many steps a world does at its end.
const maxSteps = 30

// finish plays the last act, in which nothing goes wrong any more, and then
// looks at what is there.
func (w *world) finish() {
	w.actions, w.faulty, w.width, w.dear = 0, 0, 1, false
	for _, p := range w.procs {
		p.skew.Store(0)
	}
	if w.settled() {
		w.repeatAll()
	}
	if w.settled() && w.rng.IntN(3) == 0 {
		w.endSimulations()
	}
	if w.settled() {
		w.listAll()
	}
	if w.settled() {
		w.check()
	}
}

// settled plays on until nothing is under way.
func (w *world) settled() bool {
	w.play()
	return w.oops == nil
}

// repeatAll sends again some of what was answered: the answer is what it was.
func (w *world) repeatAll() {
	for _, c := range w.clients {
		for _, u := range c.uses {
			if u.told == nil || u.loose || time.Since(u.firstSent) > retention-time.Hour || w.rng.IntN(4) > 0 {
				continue
			}
			w.sendForm(c, u, u.told.form, "")
			if !w.settled() {
				return
			}
		}
	}
}

// endSimulations does what is due as long as that is not too much.
func (w *world) endSimulations() {
	ctx := context.Background()
	for range maxSteps {
		due, err := w.store.Read().Simulations.Due(ctx, time.Now().Add(100*time.Hour), 1)
		if err != nil {
			w.breach("due steps: %v", err)
		}
		if len(due) == 0 {
			break
		}
		p := w.procs[0]
		if wait := due[0].DueAt.Sub(clock{p}.Now()); wait > 0 {
			w.sleep(wait)
		}
		w.handle(p, fmt.Sprintf("%s/%d", due[0].Delivery, due[0].Done))
		if !w.settled() {
			return
		}
		again, err := w.store.Read().Simulations.Due(ctx, time.Now().Add(100*time.Hour), 1)
		if err != nil || len(again) > 0 && again[0] == due[0] {
			w.breach("step %v was due, and still is (error %v)", due[0], err)
			return
		}
	}
}

// listAll holds what every client can list against the database.
func (w *world) listAll() {
	ctx := context.Background()
	for _, c := range w.clients {
		w.sleep(2*time.Minute + 1) // a rate limit is over
		s := w.beginScan(c, 100)
		if !w.settled() {
			return
		}
		var ids []string
		for page := (domain.PageRequest{Limit: 100}); ; {
			found, err := w.store.Read().Deliveries.List(ctx, c.tenant, domain.DeliveryFilter{}, page)
			if err != nil {
				w.breach("list: %v", err)
				return
			}
			for _, d := range found[:min(len(found), 100)] {
				ids = append(ids, string(d.ID))
			}
			if len(found) <= 100 {
				break
			}
			page.After = &domain.Position{CreatedAt: found[99].CreatedAt, ID: found[99].ID}
		}
		var listed []string
		for _, r := range s.found {
			listed = append(listed, r.ID)
		}
		slices.Sort(ids)
		slices.Sort(listed)
		if !s.whole || !slices.Equal(ids, listed) {
			w.breach("client %d lists %d deliveries and has %d", c.n, len(listed), len(ids))
		}
	}
}

// Rules of faults.Check that are broken where nothing is wrong: by a record
// that is gone for its age, and by two processes whose clocks differ.
var (
	forAge = []string{
		"a delivery has one key, or one place in one bulk", "a recorded item is of a bulk that is not finished",
		"a recorded item that was created is a delivery that exists",
	}
	forClocks = []string{"the deliveries of a bulk were created in the order of its items"}
)

func (w *world) check() {
	db, err := sql.Open("sqlite", w.path)
	if err != nil {
		w.breach("open: %v", err)
		return
	}
	defer db.Close()
	breaches, err := faults.Check(context.Background(), db, faults.SQLite)
	if err != nil {
		w.breach("check: %v", err)
		return
	}
	aged := time.Since(begun) > retention
	for _, b := range breaches {
		if aged && slices.Contains(forAge, b.Rule) || w.skewed && slices.Contains(forClocks, b.Rule) {
			continue
		}
		w.breach("%s", b)
		return
	}
	w.checkBookings(db)
	w.checkTimelines(db)
}

// checkBookings looks for deliveries that are there twice, or that their client
// was told not to have, and for those that are not there.
func (w *world) checkBookings(db *sql.DB) {
	for _, c := range w.clients {
		byMark, byID, err := booked(db, c)
		if err != nil {
			w.breach("read deliveries: %v", err)
			return
		}
		for _, p := range c.parcels {
			if !byID[p.id] {
				w.breach("client %d was told of %s, which is not there", c.n, p.id)
			}
		}
		for _, u := range c.uses {
			w.checkUse(u, byMark)
		}
	}
}

// booked tells of every delivery of a client, and how many there are of each mark.
func booked(db *sql.DB, c *client) (byMark map[string]int, byID map[string]bool, err error) {
	rows, err := db.Query("SELECT 'dlv_' || id, instructions FROM deliveries WHERE application_id = ? AND environment = ?",
		c.tenant.ApplicationID.Hex(), string(c.tenant.Environment))
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	byMark, byID = map[string]int{}, map[string]bool{}
	for rows.Next() {
		var id, mark string
		if err := rows.Scan(&id, &mark); err != nil {
			return nil, nil, err
		}
		byMark[mark]++
		byID[id] = true
	}
	return byMark, byID, rows.Err()
}

// checkUse looks at what came of one key.
func (w *world) checkUse(u *keyUse, byMark map[string]int) {
	lives := u.lives + 1
	if u.loose {
		lives++
	}
	made := 0 // forms that something came of
	for _, f := range u.forms {
		most := 0
		for _, mark := range f.marks {
			n := byMark[mark]
			most = max(most, n)
			switch {
			case n > lives:
				w.breach("%s was booked %d times", mark, n)
			case n > 0 && !f.maybe:
				w.breach("%s was booked, and every attempt refused", mark)
			case n > 0 && f.refused[mark] && lives == 1:
				w.breach("%s was booked, and its bulk says that it was not", mark)
			}
		}
		made += most
	}
	if made > lives {
		w.breach("key %s made more than one thing", u.key)
	}
}

// checkTimelines walks through every timeline by the table.
func (w *world) checkTimelines(db *sql.DB) {
	rows, err := db.Query("SELECT delivery_id, sequence, status, previous_status, occurred_at FROM delivery_events ORDER BY delivery_id, " +
		"sequence")
	if err != nil {
		w.breach("read events: %v", err)
		return
	}
	defer rows.Close()
	var delivery, at string
	var status domain.Status
	pickedUp, sequence := false, 0
	for rows.Next() {
		var id, occurred string
		var next, previous domain.Status
		var n int
		if err := rows.Scan(&id, &n, &next, &previous, &occurred); err != nil {
			w.breach("read an event: %v", err)
			return
		}
		if id != delivery {
			delivery, status, at, pickedUp, sequence = id, "", "", false, 0
		}
		if n != sequence+1 || previous != status || occurred < at || !mayFollow(status, next, pickedUp) {
			w.breach("delivery %s went from %s (event %d, %s) to %s (event %d, %s)", id, status, sequence, at, next, n, occurred)
			return
		}
		status, at, sequence = next, occurred, n
		pickedUp = pickedUp || next == domain.PickedUp
	}
	if err := rows.Err(); err != nil {
		w.breach("read events: %v", err)
	}
}

func mayFollow(from, to domain.Status, pickedUp bool) bool {
	if from == "" {
		return to == domain.Booked
	}
	return slices.ContainsFunc(domain.Transitions(), func(t domain.Transition) bool {
		return t.From == from && t.To == to && !(t.BeforePickup && pickedUp)
	})
}

func cursorOf(a answer) string {
	var envelope struct {
		Meta struct {
			NextCursor *string `json:"next_cursor"`
		}
	}
	if err := json.Unmarshal([]byte(a.body), &envelope); err != nil || envelope.Meta.NextCursor == nil {
		return ""
	}
	return *envelope.Meta.NextCursor
}
