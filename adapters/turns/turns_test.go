package turns

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

func TestGroupsTakeTurnsAndTheirMembersDo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := New(1, 1)
		_ = turns.Take(t.Context(), "", "")
		var order []string
		wait := func(ctx context.Context, group, member string) {
			go func() {
				if turns.Take(ctx, group, member) == nil {
					order = append(order, group+" "+member)
					turns.Give(group)
				}
			}()
			synctest.Wait() // they join one after the other
		}
		for range 3 { // a flood of two members of one group
			wait(t.Context(), "flood", "a")
			wait(t.Context(), "flood", "b")
		}
		gone, leave := context.WithCancel(t.Context())
		wait(gone, "gone", "c")
		wait(t.Context(), "office", "d")
		wait(t.Context(), "flood", "e")
		leave()
		synctest.Wait()
		turns.Give("")
		synctest.Wait()
		want := []string{"flood a", "office d", "flood b", "flood e", "flood a", "flood b", "flood a", "flood b"}
		if !slices.Equal(order, want) {
			t.Errorf("%q, want %q", order, want)
		}
		if !turns.Idle() {
			t.Error("a place is held, or somebody waits")
		}
	})
}

func TestAGroupHasNoMorePlacesThanItMay(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	turns := New(3, 2)
	for _, group := range []string{"flood", "flood"} {
		if err := turns.Take(t.Context(), group, ""); err != nil {
			t.Fatal(err)
		}
	}
	if turns.Take(gone, "flood", "") == nil {
		t.Error("a group took a third place")
	}
	if err := turns.Take(gone, "other", ""); err != nil {
		t.Errorf("the last place is not given to another group: %v", err)
	}
	third := make(chan error)
	go func() { third <- turns.Take(t.Context(), "flood", "") }()
	turns.Give("flood")
	if err := <-third; err != nil || turns.Take(gone, "flood", "") == nil {
		t.Errorf("a group has %v, and then more than two places", err)
	}
	for _, group := range []string{"flood", "flood", "other"} {
		turns.Give(group)
	}
	for range 3 {
		if err := turns.Take(gone, "", ""); err != nil {
			t.Errorf("the group without a name: %v", err)
		}
	}
}
