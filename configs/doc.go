// Package configs defines every setting of the program in one struct, Config. It gives the name,
// default, meaning and rule of each. The reference table, the example file, the flags and the error
// messages all come from that struct.
//
// A setting is read in this order: flag, environment (WAYBILL_NAME, or WAYBILL_NAME_FILE for a
// value that may hold a secret), configuration file, data directory, default.
//
// Decisions that bind this package:
//
//   - All problems are reported at once. Each has the name of the setting, the source of its value
//     and the fix. Values that may hold a secret are never repeated.
//   - A mistyped name in the file stops the program, since only this program reads the file. A
//     mistyped WAYBILL_ variable is a warning: other programs share the environment.
//   - An empty variable counts as not set, so that a file of variables can name what it does not
//     change.
//   - A secret has its own type. It prints as [redacted] wherever it is formatted, logged or
//     marshalled. Masking it by hand was rejected: somebody would forget it.
package configs
