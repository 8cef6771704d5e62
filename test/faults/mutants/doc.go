// Package mutants is where files of gormstore lie that break its rules, one for each name
// that WAYBILL_MUTANT may have. They belong to no program: mutants_test.go adds them to
// the source of one build, with the places where they come in.
package mutants
