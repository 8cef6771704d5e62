// Package architecture holds the tests of the house: the imports that each
// package may have, the words it uses, and what stands at its top level.
//
// The rules are tables in rules_test.go. An import they refuse is usually in
// the wrong package; where it is not, the row to add is the place to say why.
package architecture
