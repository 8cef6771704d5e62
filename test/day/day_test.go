package main

import (
	"context"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/test/stage"
)

func TestTheSameSeedMakesTheSameDay(t *testing.T) {
	const many = 500
	day, ends := plan(7, "run", many), map[domain.Status]int{}
	again, other := plan(7, "run", many), plan(8, "run", many)
	same, reasons := 0, map[domain.ReasonCode]int{}
	for i, d := range day {
		if !reflect.DeepEqual(d, again[i]) {
			t.Fatalf("delivery %d is %+v and then %+v", i, d, again[i])
		}
		if slices.Equal(d.acts, other[i].acts) {
			same++
		}
		ends[d.acts[len(d.acts)-1].status]++
		for _, a := range d.acts {
			reasons[a.reason]++
		}
	}
	if same > many/100 {
		t.Errorf("%d of %d lives are the same with another seed", same, many)
	}
	for _, s := range []domain.Status{domain.Booked, domain.Outsourced, domain.Failed, domain.Cancelled, domain.Delivered} {
		if ends[s] < 3 {
			t.Errorf("%d of %d end as %s; all: %v", ends[s], many, s, ends)
		}
	}
	for _, r := range []domain.ReasonCode{domain.ReasonRecipientUnreachable, domain.ReasonRecipientRefused, domain.ReasonCODRefused,
		domain.ReasonAddressProblem, domain.ReasonPickupUnavailable, domain.ReasonNoRider, domain.ReasonOther} {
		if reasons[r] == 0 {
			t.Errorf("%s is no reason for anything: %v", r, slices.Sorted(maps.Keys(reasons)))
		}
	}
}

// TestLongADayEndsAsItsPlanSays plays a short one on the real program, and compares what the
// operations API counts at its end.
func TestLongADayEndsAsItsPlanSays(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "waybill")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "waybill/cmd/waybill").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	for _, name := range []string{"LIVE", "SANDBOX", "OPS", "PORTAL"} {
		t.Setenv("WAYBILL_"+name+"_ADDR", "127.0.0.1:0")
	}
	t.Setenv("WAYBILL_DATABASE_URL", "")
	t.Setenv("WAYBILL_REDIS_URL", "")
	const many = 60
	var told stage.Log
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ends := make(chan error, 1)
	go func() {
		ends <- run(ctx, &options{seed: 3, deliveries: many, minutes: 1.0 / 20, dir: filepath.Join(dir, "data"), program: program}, &told)
	}()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(told.String(), "The day is over"); <-time.After(50 * time.Millisecond) {
		if len(ends) > 0 || time.Now().After(deadline) {
			t.Fatalf("the day has no end:\n%s", told.String())
		}
	}
	vars := readEnv(filepath.Join(dir, "data", "dev.env"))
	ops := &operations{vars["WAYBILL_OPS_URL"], vars["WAYBILL_OPS_TOKEN"]}
	want := map[domain.Status]int{}
	for _, d := range plan(3, "", many) {
		want[d.acts[len(d.acts)-1].status]++
	}
	found, err := call[[]struct{ Status domain.Status }](t.Context(), ops, http.MethodGet, "/deliveries?environment=live&limit=100", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[domain.Status]int{}
	for _, d := range found {
		got[d.Status]++
	}
	if !maps.Equal(got, want) {
		t.Errorf("the day ends with %v, want %v\n%s", got, want, told.String())
	}
	if !regexp.MustCompile(`be its dispatcher: http://\S+/console/enter/`).MatchString(strings.ToLower(told.String())) {
		t.Errorf("the way into the console is not told:\n%s", told.String())
	}
	stop()
	if err := <-ends; err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
}
