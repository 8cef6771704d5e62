package faults

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waybill/test/overlay"
)

const store = "adapters/storage/gormstore/"

// entrances are where the mutants come into the program.
var entrances = []overlay.Edit{
	{File: store + "bookings.go", Old: "	if w.Bulk == nil && s.held(w) == \"\" {\n",
		New: "	if bug := s.mutantBook(w, e.row); bug != nil {\n		return bug(ctx)\n	}\n	if w.Bulk == nil && s.held(w) == \"\" {\n"},
	{File: store + "bookings.go", Old: "if err != nil || s.held(w)", New: "if err != nil || s.mutantBook(w, e.row) != nil || s.held(w)"},
	{File: store + "bookings.go", Old: "simulations{b.session}.Enter", New: "newSimulations(b.session).Enter"},
	{File: store + "bulks.go", Old: "	return s.kept(\"extend the lease of a bulk\", result)\n",
		New: "	if mutantUnfenced() {\n		return nil\n	}\n	return s.kept(\"extend the lease of a bulk\", result)\n"},
	{File: store + "store.go", Old: "		Deliveries:      deliveries{s},\n		Simulations:     simulations{s},\n",
		New: "		Deliveries:      newDeliveries(s),\n		Simulations:     newSimulations(s),\n"},
	{File: store + "store.go", Old: "		Deliveries:      deliveries{s},\n		Bulks:           bulks{s},\n		Simulations:     simulations{s},\n",
		New: "		Deliveries:      newDeliveries(s),\n		Bulks:           bulks{s},\n		Simulations:     newSimulations(s),\n"},
	{File: store + "store.go", Old: "feed{s}", New: "newFeed(s)"},
	{File: store + "feed.go", Old: "	return s.fanOut(ctx, t, e, except)\n", New: "	return newFanOut(s)(ctx, t, e, except)\n"},
	{File: store + "report_counting.go", Old: "err := s.add(", New: "err := s.mutantAdd("},
	{File: store + "outbox.go", Old: "return outbox{store: s}", New: "return newOutbox(s)"},
}

// mutants are the entrances with what comes in there.
func mutants() ([]overlay.Edit, error) {
	files, err := filepath.Glob("mutants/*.go")
	if err != nil {
		return nil, err
	}
	edits := slices.Clone(entrances)
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // a file of this folder
		if err != nil {
			return nil, err
		}
		if source, ok := strings.CutPrefix(string(text), "//go:build mutants\n"); ok {
			edits = append(edits, overlay.Edit{File: store + "mutant_" + filepath.Base(file), New: source})
		}
	}
	return edits, nil
}

func buildMutants() (string, error) {
	edits, err := mutants()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(binaries, "mutants")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return overlay.Build(context.Background(), dir, edits)
}

// It runs in short mode too, where no storm shows that the mutants have no way in.
func TestTheSourceHasAllEntrancesOfTheMutants(t *testing.T) {
	t.Parallel()
	edits, err := mutants()
	if err != nil {
		t.Fatal(err)
	}
	if len(edits) < len(entrances)+3 {
		t.Errorf("%d files with mutants", len(edits)-len(entrances))
	}
	if err := overlay.Compile(t.Context(), t.TempDir(), edits, "./"+store); err != nil {
		t.Error(err)
	}
}
