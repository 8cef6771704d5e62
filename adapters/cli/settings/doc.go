// Package settings finds what a command runs with: flags, variables of the
// environment, a file, and the data directory of waybill dev with its secrets.
//
// It also tells, in words for administrators, what is wrong with them: secrets
// that are missing or another database's, addresses that cannot be listened on.
package settings
