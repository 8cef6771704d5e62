package stage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"waybill/application/idempotency"
)

// patience is for how long the first caller waits for its answer.
const patience = 10 * time.Second

// Send sends the same request every time, through the use cases as they then are.
type Send func(context.Context) (idempotency.Result, error)

// UseCase is one request on a scene of its own.
type UseCase[S any] struct {
	Name  string
	Keyed bool // so that a retry of what was answered is a replay
	Calls int  // of ports that can fail, when nothing does
	Ready func(*testing.T, S) Send
	// Check fails the test unless what was asked for is there, and once.
	Check func(*testing.T, S)
}

// Exam says how the use cases of a scene get other dependencies.
type Exam[S any] struct {
	Scene func(*testing.T) S // shares nothing with another one
	Break func(S, *Calls)    // puts the faulty dependencies in place
	Mend  func(S)            // puts the real ones back
}

// Run passes when, whichever call fails in whichever way, the same request
// sent again gets the one thing that was asked for, and a third gets the same.
// It also counts the calls: one more or less than said is a failure.
func (e Exam[S]) Run(t *testing.T, useCases []UseCase[S]) {
	for _, u := range useCases {
		for _, kind := range faults {
			t.Run(u.Name+": a call "+string(kind), func(t *testing.T) {
				t.Parallel()
				n := 1
				for e.failNth(t, u, kind, n) {
					n++
				}
				if n != u.Calls+1 && !kind.ofCommits() {
					t.Errorf("the use case makes %d calls, not %d: is each one meant?", n-1, u.Calls)
				}
			})
		}
	}
}

// failNth reports whether there was an nth call and all went well behind it.
func (e Exam[S]) failNth(t *testing.T, u UseCase[S], kind fault, n int) (there bool) {
	ok := t.Run(fmt.Sprint("call ", n), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := e.Scene(t)
			send := u.Ready(t, s)
			ctx, hangUp := context.WithTimeout(t.Context(), patience)
			defer hangUp()
			calls := newCalls(t, kind, n, hangUp)
			e.Break(s, calls)
			first, firstErr := send(ctx)
			there = calls.fired != ""
			defer func() {
				if t.Failed() {
					t.Logf("call %d, %s, %s; first error %v", n, calls.fired, kind, firstErr)
				}
			}()
			if !there && firstErr != nil {
				t.Errorf("nothing went wrong, yet %v", firstErr)
			}
			if errors.Is(firstErr, context.Canceled) && kind != callerHangsUp {
				t.Errorf("nobody hung up: %v", firstErr)
			}

			e.Mend(s)
			second, err := send(t.Context())
			if err != nil {
				t.Fatalf("the retry got %v", err)
			}
			if firstErr == nil && (!SameAnswer(first, second) || first.Replayed || second.Replayed != u.Keyed) {
				t.Errorf("first answer, replayed %t\n%s\nretry, replayed %t\n%s",
					first.Replayed, first.Answer.Body, second.Replayed, second.Answer.Body)
			}
			if third, err := send(t.Context()); err != nil || !SameAnswer(second, third) {
				t.Errorf("a third request got %v\n%s", err, third.Answer.Body)
			}
			u.Check(t, s)
		})
	})
	return ok && there
}
