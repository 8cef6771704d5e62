// Package opsapi is the operators' listener: is the process alive, may it get
// traffic, its metrics and its profiles.
//
// Whoever reaches the listener sees all of it, so it belongs on a private
// address. Nothing here names a customer, a delivery or a key.
package opsapi
