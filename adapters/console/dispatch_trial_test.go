package console

import (
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/domain"
)

func TestATrackingLinkIsFoundByItsReference(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"https://track.example.com/XMK2-QS3D-PP2G":        "XMK2-QS3D-PP2G",
		"http://127.0.0.1:8080/track/xmk2-qs3d-pp2g/?a=1": "XMK2-QS3D-PP2G",
		"track.example.com/XMK2-QS3D-PP2G":                "XMK2-QS3D-PP2G",
		"2026/KCB/ORDER/1130":                             "2026/KCB/ORDER/1130",
		"https://shop.example.com/orders/1130":            "https://shop.example.com/orders/1130",
		"xmk2qs3dpp2g":                                    "xmk2qs3dpp2g",
	} {
		if got := trackedReference(sent); got != want {
			t.Errorf("%q is looked for as %q, want %q", sent, got, want)
		}
	}
}

func TestLinesThatStayStandBeforeThoseThatMove(t *testing.T) {
	t.Parallel()
	lines := []lineView{{Number: 1, Tone: "good"}, {Number: 2, Tone: "over"}, {Number: 3, Tone: "bad"}, {Number: 4, Tone: "good"},
		{Number: 5, Tone: "me"}, {Number: 6, Tone: "bad"}}
	staysFirst(lines)
	for i, want := range []int{3, 6, 2, 5, 1, 4} {
		if lines[i].Number != want {
			t.Fatalf("line %d stands at place %d, want line %d: %v", lines[i].Number, i+1, want, lines)
		}
	}
}

func TestAPoolOfOneThatIsInUseNeedsNoLook(t *testing.T) {
	t.Parallel()
	busy := func(inUse, most int) bool {
		of := domain.Process{ProcessFacts: domain.ProcessFacts{Pools: []domain.PoolState{{Name: "write", InUse: inUse, Most: most}}}}
		return processRows([]domain.Process{of}, time.Time{})[0].Pools[0].Busy
	}
	if busy(1, 1) || !busy(4, 4) || busy(3, 4) {
		t.Errorf("of one in use %v, of four %v, of three among four %v: want false, true, false", busy(1, 1), busy(4, 4), busy(3, 4))
	}
}

func TestRunsOfADispatchSystemDoNotHideThoseOfPeople(t *testing.T) {
	t.Parallel()
	runs := make([]domain.MoveRun, 0, lookedThrough)
	for range lookedThrough {
		runs = append(runs, domain.MoveRun{By: domain.AuditActor{ID: "opr_1", Name: "Dispatch"}})
	}
	runs[lookedThrough-2].By = domain.AuditActor{ID: "prs_1", Name: "Kofi"}
	if lines := recent(runs); len(lines) != recentRuns || lines[0].By.Name != "Kofi" || lines[1].By.Name != "Dispatch" {
		t.Errorf("of %d runs, one of them by Kofi, these are shown: %v", len(runs), lines)
	}
}

