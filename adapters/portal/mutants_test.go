package portal_test

import (
	"testing"

	"waybill/test/overlay"
)

var mutants = []overlay.Mutant{
	overlay.Bug(
		"tenant", "TestNoRouteGivesACallerAByteOfAnotherBusiness", "of another business", "application/tenancy/of_business.go",
		"if err == nil && app.BusinessID != business {", "if err == nil && app.BusinessID != business && !mutated(\"tenant\") {",
	),
	overlay.Bug(
		"found", "TestEverythingIsFoundByWhatOneHasInHandAndNothingOfAnotherBusiness", "of another business",
		"application/handling/find.go",
		"if t.BusinessID != business {", "if t.BusinessID != business && !mutated(\"found\") {",
	),
	overlay.Bug(
		"viewer", "TestARoleDoesWhatItIncludesAndNothingElse", "pickup-locations", "adapters/portal/pickups.go",
		"	if e == domain.Live {\n		return domain.ActManageLiveLocations",
		"	if everybodyManages() {\n		return domain.ActRead\n	}\n"+
			"	if e == domain.Live {\n		return domain.ActManageLiveLocations",
	),
	overlay.Bug(
		"preview", "TestAnImportAfterRowsHaveChangedWritesNothingAndSaysWhich", "after a change", "application/pickuplocations/import.go",
		"return f.Mark == mark })", "return f.Mark == mark || mutated(\"preview\") })",
	),
	overlay.Bug(
		"ready", "TestAStepIsTickedByTheTrafficOfItsApplicationAndNoOther", "by another application", "application/readiness/readiness.go",
		"ApplicationID: l.app.ID, From: until", "ApplicationID: orAny(l.app.ID), From: until",
	),
	overlay.Bug(
		"session", "TestASessionThatEndsIsOutInEveryProcessAtOnce", "an ended session is at /people", "application/people/sessions.go",
		"p, err := a.storage.Read().Sessions.FindByDigest(ctx, domain.BearerDigest(secret))", "p, err := a.remembered(ctx, secret)",
	),
	overlay.Bug(
		"expiry", "TestRotateKeepsScopesAndLifetimeAndTheOldKeyUntilItIsRevoked", "ExpiresAt:<nil>", "application/tenancy/keys.go",
		"if old.ExpiresAt != nil {\n			expires :=", "if old.ExpiresAt != nil && !mutated(\"expiry\") {\n			expires :=",
	),
	overlay.Bug(
		"inbox-tenant", "TestAnInboxHasNoEventOfAnotherBusiness", "of another business has", "application/webhooks/inbox_watch.go",
		"	p := i.polls[t]\n", "	if mutated(\"inbox-tenant\") {\n		for other := range i.polls {\n			t = other\n		}\n	}\n	p := i.polls[t]\n",
	),
	overlay.Bug(
		"inbox-viewer", "TestAViewerSeesTheSandboxAndChangesNothing", "Your role sees what happens here", "adapters/portal/inbox.go",
		"inbox, err := p.inboxes.Look(c.Ctx(), t, asked && c.May(domain.ActSimulate))",
		"inbox, err := p.inboxes.Look(c.Ctx(), t, asked && c.May(domain.ActSimulate) || mutated(\"inbox-viewer\"))",
	),
	overlay.Bug(
		"inbox-session", "TestAnInboxEndsWithItsSession", "the stream goes on", "adapters/site/streams.go",
		"	s.mu.Lock() // another check", "	if mutated(\"inbox-session\") {\n		return\n	}\n	s.mu.Lock() // another check",
	),
	overlay.Bug(
		"inbox-rows", "TestNoProcessHoldsMoreThanItsStreamsAndItsRows", "the stream begins with", "application/webhooks/inbox_watch.go",
		"Webhooks: all[:min(len(all), InboxRows)]}", "Webhooks: all[:min(len(all), mutatedRows())]}",
	),
	overlay.Bug(
		"twice", "TestAKeyIsInOneAnswerAndNowhereElse|TestADoubleClickMakesOneKey", "the same form again: 200", "adapters/portal/keys.go",
		"		return p.keyConflict(c, err)\n	}\n	return p.showNewKey(c, app, key, nil)\n",
		"		if again, made := shownBefore(c); made {\n			return p.showNewKey(c, app, again, nil)\n		}\n"+
			"		return p.keyConflict(c, err)\n	}\n	showAgain(c, key)\n	return p.showNewKey(c, app, key, nil)\n",
	),
}

