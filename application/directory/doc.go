// Package directory keeps what a business delivers between: Recipients the people and their
// addresses, PickupLocations the places riders collect from.
//
// Creating finds before it adds: there is one recipient per phone number, and one address of a
// recipient per normalized text.
package directory