func TestReferencesAreFoundInMessagesAndTables(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct{ sent, want string }{
		"words":                 {"AAAA-BBBB-CCCC\t\"DDDD-EEEE-FFFF\" , ;dlv_1\r\n", "AAAA-BBBB-CCCC DDDD-EEEE-FFFF dlv_1"},
		"a message":             {"Hi Esi, please move (xmk2-qs3d-pp2g) and XMK2QS3DPP2H. Call 233244123456 or +233 24 412 3456!", "xmk2-qs3d-pp2g XMK2QS3DPP2H"},
		"ordinary words":        {"DELIVERANCES congratulate door-to-door ORD-2026-0001 24-11-2026 GH-0244-1234", ""},
		"mistyped":              {"XMK2-QS3D-PP2 XMK2-QSU3D-PP2G XMK2QS3DPP2", "XMK2-QS3D-PP2 XMK2-QSU3D-PP2G XMK2QS3DPP2"},
		"with its link":         {"XMK2-QS3D-PP2G: https://track.example.com/track/XMK2-QS3D-PP2G?utm=1.", "XMK2-QS3D-PP2G"},
		"a label's tracking":    {"http://127.0.0.1:8080/track/XMK2-QS3D-PP2G", "XMK2-QS3D-PP2G"},
		"the console's list":    {"id,reference,external_id,status\ndlv_1,AAAA,\"x, 1\",booked\ndlv_2,,y,booked\n", "AAAA dlv_2"},
		"a run's results":       {"line,sent,reference,delivery_id\n1,aaaa,AAAA,dlv_1\n2,nonsense,,\n", "AAAA nonsense"},
		"cells from a sheet":    {"Customer\tReference\nKwik Chop\t AAAA \nMama's\tBBBB", "AAAA BBBB"},
		"with semicolons":       {"\ufeffreference;status\r\nAAAA;booked\r\n\r\nBBBB;booked\r\n", "AAAA BBBB"},
		"one column and a head": {"reference\nAAAA\nBBBB", "AAAA BBBB"},
		"its own form":          {asTable([]string{"nonsense", "AAAA-BBBB-CCCC"}), "nonsense AAAA-BBBB-CCCC"},
		"an open quote":         {"AAAA-BBBB-CCCC\n\"DDDD-EEEE-FFFF\n", "AAAA-BBBB-CCCC DDDD-EEEE-FFFF"},
		"nothing":               {" \n", ""},
	} {
		names, _ := namesIn(at.sent)
		if got := strings.Join(names, " "); got != at.want {
			t.Errorf("%s: %q stands for %q, want %q", name, at.sent, got, at.want)
		}
	}
}

func TestAMessageWithManyOtherWordsHasEveryReferenceAndNothingElse(t *testing.T) {
	t.Parallel()
	words := strings.Fields("Good morning team the rider at Adom Foods says these orders were handed over before lunch please update")
	var message strings.Builder
	var want []string
	for i := range 100 {
		message.WriteString(words[i%len(words)] + " ")
		if len(want) < 30 && i%3 == 0 {
			want = append(want, string(domain.MakeReference(uint64(i+1)*0x9E3779B97F4A7C15)))
			message.WriteString(want[len(want)-1] + "\n")
		}
	}
	if names, ignored := namesIn(message.String()); !slices.Equal(names, want) || len(ignored) != 100 {
		t.Errorf("found %q and ignored %d words", names, len(ignored))
	}
}

func TestAFormFromAListHasItsReferencesUnlessTheAddressGetsTooLong(t *testing.T) {
	t.Parallel()
	some, ids := slices.Repeat([]string{"AAAA-BBBB-CCCC"}, domain.MaxMoves), slices.Repeat([]string{strings.Repeat("a", 60)}, domain.MaxMoves)
	if to := namedForm(some); strings.Count(to, "AAAA-BBBB-CCCC") != domain.MaxMoves {
		t.Errorf("%d references lead to %s", len(some), to)
	}
	for _, names := range [][]string{nil, ids, append(some, "AAAA")} {
		if to := namedForm(names); to != bulkAt {
			t.Errorf("%d names lead to %s", len(names), to)
		}
	}
}

func TestWhatARunMovesIsSaidInWords(t *testing.T) {
	t.Parallel()
	failed := domain.MoveItem{To: domain.Failed, Reason: domain.ReasonCODRefused, Sent: "A", Outcome: domain.MoveRefused}
	run := &domain.MoveRun{Items: []domain.MoveItem{failed, failed}}
	if got := aim(run); got != "failed, cash on delivery refused" {
		t.Errorf("it goes to %q", got)
	}
	run.Items = append(run.Items, domain.MoveItem{To: domain.PickedUp, Sent: "B", Outcome: domain.MoveAdvanced})
	if got := aim(run); got != "several statuses" {
		t.Errorf("they go to %q", got)
	}
	if got := stayed(run); len(got) != 2 {
		t.Errorf("those stayed: %v", got)
	}
}