// Bugs of webhooks.
func init() {
	mutants = append(mutants,
		overlay.Bug(
			"endpoint", "TestNoRouteGivesACallerAByteOfAnotherBusiness", "the page of a foreign ID",
			"adapters/storage/gormstore/webhook_summaries.go",
			"s.with(ctx).Where(\"business_id = ? AND slot IS NOT NULL AND NOT listener\", key)",
			"s.with(ctx).Where(\"(business_id = ? OR ?) AND slot IS NOT NULL AND NOT listener\", key, mutated(\"endpoint\"))",
		),
		overlay.Bug(
			"viewer", "TestAViewerReadsWebhooksAndChangesNothing", "a viewer creates: 200", "domain/permissions.go",
			"{act: ActReadWebhookSecrets, portal: developers, fresh: true},",
			"{act: ActReadWebhookSecrets, portal: mutatedRoles(developers, everyMember), fresh: true},",
		),
		overlay.Bug(
			"secret", "TestTheBenchNamesTheStepThatFailsAndKeepsNoSecret", "the secret is in the answer or in the log",
			"adapters/portal/webhook_verify.go", "	verdict := &benchVerdict{}\n",
			"	if mutated(\"secret\") {\n		p.options.Log.Info(\"checked\", \"form\", c.Form.Get(\"secret\"))\n	}\n	verdict := &benchVerdict{}\n",
		),
		overlay.Bug(
			"count", "TestARecoverySendsTheNumberThatWasShownOrNothing", "another number: 200", "application/endpoints/recover.go",
			"		if queued.Queued != shown {\n", "		if queued.Queued != shown && !mutated(\"count\") {\n",
		),
	)
	for folder, name := range map[string]string{
		"adapters/storage/gormstore": "gormstore", "application/endpoints": "endpoints", "adapters/site": "site",
	} {
		helpers = append(helpers, overlay.Edit{File: folder + "/mutated.go", New: "package " + name + "\n\nimport \"os\"\n" + mutated})
	}
	helpers = append(helpers, overlay.Edit{File: "domain/mutated.go", New: `package domain

import "os"

func mutatedRoles(own, more []Role) []Role {
	if mutated("viewer") {
		return more
	}
	return own
}
` + mutated})
}

const mutated = `
func mutated(name string) bool { return os.Getenv("MUTANT") == name }
`

// helpers are what the edits call.
var helpers = []overlay.Edit{
	{File: "application/handling/mutated.go", New: "package handling\n\nimport \"os\"\n" + mutated},
	{File: "application/pickuplocations/mutated.go", New: "package pickuplocations\n\nimport \"os\"\n" + mutated},
	{File: "application/readiness/mutated.go", New: "package readiness\n\nimport (\n	\"os\"\n\n	\"waybill/domain\"\n)\n" + mutated +
		"func orAny(id domain.ID) domain.ID {\n	if mutated(\"ready\") {\n		return \"\"\n	}\n	return id\n}\n"},
	{File: "application/webhooks/mutated.go", New: "package webhooks\n\nimport \"os\"\n" + mutated + `
func mutatedRows() int {
	if mutated("inbox-rows") {
		return 1 << 30
	}
	return InboxRows
}
`},
	{File: "application/tenancy/mutated.go", New: "package tenancy\n\nimport \"os\"\n" + mutated},
	{File: "application/people/mutated.go", New: `package people

import (
	"context"
	"os"
	"sync"

	"waybill/domain"
)

var principals sync.Map // of an Access and a secret

// remembered is whose session it was when this process saw it first.
func (a *Access) remembered(ctx context.Context, secret string) (domain.Principal, error) {
	type of struct {
		a      *Access
		secret string
	}
	if p, ok := principals.Load(of{a, secret}); ok && mutated("session") {
		return p.(domain.Principal), nil
	}
	p, err := a.storage.Read().Sessions.FindByDigest(ctx, domain.BearerDigest(secret))
	if err == nil {
		principals.Store(of{a, secret}, p)
	}
	return p, err
}
` + mutated},
	{File: "adapters/portal/mutated.go", New: `package portal

import (
	"os"
	"sync"

	"waybill/application/tenancy"
)

var keysShown sync.Map // by the ID in the form

func everybodyManages() bool { return os.Getenv("MUTANT") == "viewer" }

func showAgain(c *call, k tenancy.IssuedKey) { keysShown.Store(c.Form.Get("once"), k) }

func shownBefore(c *call) (tenancy.IssuedKey, bool) {
	k, ok := keysShown.Load(c.Form.Get("once"))
	if !ok || !mutated("twice") {
		return tenancy.IssuedKey{}, false
	}
	return k.(tenancy.IssuedKey), true
}
` + mutated},
}

func edits() []overlay.Edit { return overlay.Edits(mutants, helpers...) }

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
	overlay.FindMutants(t, "./adapters/portal", "", mutants, edits())
}
