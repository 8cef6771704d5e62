package autopipeline_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestCallersOfAKindShareACommandAndKnowTheirPlaces(t *testing.T) {
	t.Parallel()
	h, c := holding(t)
	const callers = 40
	var mu sync.Mutex
	places := map[string]map[int]int{} // how many had each place, by the answer
	var all sync.WaitGroup
	all.Add(callers + 1)
	together(t, h, c, func(i int) {
		defer all.Done()
		kind := []string{"", "odd", "even", "odd"}[i%4]
		if kind == "" {
			if got, err := c.Do(t.Context(), "echo", i); err != nil || got != fmt.Sprint(i) {
				t.Errorf("%d was answered %v, %v", i, got, err)
			}
			return
		}
		value, place, err := c.Together(t.Context(), kind, func(n int) []any { return []any{"echo", fmt.Sprint(kind, " for ", n)} })
		if answer, _ := value.(string); err != nil || !strings.HasPrefix(answer, kind+" for ") {
			t.Errorf("%d was answered %v, %v", i, value, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		answer := fmt.Sprint(value)
		if places[answer] == nil {
			places[answer] = map[int]int{}
		}
		places[answer][place]++
	}, callers)
	all.Wait()
	shared := false
	for answer, of := range places {
		var kind string
		var n int
		if _, err := fmt.Sscanf(answer, "%s for %d", &kind, &n); err != nil {
			t.Fatal(err)
		}
		if len(of) != n {
			t.Errorf("%q came to the places %v", answer, of)
		}
		for place, times := range of { // a slow machine has several of a size
			if place >= n || times != of[0] {
				t.Errorf("%q came to the places %v", answer, of)
			}
		}
		shared = shared || n > 1
	}
	sent := 0
	for _, n := range h.pipelines() {
		sent += n
	}
	if !shared || sent >= callers {
		t.Errorf("%d callers had %d commands: %v", callers+1, sent, places)
	}
}

func TestAnErrorOfASharedCommandIsThatOfEachCaller(t *testing.T) {
	t.Parallel()
	h, c := holding(t)
	var all sync.WaitGroup
	const callers = 5
	all.Add(callers + 1)
	together(t, h, c, func(i int) {
		defer all.Done()
		if i == 0 {
			_, _ = c.Do(t.Context(), "echo", "first")
			return
		}
		value, _, err := c.Together(t.Context(), "wrong", func(int) []any { return []any{"echo"} })
		if err == nil || !strings.Contains(err.Error(), "wrong number of arguments") {
			t.Errorf("%d was answered %v, %v", i, value, err)
		}
	}, callers)
	all.Wait()
}
