// Package directory keeps recipients with their addresses (Recipients), and the places that riders
// collect from (PickupLocations).
//
// A create looks for an existing record first. There is one recipient per phone number, and one
// address of a recipient per normalized text.
package directory
