package faults

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"waybill/test/program"
)

// manyMoves is as many deliveries as one request moves.
const manyMoves = 200

// moved is the answer to a request that moves many.
type moved struct {
	Data struct {
		Results []struct {
			Outcome       string  `json:"outcome"`
			DeliveryID    string  `json:"delivery_id"`
			CurrentStatus *string `json:"current_status"`
		} `json:"results"`
	} `json:"data"`
}

// TestAMoveOfManySurvivesTheDeathOfItsProcesses kills servers and workers while requests
// move two hundred deliveries each. By turns the caller sends a request once and does not
// come back, so that the worker alone makes the end while no server runs, and sends it
// until it has its answer. Either way the answer is the rows, each delivery was moved
// exactly once, and the same request again gets the same answer.
func TestAMoveOfManySurvivesTheDeathOfItsProcesses(t *testing.T) {
	alongside(t)
	dialects := []Dialect{Postgres}
	if full() {
		dialects = engines
	}
	for _, dialect := range dialects {
		t.Run(string(dialect), func(t *testing.T) { stormOnMoves(t, dialect) })
	}
}

func stormOnMoves(t *testing.T, dialect Dialect) {
	url := freshDatabase(t, dialect)
	env := settings(url)
	var made struct{ Token string }
	command(t, env, &made, "operator", "create", "--name", "Dispatch", "--kind", "dispatcher")
	v := newVictim(t, env)
	customer := newSender(enroll(t, env, noLimit), []*victim{v})
	life := v.start(t)
	t.Cleanup(func() { life.Kill() })
	worker := newVictimOf(t, env, "worker")
	helper := worker.start(t)
	t.Cleanup(func() { helper.Kill() })

	clerk, db := newClerk(0, 0), openDatabase(t, url)
	for range manyMoves / 100 {
		j := clerk.bulk(100, nil)
		until(t, "a hundred deliveries are booked", program.Patience, func() bool { return customer.try(t.Context(), j, v.url()) })
	}
	ids := referencesOf(t, db)
	items := make([]m, len(ids))
	for i, id := range ids {
		items[i] = m{"reference": id}
	}

	steps, blows := []string{"assigned", "failed"}, 1 // after each of them a lease has to run out
	if full() {
		blows = 2
		for range 11 {
			steps = append(steps, "assigned", "failed")
		}
	}
	deaths, leftToWorker := 0, 0
	for n, status := range steps {
		body, err := json.Marshal(m{"status": status, "items": items})
		if err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("dispatch-%04d", n)
		ask := func(ctx context.Context) (answer moved, status int) { return askMoves(ctx, v, made.Token, key, body) }
		var answer moved
		if n%2 == 0 { // the caller does not come back
			go func() { _, _ = ask(t.Context()) }()
			until(t, "the run has begun", time.Minute, func() bool { return scan(t, db, "SELECT count(*) FROM move_runs") == n+1 })
			life.Kill()
			leftToWorker += scan(t, db, "SELECT count(*) FROM move_run_items WHERE outcome = 'pending'")
			helper.Kill()
			helper = worker.start(t)
			deaths += 2
			until(t, "the worker made the end", time.Minute, func() bool {
				return scan(t, db, "SELECT count(*) FROM move_runs WHERE finished_at IS NULL") == 0
			})
			life = v.start(t)
			answer, _ = ask(t.Context())
		} else {
			done := make(chan moved, 1)
			go func() { // as a dispatch system does: again, until there is an answer
				for t.Context().Err() == nil {
					if answer, status := ask(t.Context()); status == http.StatusOK || status == http.StatusMultiStatus {
						done <- answer
						return
					}
					time.Sleep(50 * time.Millisecond)
				}
			}()
			for range blows {
				time.Sleep(time.Duration(20+rand.IntN(180)) * time.Millisecond)
				life.Kill()
				helper.Kill()
				helper, life = worker.start(t), v.start(t)
				deaths += 2
			}
			select {
			case answer = <-done:
			case <-time.After(time.Minute):
				t.Fatalf("no answer to %s after %d deaths; %s", key, deaths, life.Tail())
			}
		}
		again, code := ask(t.Context())
		if code != http.StatusOK || fmt.Sprintf("%+v", outcomesOf(again)) != fmt.Sprintf("%+v", outcomesOf(answer)) {
			t.Errorf("the same request again: %d, another answer", code)
		}
		if len(answer.Data.Results) != manyMoves {
			t.Fatalf("%s: %d results of %d", key, len(answer.Data.Results), manyMoves)
		}
		for i, r := range answer.Data.Results {
			if r.Outcome != "advanced" || r.CurrentStatus == nil || *r.CurrentStatus != status {
				t.Fatalf("%s: item %d is %+v", key, i, r)
			}
		}
		var moves, there int
		const counted = "SELECT (SELECT count(*) FROM delivery_events), (SELECT count(*) FROM deliveries WHERE status = '%s')"
		if err := db.QueryRowContext(t.Context(), fmt.Sprintf(counted, status)).Scan(&moves, &there); err != nil {
			t.Fatal(err)
		}
		if moves != (n+2)*manyMoves || there != manyMoves {
			t.Fatalf("after %s: %d events, want %d; %d are %s", key, moves, (n+2)*manyMoves, there, status)
		}
	}
	var audited int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM audit_log WHERE action = 'delivery.advance'").Scan(&audited); err != nil ||
		audited != len(steps)*manyMoves {
		t.Errorf("%d moves in the audit log, want %d (%v)", audited, len(steps)*manyMoves, err)
	}
	if full() && leftToWorker == 0 {
		t.Error("no server died before it had moved everything: the worker had nothing to do")
	}
	t.Logf("%s: %d requests of %d, %d deaths; %d moves were left to the worker", dialect, len(steps), manyMoves, deaths, leftToWorker)
}

// scan is a number.
func scan(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// referencesOf are those of all deliveries.
func referencesOf(t *testing.T, db *sql.DB) (references []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT reference FROM deliveries ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var reference string
		if err := rows.Scan(&reference); err != nil {
			t.Fatal(err)
		}
		references = append(references, reference)
	}
	if err := rows.Err(); err != nil || len(references) != manyMoves {
		t.Fatalf("%d deliveries, %v", len(references), err)
	}
	return references
}

func outcomesOf(a moved) (all []string) {
	for _, r := range a.Data.Results {
		all = append(all, r.DeliveryID+" "+r.Outcome)
	}
	return all
}

func askMoves(ctx context.Context, v *victim, token, key string, body []byte) (answer moved, status int) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+v.ops+"/ops/v1/deliveries/advance", bytes.NewReader(body))
	if err != nil {
		return answer, 0
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer, 0 // it was killed
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || json.Unmarshal(text, &answer) != nil {
		return answer, 0
	}
	return answer, res.StatusCode
}
