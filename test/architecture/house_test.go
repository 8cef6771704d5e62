package architecture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostOfCommand is how many lines cmd/waybill may have, tests aside and what is
// generated included: it composes, and whatever else it does has a folder. It joins two
// APIs and three web sites, of which the console has use cases that no other edge has;
// two thirds of what each of those adds is generated.
const mostOfCommand = 2970

func TestTheCommandOnlyComposes(t *testing.T) {
	lines, err := linesOf(filepath.Join(root(t), "cmd", "waybill"))
	if err != nil {
		t.Fatal(err)
	}
	if lines < 100 || lines > mostOfCommand {
		t.Errorf(
			"cmd/waybill has %d lines, and %d at most; commands go to adapters/cli, everything else to the adapter or use case that it is about",
			lines, mostOfCommand)
	}
}

func linesOf(folder string) (lines int, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		lines += strings.Count(string(text), "\n")
	}
	return lines, err
}

// firstGuesses are questions of newcomers, and where they look first, with nothing
// but the README and the names of folders and files. When a file moves, move it to
// where they would look, or change what they would guess.
var firstGuesses = map[string]string{
	"Where is a delivery cancelled?":                       "application/deliveries/cancel.go",
	"Which status may follow which?":                       "domain/delivery_states.go",
	"Which steps does a scenario of the sandbox have?":     "domain/scenario.go",
	"Where is the longest name that is taken?":             "domain/limits.go",
	"How is a webhook signed?":                             "domain/webhook_signature.go",
	"When is a webhook that failed sent again?":            "domain/retry_schedule.go",
	"Who is let in with which key?":                        "application/admission/admit.go",
	"What makes a create happen once?":                     "application/idempotency/gate.go",
	"How are webhooks of an outage sent again?":            "application/webhooks/recover.go",
	"Which calls does the public API have?":                "adapters/httpapi/routes.go",
	"Which HTTP status has an error?":                      "adapters/web/errors.go",
	"How is a phone number read?":                          "adapters/normalizer/international/phone.go",
	"How does a delivery become a row?":                    "adapters/storage/gormstore/rows_deliveries.go",
	"Where are old rows deleted?":                          "adapters/storage/gormstore/cleaning.go",
	"What does waybill listen do?":                         "adapters/cli/integrator/listen.go",
	"Which settings are there, and what are the defaults?": "configs/config.go",
}

func TestWhatNewcomersLookForIsWhereTheyLookFirst(t *testing.T) {
	for question, place := range firstGuesses {
		if _, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(place))); err != nil {
			t.Errorf("%s It was in %s: %v", question, place, err)
		}
	}
}
