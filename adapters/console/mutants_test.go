package console_test

import (
	"path"
	"slices"
	"testing"

	"waybill/test/overlay"
)

var mutants = []overlay.Mutant{
	overlay.Bug(
		"board", "TestEachNumberOfTheBoardLeadsToExactlyTheListItCounts", "/board: ", "application/board/board.go",
		"+= t.Count\n		if t.Status.Open() {", "+= t.Count\n		if t.Status.Open() || mutated(\"board\") {",
	),
	overlay.Bug(
		"attention", "TestTheAttentionQueueShowsTheOldestOfEachKindFirst", "and its list has", "adapters/console/home.go",
		"	return a.From, nil", "	if mutated(\"attention\") {\n		return otherwise, nil\n	}\n	return a.From, nil",
	),
	overlay.Bug(
		"masks", "TestAViewerSeesNoNameAndNumberOfARecipient", "viewer sees", "adapters/console/delivery.go",
		"maskedName(v.Recipient), maskedPhone(v.Phone), maskedPhone(v.Contact)\n",
		"maskedName(v.Recipient), maskedPhone(v.Phone), maskedPhone(v.Contact)\n		if mutated(\"masks\") {\n"+
			"			v.Phone = string(d.Recipient.PhoneNumber)\n		}\n",
	),
	overlay.Bug(
		"stale", "TestAFormMovesOnceAndAStaleOneTellsWhereTheDeliveryIs", "a stale form: 200", "application/operations/moving.go",
		"m.Sequence != 0 && m.Sequence != now", "m.Sequence != 0 && m.Sequence != now && !mutated(\"stale\")",
	),
	overlay.Bug(
		"twice", "TestARunIsMadeOnceHoweverOftenItsFormIsSentAndItsActIsThePersons", "200: <!doctype", "adapters/console/bulk.go",
		"	id := p.OnceSent(c, domain.PrefixMoveRun)\n",
		"	id := p.OnceSent(c, domain.PrefixMoveRun)\n	if mutated(\"twice\") {\n"+
			"		id = p.options.Identifiers.ID(domain.PrefixMoveRun)\n	}\n",
	),
	overlay.Bug(
		"preview", "TestAPreviewTellsOfEachLineWhatTheMoveWouldDo", "the lines are", "adapters/console/bulk.go",
		"	case l.Duplicate:\n", "	case l.Duplicate && !mutated(\"preview\"):\n",
	),
	overlay.Bug(
		"map", "TestTheMapShowsTheDeliveriesOfItsFilters", `"customer=`, "adapters/console/map.go",
		"a.Customer.Value != \"\" && string(d.BusinessID)", "a.Customer.Value != \"\" && !mutated(\"map\") && string(d.BusinessID)",
	),
	overlay.Bug(
		"limit", "TestALimitOfACustomerHasBoundsAndGoesBackToTheSetting", `"999999999" in "60": 200`, "adapters/console/business.go",
		"n > most {", "n > most && !mutated(\"limit\") {",
	),
	overlay.Bug(
		"view", "TestStaffViewACustomerWithAReasonByALinkToThePortal", "behind the console it goes on", "application/people/views.go",
		"err == nil && !v.Works(console, a.clock.Now()) {\n		return domain.Principal{}",
		"err == nil && !v.Works(console, a.clock.Now()) && !mutated(\"view\") {\n		return domain.Principal{}",
	),
	overlay.Bug(
		"pause", "TestAPauseIsOfTheEnvironmentOrEndpointThatItNames", "after pause the endpoint", "adapters/console/webhook.go",
		"p.setHook(c, false, ", "p.setHook(c, mutated(\"pause\"), ",
	),
	overlay.Bug(
		"recover", "TestAnAdminRecoversAPeriodOfAnEndpointOnceWithTheNumberThatWasShown", "with another number: 200",
		"application/endpoints/recover.go", "queued.Queued != shown {", "queued.Queued != shown && !mutated(\"recover\") {",
	),
	overlay.Bug(
		"mail", "TestAMailThatWasGivenUpGoesOutAgain", "it is not among", "adapters/console/queues.go",
		"	return p.repaired(c, p.Machinery.RetryMail(", "	if mutated(\"mail\") {\n		return p.dropMail(c)\n	}\n"+
			"	return p.repaired(c, p.Machinery.RetryMail(",
	),
	overlay.Bug(
		"report", "TestAReportShowsWhatHappenedAndLeadsOn", "were booked", "adapters/console/reports.go",
		"	a.query = domain.ReportQuery{\n", "	if mutated(\"report\") {\n		until = until.AddDate(0, 0, -1)\n	}\n	a.query = domain.ReportQuery{\n",
	),
	overlay.Bug(
		"audit", "TestTheAuditLogIsFilteredByItsAddressOnThePageAndInTheFile", "rows in the file", "adapters/console/audit.go",
		"		q.ActorID = domain.ID(text)\n", "		if !mutated(\"audit\") {\n			q.ActorID = domain.ID(text)\n		}\n",
	),
	overlay.Bug(
		"roles", "TestARoleDoesWhatItIncludesAndNothingElse", "may: false", "adapters/site/admit.go",
		"	if !domain.HasCode(err, domain.CodeSignInTooOld) {",
		"	if mutated(\"roles\") {\n		err = nil\n	}\n	if !domain.HasCode(err, domain.CodeSignInTooOld) {",
	),
}

// edits are those of all mutants, with what they call.
func edits() []overlay.Edit {
	var helpers []overlay.Edit
	var folders []string
	for _, m := range mutants {
		if folder := path.Dir(m.Edit.File); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
			helpers = append(helpers, overlay.Edit{File: folder + "/mutated.go", New: "package " + path.Base(folder) +
				"\n\nimport \"os\"\n\nfunc mutated(name string) bool { return os.Getenv(\"MUTANT\") == name }\n"})
		}
	}
	return overlay.Edits(mutants, helpers...)
}

// It runs in short mode too, where the mutants themselves do not.
func TestTheSourceHasAPlaceForEachMutant(t *testing.T) {
	t.Parallel()
	if _, err := overlay.Write("../..", t.TempDir(), edits()); err != nil {
		t.Error(err)
	}
}

// A test that never failed proves nothing: each of these bugs is in a program of its
// own, and the tests of this package find it there.
func TestEachMutantIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("builds this package's tests anew; left out in short mode")
	}
	t.Parallel()
	overlay.FindMutants(t, "./adapters/console", "^no subtest$", mutants, edits())
}
