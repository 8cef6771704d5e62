package console_test

import (
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"waybill/test/overlay"
)

// mutant is a bug injected on purpose, and what the tests of this package say of it.
type mutant struct {
	name     string // in MUTANT, of the edited program alone
	tests    string // that have to fail
	told     string
	file     string
	old, new string // where new calls mutated, the bug is there by its name alone
}

var mutants = []mutant{
	{
		"board", "TestEachNumberOfTheBoardLeadsToExactlyTheListItCounts", "/board: ", "application/board/board.go",
		"+= t.Count\n		if t.Status.Open() {", "+= t.Count\n		if t.Status.Open() || mutated(\"board\") {",
	},
	{
		"attention", "TestTheAttentionQueueShowsTheOldestOfEachKindFirst", "and its list has", "adapters/console/home.go",
		"	return a.From, nil", "	if mutated(\"attention\") {\n		return otherwise, nil\n	}\n	return a.From, nil",
	},
	{
		"masks", "TestAViewerSeesNoNameAndNumberOfARecipient", "viewer sees", "adapters/console/delivery.go",
		"maskedName(v.Recipient), maskedPhone(v.Phone), maskedPhone(v.Contact)\n",
		"maskedName(v.Recipient), maskedPhone(v.Phone), maskedPhone(v.Contact)\n		if mutated(\"masks\") {\n" +
			"			v.Phone = string(d.Recipient.PhoneNumber)\n		}\n",
	},
	{
		"stale", "TestAFormMovesOnceAndAStaleOneTellsWhereTheDeliveryIs", "a stale form: 200", "application/operations/moving.go",
		"m.Sequence != 0 && m.Sequence != now", "m.Sequence != 0 && m.Sequence != now && !mutated(\"stale\")",
	},
	{
		"twice", "TestARunIsMadeOnceHoweverOftenItsFormIsSentAndItsActIsThePersons", "200: <!doctype", "adapters/console/bulk.go",
		"	id := p.OnceSent(c, domain.PrefixMoveRun)\n",
		"	id := p.OnceSent(c, domain.PrefixMoveRun)\n	if mutated(\"twice\") {\n" +
			"		id = p.options.Identifiers.ID(domain.PrefixMoveRun)\n	}\n",
	},
	{
		"preview", "TestAPreviewTellsOfEachLineWhatTheMoveWouldDo", "the lines are", "adapters/console/bulk.go",
		"	case l.Duplicate:\n", "	case l.Duplicate && !mutated(\"preview\"):\n",
	},
	{
		"map", "TestTheMapShowsTheDeliveriesOfItsFilters", `"customer=`, "adapters/console/map.go",
		"a.Customer.Value != \"\" && string(d.BusinessID)", "a.Customer.Value != \"\" && !mutated(\"map\") && string(d.BusinessID)",
	},
	{
		"limit", "TestALimitOfACustomerHasBoundsAndGoesBackToTheSetting", `"999999999" in "60": 200`, "adapters/console/business.go",
		"n > most {", "n > most && !mutated(\"limit\") {",
	},
	{
		"view", "TestStaffViewACustomerWithAReasonByALinkToThePortal", "behind the console it goes on", "application/people/views.go",
		"err == nil && !v.Works(console, a.clock.Now()) {\n		return domain.Principal{}",
		"err == nil && !v.Works(console, a.clock.Now()) && !mutated(\"view\") {\n		return domain.Principal{}",
	},
	{
		"pause", "TestAPauseIsOfTheEnvironmentOrEndpointThatItNames", "after pause the endpoint", "adapters/console/webhook.go",
		"p.setHook(c, false, ", "p.setHook(c, mutated(\"pause\"), ",
	},
	{
		"recover", "TestAnAdminRecoversAPeriodOfAnEndpointOnceWithTheNumberThatWasShown", "with another number: 200",
		"application/endpoints/recover.go", "queued.Queued != shown {", "queued.Queued != shown && !mutated(\"recover\") {",
	},
	{
		"mail", "TestAMailThatWasGivenUpGoesOutAgain", "it is not among", "adapters/console/queues.go",
		"	return p.repaired(c, p.Machinery.RetryMail(", "	if mutated(\"mail\") {\n		return p.dropMail(c)\n	}\n" +
			"	return p.repaired(c, p.Machinery.RetryMail(",
	},
	{
		"report", "TestAReportShowsWhatHappenedAndLeadsOn", "were booked", "adapters/console/reports.go",
		"	a.query = domain.ReportQuery{\n", "	if mutated(\"report\") {\n		until = until.AddDate(0, 0, -1)\n	}\n	a.query = domain.ReportQuery{\n",
	},
	{
		"audit", "TestTheAuditLogIsFilteredByItsAddressOnThePageAndInTheFile", "rows in the file", "adapters/console/audit.go",
		"		q.ActorID = domain.ID(text)\n", "		if !mutated(\"audit\") {\n			q.ActorID = domain.ID(text)\n		}\n",
	},
	{
		"roles", "TestARoleDoesWhatItIncludesAndNothingElse", "may: false", "adapters/site/admit.go",
		"	if !domain.HasCode(err, domain.CodeSignInTooOld) {",
		"	if mutated(\"roles\") {\n		err = nil\n	}\n	if !domain.HasCode(err, domain.CodeSignInTooOld) {",
	},
}

// edits are those of all mutants, with what they call.
func edits() (all []overlay.Edit) {
	var folders []string
	for _, m := range mutants {
		all = append(all, overlay.Edit{File: m.file, Old: m.old, New: m.new})
		if folder := path.Dir(m.file); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
			all = append(all, overlay.Edit{File: folder + "/mutated.go", New: "package " + path.Base(folder) +
				"\n\nimport \"os\"\n\nfunc mutated(name string) bool { return os.Getenv(\"MUTANT\") == name }\n"})
		}
	}
	return all
}

// It runs in short mode too, where the mutants themselves do not.
func TestTheSourceHasAPlaceForEachMutant(t *testing.T) {
	t.Parallel()
	if _, err := overlay.Write("../..", t.TempDir(), edits()); err != nil {
		t.Error(err)
	}
}

// A test that never failed proves nothing: each of these bugs is in a program of its
// own, and the tests of this package find it there. Without a bug none of them fails.
func TestEachMutantIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("builds this package's tests anew; left out in short mode")
	}
	t.Parallel()
	binary, err := overlay.BuildTest(t.Context(), t.TempDir(), edits(), "./adapters/console")
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, bug string, tests ...string) (string, error) {
		t.Helper()
		program := exec.CommandContext(t.Context(), binary, "-test.short", "-test.count=1",
			"-test.run", "^("+strings.Join(tests, "|")+")$/^no subtest$")
		program.Env = append(os.Environ(), "MUTANT="+bug)
		out, err := program.CombinedOutput()
		return string(out), err
	}
	var tests []string
	for _, m := range mutants {
		tests = append(tests, m.tests)
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if out, err := run(t, m.name, m.tests); err == nil || !strings.Contains(out, m.told) {
				t.Errorf("it is not found: %v\n%s", err, out)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if out, err := run(t, "", tests...); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
